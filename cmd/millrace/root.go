package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace.dev/internal/buildinfo"
)

// verbs lists the commands of the binary, one per file.
var verbs = []func(*console) *cobra.Command{
	trainCommand,
	groupCommand,
	clusterCommand,
	agentCommand,
	func(*console) *cobra.Command { return workerCommand() },
	evalCommand,
	predictCommand,
	dataCommand,
	fieldCommand,
	whyCommand,
	doctorCommand,
	versionCommand,
}

// run executes one command line and returns the exit code of the process.
func run(args []string, c *console) int {
	ctx, stop := withInterrupt(context.Background(), c.err)
	defer stop()

	started := false
	out := &attentive{Writer: c.out}
	c.out = out
	root := rootCommand(c)
	prepare(root, &started)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	c.verb = cmd.CommandPath()
	switch {
	case err != nil && !started:
		err = &usageError{cause: err}
	case err == nil:
		err = out.failed
	}
	c.complain(err)
	return exitCode(err)
}

func rootCommand(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:           "millrace",
		Short:         "Keep a training machine turning on ordinary, shared, cheap machines",
		Version:       buildinfo.Read().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(plainFlagError)
	root.SetVersionTemplate("millrace {{.Version}}\n")
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print the result as JSON on standard output")
	for _, verb := range verbs {
		root.AddCommand(verb(c))
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, sub := range root.Commands() {
		if sub.Name() == "help" {
			sub.Args = knownTopic
		}
	}
	return root
}

// prepare makes every command of the tree refuse arguments it did not ask for,
// makes a noun without a verb print its help, and notes when a command's own
// code starts: an error before that moment is wrong usage.
func prepare(cmd *cobra.Command, started *bool) {
	cmd.SuggestionsMinimumDistance = 2
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = knownSubcommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if cmd.Args == nil {
		cmd.Args = exactly()
	}
	if body := cmd.RunE; body != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd); err != nil {
				return err
			}
			*started = true
			return body(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		prepare(sub, started)
	}
}

// refuseEmpty refuses a flag that was given an empty text, as a variable of the
// shell does that is not set: it would count as not given.
func refuseEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			err = fmt.Errorf("--%s is empty", f.Name)
		}
	})
	return err
}

// plainFlagError says what is wrong with a flag's value without the words of the
// library that reads numbers.
func plainFlagError(_ *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	flag := bad.GetFlag()
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: not %s", bad.GetValue(), flag.Name, flagWords(flag.Value.Type()))
}

// flagWords names the type of a flag's value for people.
func flagWords(kind string) string {
	switch kind {
	case "int", "int64":
		return "a whole number in range"
	case "uint", "uint64":
		return "a whole number from 0 in range"
	case "float64":
		return "a number"
	case "duration":
		return "a time such as 10s"
	case "bool":
		return "true or false"
	}
	return "what belongs here"
}

// exactly makes a command take the named arguments, no more and no fewer.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s: %s is missing", cmd.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%s: unexpected argument %q", cmd.CommandPath(), args[len(names)])
		}
		if at := slices.Index(args, ""); at >= 0 {
			return fmt.Errorf("%s: %s is empty", cmd.CommandPath(), names[at])
		}
		return nil
	}
}

// knownSubcommand is reached with an argument only when no subcommand has that name.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return errors.New(text)
}

// knownTopic makes help refuse what is not a command.
func knownTopic(help *cobra.Command, args []string) error {
	topic, rest, err := help.Root().Find(args)
	if err != nil {
		return err
	}
	return knownSubcommand(topic, rest)
}
