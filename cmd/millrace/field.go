package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"millrace.dev/field"
	"millrace.dev/field/mission"
	"millrace.dev/field/report"
	"millrace.dev/field/whatif"
	"millrace.dev/internal/durable"
)

func fieldCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "field",
		Short: "Plan how a drone, rover or boat collects the data of a sensor network",
	}
	cmd.AddCommand(fieldPlanCommand(c), fieldSimulateCommand(c), fieldCompareCommand(c), fieldWhatIfCommand(c), fieldGenerateCommand(c))
	return cmd
}

func fieldPlanCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan SENSORS",
		Short: "Choose stops, routes and a tour so that the sensors live longest",
		Long: `Choose where the vehicle stops, which sensor forwards to which, and the tour, so that the
busiest sensor sends as little as the deadline allows, and say how far that can be from the best.

SENSORS is a CSV file with the columns id and x,y (metres) or lat,lon (degrees), optionally
weight (packets a round), energy (joules) and alt (metres), or a GeoJSON file of points.`,
		Args: exactly("SENSORS"),
	}
	o := newFieldFlags(cmd)
	out, title := "", ""
	variants := true
	cmd.Flags().StringVarP(&out, "out", "o", "plan", "`directory` for the files of the plan")
	cmd.Flags().StringVar(&title, "title", "", "heading of the report")
	cmd.Flags().BoolVar(&variants, "what-if", true, "plan variants for the sliders of the report (up to 2,000 sensors)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := o.read(c, args[0])
		if err != nil {
			return err
		}
		if err := checkPlanDir(out); err != nil {
			return err
		}
		if err := solve(cmd.Context(), c, m, o); err != nil {
			return err
		}
		grid, err := variantsFor(cmd.Context(), c, m, o.seed, variants)
		if err != nil {
			return err
		}
		if err := preparePlanDir(out); err != nil {
			return err
		}
		files, err := m.WriteDir(out)
		if err != nil {
			return err
		}
		if title == "" {
			title = "Collection plan for " + filepath.Base(args[0])
		}
		err = durable.WriteFile(filepath.Join(out, "report.html"), func(w io.Writer) error {
			return report.Write(w, report.Input{Title: title, Mission: m, Grid: grid})
		})
		if err != nil {
			return err
		}
		s := summarise(m)
		s.Out, s.Files = out, append(files, "report.html")
		return c.result(s, func(w io.Writer) error { return s.print(w, m.Frame == nil) })
	}
	return cmd
}

// checkPlanDir refuses a directory that holds anything but an earlier plan.
func checkPlanDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return badInputf("%w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "plan.json")); err != nil {
		return badInputf("%s is not empty and holds no plan: choose another directory with -o", dir)
	}
	return nil
}

// ofPlan matches the names of all files that a plan may consist of, but for plan.json, which is replaced.
var ofPlan = regexp.MustCompile(`^(mission(-[0-9]+)?\.(plan|waypoints)|plan\.(geojson|kml|gpx)|routes\.(csv|h)|collection\.jsonl|report\.html)$`)

// preparePlanDir makes the directory, and clears the files of an earlier plan out of it: the new one may lack some of them.
func preparePlanDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !ofPlan.MatchString(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// infeasible is printed with --json when no plan keeps the deadline.
type infeasible struct {
	Problem  string  `json:"problem"`
	Deadline float64 `json:"deadline_s"`
	Nearest  float64 `json:"nearest_deadline_s"` // 0 when none is known
}

func solve(ctx context.Context, c *console, m *mission.Mission, o *fieldFlags) (err error) {
	m.Plan, err = field.Solve(ctx, m.Instance, field.Options{Seed: o.seed, Partial: o.partial, Progress: stages(c, len(m.Instance.Sensors))})
	var none *field.InfeasibleError
	if errors.As(err, &none) && c.json {
		failed := c.result(infeasible{none.Problem, none.Deadline.Seconds(), none.Nearest.Seconds()}, nil)
		return errors.Join(err, failed)
	}
	return planningError(err)
}

// variantsFor plans the variants of the report's sliders, unless they would take too long.
func variantsFor(ctx context.Context, c *console, m *mission.Mission, seed uint64, wanted bool) (*whatif.Grid, error) {
	const most = 2_000
	if !wanted || len(m.Instance.Sensors) > most {
		return nil, nil
	}
	axes := whatif.Around(m.Instance)
	p := c.progress("planning variants", "plans", int64(len(axes.Deadlines)*len(axes.Speeds)*len(axes.Ranges)))
	grid, err := whatif.Compute(ctx, m.Instance, axes, field.Options{Seed: seed, Partial: len(m.Plan.Unserved) > 0}, func(done, _ int) { p.set(int64(done), "") })
	if err != nil {
		return nil, err
	}
	grid.Put(m.Instance, m.Plan)
	return grid, nil
}

// planSummary is what is printed of a plan.
type planSummary struct {
	Out     string   `json:"out,omitempty"`
	Files   []string `json:"files,omitempty"`
	Sensors int      `json:"sensors"`
	Served  int      `json:"served"`
	Stops   int      `json:"stops"`
	MaxLoad float64  `json:"max_load"`
	Busiest string   `json:"busiest"`
	Bound   float64  `json:"bound"`
	Gap     float64  `json:"gap"`
	Source  string   `json:"bound_source"`
	// RoutingBound is below the load of any routes on this plan's own tour; 0 when it was not computed.
	RoutingBound float64           `json:"routing_bound"`
	FirstDeath   *float64          `json:"first_death_rounds"` // null when nothing is used up
	Jain         float64           `json:"jain"`
	Deadline     float64           `json:"deadline_s"`
	Tours        []tourSummary     `json:"tours"`
	Unserved     []unservedSummary `json:"unserved"`
}

type tourSummary struct {
	Length float64 `json:"length_m"`
	Stops  int     `json:"stops"`
	Total  float64 `json:"total_s"`
	Travel float64 `json:"travel_s"`
	Dwell  float64 `json:"dwell_s"`
	Turn   float64 `json:"turn_s"`
	Climb  float64 `json:"climb_s"`
}

type unservedSummary struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func summarise(m *mission.Mission) *planSummary {
	p, in := m.Plan, m.Instance
	s := &planSummary{Sensors: len(in.Sensors), Served: len(in.Sensors) - len(p.Unserved), Stops: len(p.Stops), MaxLoad: p.MaxLoad,
		Bound: p.Certificate.Bound, Gap: p.Certificate.Gap, Source: p.Certificate.Source, RoutingBound: p.Certificate.Routing, Deadline: in.Sink.Deadline.Seconds(),
		Tours: []tourSummary{}, Unserved: []unservedSummary{}}
	if p.Busiest >= 0 {
		s.Busiest = in.Sensors[p.Busiest].ID
	}
	life := field.Estimate(in, p)
	if s.Jain = life.Jain; life.First >= 0 && !math.IsInf(life.FirstDeath, 0) {
		s.FirstDeath = &life.FirstDeath
	}
	for i := range p.Tours {
		t := &p.Tours[i]
		s.Tours = append(s.Tours, tourSummary{t.Length, len(t.Stops), t.Total.Seconds(), t.Travel.Seconds(), t.Dwell.Seconds(), t.Turn.Seconds(), t.Climb.Seconds()})
	}
	for _, u := range p.Unserved {
		s.Unserved = append(s.Unserved, unservedSummary{in.Sensors[u.Sensor].ID, string(u.Reason)})
	}
	return s
}

func (s *planSummary) print(w io.Writer, noEarth bool) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d of %s served at %s\n", s.Served, plural(s.Sensors, "sensor"), plural(s.Stops, "stop"))
	s.printLoad(b)
	if s.FirstDeath != nil {
		fmt.Fprintf(b, "first sensor dies after %s rounds; evenness of energy (Jain) %.2f\n", count(int64(*s.FirstDeath)), s.Jain)
	}
	deadline := wholeSeconds(s.Deadline)
	for i, t := range s.Tours {
		fmt.Fprintf(b, "tour %d: %s m, %s, %s of %s (travel %s, waiting %s, turns %s, climb and launch %s)\n", i+1, count(int64(t.Length+0.5)), plural(t.Stops, "stop"),
			wholeSeconds(t.Total), deadline, wholeSeconds(t.Travel), wholeSeconds(t.Dwell), wholeSeconds(t.Turn), wholeSeconds(t.Climb))
	}
	for _, u := range s.Unserved {
		fmt.Fprintf(b, "not served: %s: %s\n", u.ID, u.Reason)
	}
	if noEarth {
		fmt.Fprintln(b, "no mission files and maps: the sensors are in metres; give the latitude and longitude of 0,0 with --origin")
	}
	fmt.Fprintf(b, "%s: %s\n", s.Out, strings.Join(s.Files, ", "))
	_, err := io.WriteString(w, b.String())
	return err
}

// printLoad says how large the load is, how small it can be on any tour and how small it can be on this one.
func (s *planSummary) printLoad(b *strings.Builder) {
	if s.Busiest == "" {
		return
	}
	packets := figure(s.MaxLoad) + " packets"
	if s.MaxLoad == 1 {
		packets = "1 packet"
	}
	fmt.Fprintf(b, "max load %s a round (sensor %s), bound %s, gap %.0f %%\n", packets, s.Busiest, figure(s.Bound), 100*s.Gap)
	tour := "this tour"
	if len(s.Tours) > 1 {
		tour = "these tours"
	}
	switch {
	case s.Gap == 0: // nothing is left to say
	case s.RoutingBound >= s.MaxLoad:
		fmt.Fprintf(b, "on %s no routes do better than these; the bound is for all tours, and loose where sensors are dense\n", tour)
	case s.RoutingBound > 0:
		fmt.Fprintf(b, "on %s no routes get below %s, %.0f %% less than these; the bound is for all tours, and loose where sensors are dense\n",
			tour, figure(s.RoutingBound), 100*(1-s.RoutingBound/s.MaxLoad))
	}
}

func wholeSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

// openPlan reads the plan in a file, or in a directory that "field plan" has written.
func openPlan(path string) (*mission.Mission, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "plan.json")
	}
	return mission.Open(path)
}

func fieldCompareCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare SENSORS",
		Short: "Plan with the published alternatives as well and show how long the sensors live",
		Args:  exactly("SENSORS"),
	}
	o := newFieldFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := o.read(c, args[0])
		if err != nil {
			return err
		}
		methods := append([]field.Baseline{{Name: "rps-lb", Plan: field.Solve}}, field.Baselines()...)
		p := c.progress("comparing", "methods", int64(len(methods)))
		var rows []comparison
		for i, method := range methods {
			plan, err := method.Plan(cmd.Context(), m.Instance, field.Options{Seed: o.seed, Partial: o.partial})
			var none *field.InfeasibleError
			switch {
			case err == nil:
				rows = append(rows, compareRow(m, method.Name, plan))
			case errors.As(err, &none) && i > 0:
				rows = append(rows, comparison{Method: method.Name, Problem: none.Problem})
			default:
				return planningError(err)
			}
			p.set(int64(i+1), method.Name)
		}
		slices.SortStableFunc(rows[1:], func(a, b comparison) int { return cmp.Compare(b.Rounds, a.Rounds) })
		return c.result(rows, func(w io.Writer) error { return printComparison(w, rows) })
	}
	return cmd
}

// comparison is a method's outcome.
type comparison struct {
	Method  string  `json:"method"`
	Problem string  `json:"problem,omitempty"`
	MaxLoad float64 `json:"max_load"`
	Rounds  float64 `json:"first_death_rounds"` // 0 when nothing is used up
	Jain    float64 `json:"jain"`
	Stops   int     `json:"stops"`
	Length  float64 `json:"length_m"`
	Total   float64 `json:"total_s"`
}

func compareRow(m *mission.Mission, name string, p *field.Plan) comparison {
	life := field.Estimate(m.Instance, p)
	row := comparison{Method: name, MaxLoad: p.MaxLoad, Jain: life.Jain, Stops: len(p.Stops)}
	if life.First >= 0 {
		row.Rounds = life.FirstDeath
	}
	for i := range p.Tours {
		row.Length += p.Tours[i].Length
		row.Total = max(row.Total, p.Tours[i].Total.Seconds())
	}
	return row
}

func printComparison(w io.Writer, rows []comparison) error {
	var cells [][]string
	for _, r := range rows {
		if r.Problem != "" {
			cells = append(cells, []string{r.Method, "-", "-", "-", "-", "-", "-", "no plan: " + r.Problem})
			continue
		}
		ours := "-"
		if r.Rounds > 0 {
			ours = fmt.Sprintf("%.2f", rows[0].Rounds/r.Rounds)
		}
		cells = append(cells, []string{r.Method, figure(r.MaxLoad), count(int64(r.Rounds)), ours, fmt.Sprintf("%.2f", r.Jain),
			fmt.Sprint(r.Stops), count(int64(r.Length + 0.5)), wholeSeconds(r.Total).String()})
	}
	return table(w, []string{"METHOD", "MAX LOAD", "ROUNDS TO FIRST DEATH", "RPS-LB LIVES x", "JAIN", "STOPS", "METRES", "LONGEST TOUR"}, cells)
}
