package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"millrace.dev/fabric/keys"
	"millrace.dev/group/agent"
)

func agentCommand(c *console) *cobra.Command {
	h := &agent.Host{}
	membership, keysAt := "", ""
	cmd := &cobra.Command{
		Use:   "agent [flags] [-- COMMAND ARGUMENT…]",
		Short: "Make training programs in other languages workers of a group that survives the loss of any",
		Long: `Make training programs in other languages workers of a group that survives the
loss of any.

COMMAND, such as python train.py, is started once per worker and told by the
variable ` + agent.Variable + ` where its agent is. Without COMMAND the agent serves the
one program that connects to --socket. See python/README.md for programs.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usagef("%s: unexpected argument %q: put -- before the command", cmd.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			h.Command = args
			if err := finishAgent(cmd, h, membership, keysAt); err != nil {
				return err
			}
			h.Stdout, h.Stderr, h.Remark = os.Stdout, os.Stderr, c.remark
			if c.json { // standard output is for the summary
				h.Stdout = os.Stderr
			}
			return c.runAgent(cmd.Context(), h)
		},
	}
	f := cmd.Flags()
	f.IntVar(&h.Workers, "workers", 1, "workers on this machine, each a process of its own")
	f.StringSliceVar(&h.Join, "join", nil, "join the workers at these `addresses`")
	f.StringVar(&h.Group, "group", "training", "name of the group")
	f.StringVar(&h.Name, "name", "w", "name of the worker; several get numbers behind it")
	f.StringVar(&h.Socket, "socket", "", "`path` where a program connects that is not started here")
	f.StringVar(&membership, "membership", "", "who decides which workers go on: service (any number of survivors) or majority (more than half; default with --listen)")
	f.StringVar(&h.Service, "cluster", "", "keep the membership in this NATS cluster, as in nats://host:4222 (several with commas)")
	f.StringVar(&h.Listen, "listen", "", "let other machines join at this `host:port`, the further workers at the ports after it")
	f.StringVar(&keysAt, "keys", "", keysHelp)
	f.StringVar(&h.Notice, "notice", "", noticeHelp)
	f.StringVar(&h.Metrics, "metrics", "", metricsHelp)
	f.StringVar(&h.Logs, "log", "", "write the log of steps below this `directory`")
	complete(cmd, map[string][]string{"membership": {"service", "majority"}})
	return cmd
}

// finishAgent checks what the flags say together.
func finishAgent(cmd *cobra.Command, h *agent.Host, membership, keysAt string) (err error) {
	switch {
	case h.Workers < 1 || h.Workers > agent.MaxWorkers:
		return usagef("--workers must be 1 to %d, not %d", agent.MaxWorkers, h.Workers)
	case len(h.Command) == 0 && h.Socket == "":
		return usagef("give a command after --, or a --socket where a program connects")
	case len(h.Command) > 0 && h.Socket != "":
		return usagef("--socket is for programs that are not started here")
	case len(h.Command) == 0 && h.Workers > 1:
		return usagef("--workers %d needs a command after --", h.Workers)
	case membership != "" && membership != "service" && membership != "majority":
		return usagef("--membership must be service or majority, not %q", membership)
	case membership == "majority" && h.Service != "":
		return usagef("--membership majority and --cluster exclude each other")
	}
	if err := checkJoin(cmd, h.Join); err != nil {
		return err
	}
	h.Join = addresses(h.Join)
	if err := checkListen(h.Listen, keysAt, h.Join, membership, h.Service); err != nil {
		return err
	}
	if h.Keys, err = keys.Find(keysAt); err != nil {
		return badInputf("--keys: %w", err)
	}
	h.Majority = membership == "majority" || membership == "" && h.Listen != "" && h.Service == ""
	if !cmd.Flags().Changed("name") && len(h.Join) > 0 {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		h.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	return nil
}

// runAgent serves the workers and tells what became of them.
func (c *console) runAgent(ctx context.Context, h *agent.Host) error {
	s, err := h.Run(ctx)
	if err != nil {
		return err
	}
	err = c.result(s, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d of %s ended well\n", s.Workers-s.Lost, plural(s.Workers, "worker"))
		return err
	})
	if err == nil && ctx.Err() != nil {
		return &stoppedError{"interrupted: the workers have left"}
	}
	return err
}
