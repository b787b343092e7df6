package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the code blocks of a language.
func blocks(text, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// The commands in the README exist: verbs, flags, targets of make.
func TestReadmeCommands(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	text := readme(t)
	commands := regexp.MustCompile(`ctbridge ([a-z][^\n#`+"`"+`]*)`).FindAllStringSubmatch(strings.Join(blocks(text, "sh"), "")+"\n"+text, -1)
	if len(commands) < 5 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, m := range commands {
		if !strings.Contains(text, "/ctbridge "+m[1]) {
			continue // prose
		}
		cmd, rest, err := (&app{env: os.LookupEnv}).root().Find(strings.Fields(m[1]))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || !cmd.Runnable() {
			t.Errorf("ctbridge %s: %v", m[1], err)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^make (\w+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(string(makefile), "\n"+m[1]+":") {
			t.Errorf("make %s: no such target", m[1])
		}
	}
	for _, flag := range regexp.MustCompile("`--([a-z]+)").FindAllStringSubmatch(text, -1) {
		if (&app{env: os.LookupEnv}).demoCommand().Flags().Lookup(flag[1]) == nil {
			t.Errorf("the demo has no flag --%s", flag[1])
		}
	}
}

// The verbs that the README promises for later are not there yet, and the others are.
func TestReadmeTellsTheVerbs(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| Verbs \| (.*?) \| (.*?) \|$`).FindStringSubmatch(readme(t))
	if row == nil {
		t.Fatal("no row of verbs")
	}
	root := (&app{env: os.LookupEnv}).root()
	for column, there := range map[int]bool{1: true, 2: false} {
		for _, verb := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(row[column], -1) {
			cmd, _, err := root.Find(strings.Fields(verb[1]))
			if found := err == nil && cmd.HasParent(); found != there {
				t.Errorf("%s: found %v, the README says %v", verb[1], found, there)
			}
		}
	}
}
