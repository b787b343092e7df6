// Command stack starts the real servers that tests talk to. See package servers for how it works.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"ctbridge/test/stack/servers"
)

const usage = `usage: go run ./test/stack VERB

  run [-only PARTS] [-logs DIR] [-fresh] -- COMMAND...
                                                start servers, run the command with CTBRIDGE_TEST_* set, stop them
  up [-only PARTS] [-logs DIR] [-life 4h]       start servers that stay until "down" or the end of their life
  down                                          stop what "up" started and delete its data
  env                                           the variables as lines for a shell: eval "$(go run ./test/stack env)"
  status                                        all stacks that run
  start | stop | restart SERVER                 in the stack of CTBRIDGE_STACK_STATE, or else in the one that is up;
  kill | pause | resume SERVER                  the server keeps its port and its data

PARTS is a list like kafka,postgres out of: %s.
Without -only it is all of them but kafka3, a cluster whose servers are kafka3-controller, kafka3-1, kafka3-2 and kafka3-3.
"run" starts only parts whose variable is not set yet; with -fresh all of them, which suits tests that make outages.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := dispatch(ctx, os.Args[1:])
	stop()
	if err != nil {
		say("stack: " + err.Error())
		code = max(code, 1)
	}
	os.Exit(code)
}

func say(line string) { fmt.Fprintln(os.Stderr, line) }

func dispatch(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		fmt.Fprintf(os.Stderr, usage, strings.Join(servers.Parts(), ", "))
		return 2, nil
	}
	verb, args := args[0], args[1:]
	switch verb {
	case "run":
		return run(ctx, args)
	case "up":
		return 0, up(ctx, args)
	case "down":
		return 0, down(ctx)
	case "env":
		return 0, env()
	case "status":
		return 0, status()
	case servers.KeeperVerb:
		return 0, servers.Keep(ctx, args[0])
	}
	return 0, control(ctx, verb, args)
}

// options reads the flags that run and up share and returns the rest of the arguments.
func options(verb string, args []string) (servers.Options, []string, error) {
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	only := flags.String("only", strings.Join(servers.Usual(), ","), "parts to start")
	logs := flags.String("logs", "", "folder for the servers' logs, kept at the end")
	life := flags.Duration("life", 4*time.Hour, "longest life of a stack that is up")
	fresh := flags.Bool("fresh", false, "start all parts, whatever the environment names")
	err := flags.Parse(args)
	opts := servers.Options{Parts: strings.Split(*only, ","), Lifetime: *life, Logs: *logs, Fresh: *fresh, Report: say}
	return opts, flags.Args(), err
}

func run(ctx context.Context, args []string) (int, error) {
	opts, argv, err := options("run", args)
	if err != nil {
		return 2, err
	}
	if len(argv) == 0 {
		return 2, fmt.Errorf("run: no command given; write: run -- COMMAND")
	}
	ctx, cancel := withParent(ctx)
	defer cancel()
	return servers.Run(ctx, opts, argv)
}

func up(ctx context.Context, args []string) error {
	opts, _, err := options("up", args)
	if err != nil {
		return err
	}
	begin := time.Now()
	stack, err := servers.Up(ctx, opts)
	if err != nil {
		return err
	}
	state, err := stack.State()
	say(fmt.Sprintf("up after %.1f s, until %s at the longest", time.Since(begin).Seconds(), state.Until.Format(time.DateTime)))
	return err
}

func down(ctx context.Context) error {
	stack, err := servers.Current()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return stack.Down(ctx)
}

func env() error {
	stack, err := servers.Current()
	if err != nil {
		return err
	}
	state, err := stack.State()
	if err == nil {
		fmt.Print(servers.Exports(state.Env()))
	}
	return err
}

func status() error {
	all, err := servers.All()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, state := range all {
		until := "until its command ends"
		if !state.Until.IsZero() {
			until = "until " + state.Until.Format(time.DateTime)
		}
		fmt.Fprintf(table, "%s\tkeeper %d\t%s\n", state.Folder, state.Owner.PID, until)
		for _, s := range state.Servers {
			fmt.Fprintf(table, "  %s\t127.0.0.1:%d\t%s\tprocess %d\t%s\n", s.Name, s.Ports["client"], s.Condition, s.Process.PID, s.Log)
		}
	}
	return table.Flush()
}

func control(ctx context.Context, verb string, args []string) error {
	verbs := map[string]func(*servers.Stack, context.Context, string) error{
		"start": (*servers.Stack).Start, "stop": (*servers.Stack).Stop, "restart": (*servers.Stack).Restart,
		"kill": (*servers.Stack).Kill, "pause": (*servers.Stack).Pause, "resume": (*servers.Stack).Resume,
	}
	do, ok := verbs[verb]
	if !ok {
		return fmt.Errorf("unknown verb %q; run it without arguments for help", verb)
	}
	if len(args) != 1 {
		return fmt.Errorf("%s: name one server", verb)
	}
	stack, err := servers.Current()
	if err != nil {
		return err
	}
	return do(stack, ctx, args[0])
}
