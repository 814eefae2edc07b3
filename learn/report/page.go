package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"sort"
	"time"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/train"
)

// Page is a run on one page.
type Page struct {
	Title     string
	Started   time.Time
	Seconds   float64
	Settings  any // shown as the object that it is in JSON
	Model     *nn.Model
	Epochs    []train.Epoch
	Best      int           // epoch whose weights the model has; 0 for the last
	Test      train.Metrics // with the confusion matrix
	Classes   []string
	Set       data.Dataset // that the mistakes are from
	Mistakes  []Mistake
	Decisions []control.Decision
	Memory    train.Memory
}

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) },
	"number":  func(x float64) string { return fmt.Sprintf("%.4g", x) },
	"mega":    func(bytes int) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) },
}).Parse(pageHTML))

// view is what the template shows.
type view struct {
	Page
	Curves   template.HTML // made by Curves from numbers alone
	Top      string        // share of right ones among the most probable, "" where that says nothing
	Settings []pair
	Rows     []nn.Row
	Classes  []classRow
	Matrix   []matrixRow
	Mistakes []mistakeView
	Choices  []choice
}

type pair struct{ Name, Value string }

type classRow struct {
	Name              string
	Samples           int
	Recall, Precision float64
}

type matrixRow struct {
	Name  string
	Cells []cell
}

type cell struct {
	Count  int
	Shade  template.CSS
	Titles string
}

type mistakeView struct {
	Source       template.HTMLAttr // of a PNG made here
	Label, Guess string
	Probability  float64
}

type choice struct {
	Point            uint64
	Change, Reason   string
	Expect, Observed string
}

// maxMatrix bounds the classes whose confusion matrix is shown cell by cell.
const maxMatrix = 40

// Write writes the page.
func (p Page) Write(w io.Writer) error {
	v := view{Page: p, Rows: p.Model.Rows()}
	var b bytes.Buffer
	if err := Curves(&b, p.Epochs); err != nil {
		return err
	}
	v.Curves = template.HTML(b.String())
	var err error
	if v.Settings, err = pairs(p.Settings); err != nil {
		return err
	}
	v.Classes = p.classRows()
	if len(p.Classes) > train.TopK {
		v.Top = fmt.Sprintf("%.2f %%", 100*p.Test.TopAccuracy())
	}
	if len(p.Classes) <= maxMatrix {
		v.Matrix = p.matrix()
	}
	for _, m := range p.Mistakes {
		url, err := picture(p.Set, m.Index)
		if err != nil {
			return err
		}
		shown := mistakeView{Label: p.Classes[m.Label], Guess: p.Classes[m.Guess], Probability: m.Probability}
		if url != "" {
			shown.Source = template.HTMLAttr(`src="` + url + `"`)
		}
		v.Mistakes = append(v.Mistakes, shown)
	}
	for _, d := range p.Decisions {
		v.Choices = append(v.Choices, describe(&d))
	}
	return pageTemplate.Execute(w, v)
}

// pairs lists the fields of an object in alphabetic order.
func pairs(settings any) ([]pair, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	var list []pair
	for name, value := range object {
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		list = append(list, pair{name, s})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list, nil
}

// classRows gives recall and precision of each class.
func (p Page) classRows() []classRow {
	var rows []classRow
	for i, counts := range p.Test.Confusion {
		r := classRow{Name: p.Classes[i]}
		guessed := 0
		for j := range counts {
			r.Samples += counts[j]
			guessed += p.Test.Confusion[j][i]
		}
		r.Recall = float64(counts[i]) / math.Max(float64(r.Samples), 1)
		r.Precision = float64(counts[i]) / math.Max(float64(guessed), 1)
		rows = append(rows, r)
	}
	return rows
}

// matrix shades each cell by its share of the row.
func (p Page) matrix() []matrixRow {
	var rows []matrixRow
	for i, counts := range p.Test.Confusion {
		total := 0
		for _, n := range counts {
			total += n
		}
		row := matrixRow{Name: p.Classes[i]}
		for j, n := range counts {
			share := float64(n) / math.Max(float64(total), 1)
			colour := "var(--bad)"
			if i == j {
				colour = "var(--good)"
			}
			row.Cells = append(row.Cells, cell{
				Count:  n,
				Shade:  template.CSS(fmt.Sprintf("background:color-mix(in srgb,%s %.0f%%,transparent)", colour, 80*math.Sqrt(share))),
				Titles: fmt.Sprintf("%s taken for %s: %d of %d", p.Classes[i], p.Classes[j], n, total),
			})
		}
		rows = append(rows, row)
	}
	return rows
}

func describe(d *control.Decision) choice {
	c := choice{Point: d.Point, Change: d.Change(), Reason: d.Reason}
	if d.Undone {
		c.Reason += " (undone by a resume)"
	}
	if e := d.Expect; e != nil {
		c.Expect = fmt.Sprintf("%s %s %.4g %s", e.Statistic, e.Signal, e.Value, e.Unit)
		c.Observed = "not yet"
	}
	if o := d.Observed; o != nil && d.Expect != nil {
		c.Observed = "nothing was measured"
		if o.Samples > 0 {
			c.Observed = fmt.Sprintf("%.4g %s", o.Value, d.Expect.Unit)
		}
	}
	return c
}
