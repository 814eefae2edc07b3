package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Row is one line of a bench's outcome. Ours, Peer and Limit are in Unit.
type Row struct {
	Row   string
	Unit  string
	Ours  float64
	Peer  float64
	Who   string // the peer, when there is a choice
	Ratio float64
	Limit float64 // what the machine itself allows; NaN when there is no such figure

	Clock   Clock
	Spread  float64 // see Spread; NaN when unknown
	Missing string  // why there is no figure

	Bar    *float64 // nil: shown only
	Want   string
	Margin float64
	OK     bool
}

// MarshalJSON writes null for what is not known.
func (r Row) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Row     string   `json:"row"`
		Ours    *float64 `json:"ours"`
		Peer    *float64 `json:"peer"`
		Ratio   *float64 `json:"ratio"`
		Bar     *float64 `json:"bar"`
		OK      bool     `json:"ok"`
		Limit   *float64 `json:"limit"`
		Want    string   `json:"want,omitempty"`
		Unit    string   `json:"unit,omitempty"`
		Who     string   `json:"who,omitempty"`
		Missing string   `json:"missing,omitempty"`
	}{r.Row, number(r.Ours), number(r.Peer), number(r.Ratio), r.Bar, r.Passes(), number(r.Limit), r.Want, r.Unit, r.Who, r.Missing})
}

func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Passes reports whether the row is as it must be; a row without a bar always is.
func (r Row) Passes() bool { return r.Bar == nil || r.OK }

// Report is the outcome of a bench.
type Report struct {
	Bench   string
	Machine []string // lines on the machine and its limits
	Peers   []string // lines on versions and settings
	Rows    []Row
	Field   []Standing // every entrant of every race
	Notes   []string
}

// Standing is one entrant's figures in a race.
type Standing struct {
	Row, Label string
	Wall, CPU  float64 // median milliseconds per step
	Least      float64 // least wall milliseconds per step
	Failure    error
}

// Stand appends the entrants' figures to the report.
func (r *Report) Stand(row string, entrants []*Entrant) {
	for _, e := range entrants {
		s := Standing{Row: row, Label: e.Label, Failure: e.Failure, Wall: 1e3 * e.Median(Wall), CPU: 1e3 * e.Median(CPU), Least: math.Inf(1)}
		for _, b := range e.Bursts {
			s.Least = min(s.Least, 1e3*Wall.Of(b))
		}
		r.Field = append(r.Field, s)
	}
}

// Missed counts the rows that miss their bar.
func (r *Report) Missed() int {
	n := 0
	for _, row := range r.Rows {
		if !row.Passes() {
			n++
		}
	}
	return n
}

// JSON writes one object per row.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, row := range r.Rows {
		if err := e.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// Markdown writes the whole report.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nOne interleaved run of `bench/run.sh %s`. Medians; bars in `bench/bars.yaml`.\n\n", r.Bench, r.Bench)
	for _, lines := range [][]string{r.Machine, r.Peers, r.Notes} {
		for _, l := range lines {
			fmt.Fprintf(&b, "- %s\n", l)
		}
		if len(lines) > 0 {
			fmt.Fprintln(&b)
		}
	}
	b.WriteString(r.Table())
	if len(r.Field) > 0 {
		fmt.Fprint(&b, "\n## Every entrant\n\n| row | entrant | wall ms | CPU ms | least wall ms |\n|---|---|---:|---:|---:|\n")
		for _, s := range r.Field {
			if s.Failure != nil {
				fmt.Fprintf(&b, "| %s | %s | takes no part: %s | | |\n", s.Row, s.Label, strings.ReplaceAll(s.Failure.Error(), "|", "/"))
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.Row, s.Label, short(s.Wall), short(s.CPU), short(s.Least))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Table is the rows as a Markdown table.
func (r *Report) Table() string {
	var b strings.Builder
	fmt.Fprint(&b, "| row | unit | ours | peer | which | ratio | ± | bar | ok | machine limit | clock |\n|---|---|---:|---:|---|---:|---:|---|---|---:|---|\n")
	for _, row := range r.Rows {
		bar := "shown only"
		if row.Bar != nil {
			bar = fmt.Sprintf("%s %s", row.Want, short(*row.Bar))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", row.Row, row.Unit,
			short(row.Ours), short(row.Peer), row.Who, short(row.Ratio), percent(row.Spread), bar, row.verdict(), short(row.Limit), row.Clock)
	}
	return b.String()
}

func (r Row) verdict() string {
	switch {
	case r.Missing != "":
		return "no figure: " + strings.ReplaceAll(r.Missing, "|", "/")
	case r.Bar == nil:
		return ""
	case r.OK:
		return "yes"
	case math.Abs(r.Ratio-*r.Bar) <= r.Margin**r.Bar && !strings.HasPrefix(r.Want, "ours"):
		return "**no**, within the scatter"
	}
	return "**no**"
}

// short is a figure with three digits.
func short(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return ""
	case a >= 100 || a == 0:
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	case a >= 1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}
