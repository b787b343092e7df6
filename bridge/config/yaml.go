package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"
)

// maxFile bounds what is read: a configuration is a few kilobytes.
const maxFile = 1 << 20

// parseYAML reads exactly one document that holds something.
func parseYAML(data []byte) (root *yaml.Node, problem *Problem) {
	defer func() {
		if r := recover(); r != nil { // the parser panics on some malformed comments
			root, problem = nil, &Problem{Text: "is not YAML that can be read", Fix: "look for stray characters and comments in odd places"}
		}
	}()
	if len(data) > maxFile {
		return nil, &Problem{Text: fmt.Sprintf("the file has more than %s", Size(maxFile)), Fix: "is it a configuration?"}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && isNull(first.Content[0]) {
		return nil, &Problem{Text: "the file is empty", Fix: "`ctbridge config reference --format yaml` prints every key"}
	}
	if err != nil {
		return nil, syntaxProblem(err)
	}
	root = first.Content[0]
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return root, nil
	case err != nil:
		return nil, syntaxProblem(err)
	}
	return nil, &Problem{Line: second.Line, Text: "the file has a second document", Fix: "one file is one task: remove the --- and what follows"}
}

var (
	yamlPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	yamlQuoted = regexp.MustCompile("'[^']*'|`[^`]*`")
)

// syntaxProblem keeps the parser's words and line but none of the text that it quotes: an unquoted password can begin like an alias.
func syntaxProblem(err error) *Problem {
	text := err.Error()
	p := &Problem{Fix: "quote texts that hold special characters, indent with spaces"}
	if m := yamlPrefix.FindStringSubmatch(text); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	p.Text = "is not YAML: " + yamlQuoted.ReplaceAllString(text, "…")
	return p
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// kindOf names what stands in the file.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "nothing"
	}
	return "one value"
}
