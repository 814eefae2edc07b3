package harness

import (
	"fmt"
	"os"
	"path"

	"github.com/goccy/go-yaml"
)

// Bar is what a row must show. Exactly one of the limits is set.
type Bar struct {
	Row       string   `yaml:"row"`      // pattern of row names, as path.Match takes it
	AtLeast   *float64 `yaml:"at_least"` // of the ratio
	AtMost    *float64 `yaml:"at_most"`  // of the ratio
	OursMost  *float64 `yaml:"ours_at_most"`
	OursLeast *float64 `yaml:"ours_at_least"`
	Against   string   `yaml:"against"`
	Measured  string   `yaml:"measured"`
	Margin    float64  `yaml:"margin"` // how far, in shares of the bar, runs on one machine scatter
}

// Bars are the bars of each bench.
type Bars map[string][]Bar

// LoadBars reads a bars file; unknown fields and bars without one limit are errors.
func LoadBars(file string) (Bars, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var bars Bars
	if err := yaml.UnmarshalWithOptions(text, &bars, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for bench, list := range bars {
		for _, b := range list {
			if err := b.check(); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, bench, err)
			}
		}
	}
	return bars, nil
}

func (b Bar) check() error {
	if _, err := path.Match(b.Row, ""); err != nil || b.Row == "" {
		return fmt.Errorf("bad row pattern %q", b.Row)
	}
	n := 0
	for _, limit := range []*float64{b.AtLeast, b.AtMost, b.OursMost, b.OursLeast} {
		if limit != nil {
			n++
		}
	}
	if n != 1 || b.Against == "" || b.Measured == "" {
		return fmt.Errorf("bar %q needs exactly one of at_least, at_most, ours_at_least and ours_at_most, and against and measured", b.Row)
	}
	return nil
}

// Judge gives each row its bar: the first whose pattern matches. A bar that no row of a whole run
// meets is an error, so that a renamed row cannot lose its bar.
func (bars Bars) Judge(bench string, rows []Row, whole bool) error {
	used := make([]bool, len(bars[bench]))
	for i := range rows {
		for j, b := range bars[bench] {
			if ok, _ := path.Match(b.Row, rows[i].Row); ok {
				rows[i].judge(b)
				used[j] = true
				break
			}
		}
	}
	for j, b := range bars[bench] {
		if whole && !used[j] {
			return fmt.Errorf("no row matches the bar %q of bench %s", b.Row, bench)
		}
	}
	return nil
}

func (r *Row) judge(b Bar) {
	switch {
	case b.AtLeast != nil:
		r.Bar, r.Want, r.OK = b.AtLeast, "≥", r.Ratio >= *b.AtLeast
	case b.AtMost != nil:
		r.Bar, r.Want, r.OK = b.AtMost, "≤", r.Ratio <= *b.AtMost
	case b.OursLeast != nil:
		r.Bar, r.Want, r.OK = b.OursLeast, "ours ≥", r.Ours >= *b.OursLeast
	default:
		r.Bar, r.Want, r.OK = b.OursMost, "ours ≤", r.Ours <= *b.OursMost
	}
	if r.Missing != "" {
		r.OK = false
	}
	r.Margin = b.Margin
}
