package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/cmd/millrace/internal/crew"
	"millrace.dev/control"
	"millrace.dev/internal/rundir"
)

func whyCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "why RUN",
		Short: "Print the decisions of a run: what was changed, why, and what it brought",
		Long: `Print the decisions of a run in their order: what was changed, the reason, the
signals it rests on, what was expected and what was then observed.

RUN is the directory of a run, which may still be going on.`,
		Args: exactly("RUN"),
		RunE: func(_ *cobra.Command, args []string) error { return why(c, args[0]) },
	}
}

// account is what why prints.
type account struct {
	Run       string             `json:"run"`
	Verb      string             `json:"verb"`
	Decisions []control.Decision `json:"decisions"`
}

func why(c *console, path string) error {
	dir, err := rundir.Open(path)
	if err != nil {
		return err
	}
	manifest, err := dir.Manifest()
	if err != nil {
		return err
	}
	decisions, summary, err := crew.Decisions(dir)
	if err != nil {
		return err
	}
	a := account{Run: dir.Path(), Verb: manifest.Verb, Decisions: decisions}
	if decisions == nil {
		a.Decisions = []control.Decision{}
	}
	if err := c.result(a, a.print); err != nil {
		return err
	}
	if summary.Damaged > 0 {
		return &summary.First
	}
	return nil
}

func (a account) print(w io.Writer) error {
	var b strings.Builder
	if len(a.Decisions) == 0 {
		fmt.Fprintf(&b, "%s of %s: no decisions\n", a.Run, a.Verb)
	}
	for i := range a.Decisions {
		if i > 0 {
			b.WriteByte('\n')
		}
		explain(&b, &a.Decisions[i])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func explain(b *strings.Builder, d *control.Decision) {
	undone := ""
	if d.Undone {
		undone = ", undone: the run was resumed from an earlier point"
	}
	fmt.Fprintf(b, "#%d  %s  (%s at point %s, %s%s)\n", d.ID, d.Change(), d.Policy,
		count(int64(d.Point)), d.Time.Local().Format("2006-01-02 15:04:05"), undone)
	fmt.Fprintf(b, "    because   %s\n", d.Reason)
	if len(d.Signals) > 0 {
		fmt.Fprintf(b, "    rests on  %s\n", evidence(d.Signals))
	}
	if d.Observed != nil && d.Observed.Failed != "" {
		fmt.Fprintf(b, "    failed    %s\n", d.Observed.Failed)
		return
	}
	e := d.Expect
	if e == nil {
		fmt.Fprintf(b, "    expected  nothing that could be measured\n")
		return
	}
	fmt.Fprintf(b, "    expected  %s %s %s within %s points\n",
		e.Statistic, e.Signal, quantity(e.Value, e.Unit), count(int64(e.Horizon)))
	fmt.Fprintf(b, "    observed  %s\n", observed(e, d.Observed))
}

// evidence lists the newest signals that a decision rests on.
func evidence(signals []control.Signal) string {
	const most = 4
	var parts []string
	for _, s := range signals[max(0, len(signals)-most):] {
		parts = append(parts, fmt.Sprintf("%v at point %s", s, count(int64(s.Point))))
	}
	text := strings.Join(parts, ", ")
	if hidden := len(signals) - most; hidden > 0 {
		text += fmt.Sprintf(" (and %d earlier)", hidden)
	}
	return text
}

func observed(e *control.Expectation, o *control.Outcome) string {
	switch {
	case o == nil:
		return "not yet"
	case o.Samples == 0:
		return "nothing was measured"
	}
	text := fmt.Sprintf("%s of %d measurements", quantity(o.Value, e.Unit), o.Samples)
	if off := (o.Value - e.Value) / math.Abs(e.Value); !math.IsNaN(off) && !math.IsInf(off, 0) {
		text += fmt.Sprintf(", %+.1f %%", 100*off)
	}
	return text
}

func quantity(value float64, unit string) string {
	return strings.TrimSpace(fmt.Sprintf("%.5g %s", value, unit))
}
