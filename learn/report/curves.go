package report

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"millrace.dev/learn/train"
)

// The curves' layout, in pixels.
const (
	curvesWidth  = 880
	curvesHeight = 320
	panelTop     = 44
	panelBottom  = 272
	panelGap     = 72
	panelLeft    = 56
	panelWidth   = (curvesWidth - panelLeft - panelGap - 16) / 2
)

const curvesStyle = `
svg.curves{font:12px system-ui,sans-serif;color:#1f2933;--paper:#fff;--grid:#e3e7ec;--soft:#5f6b7a;--train:#2f6fb3;--valid:#d9622b}
@media (prefers-color-scheme:dark){svg.curves{color:#e6e9ee;--paper:#15181d;--grid:#2c323b;--soft:#9aa5b3;--train:#6fb1f2;--valid:#f2955f}}
.curves .paper{fill:var(--paper)}.curves text{fill:var(--soft)}.curves .title{fill:currentColor;font-weight:600;font-size:13px}
.curves .grid{stroke:var(--grid)}.curves .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.curves .train{stroke:var(--train)}.curves .valid{stroke:var(--valid)}.curves .dot{fill:var(--paper);stroke-width:2}
`

// series is one line of a panel.
type series struct {
	class string // of the style, and of the legend: "train" or "valid"
	x, y  []float64
}

// panel is one diagram.
type panel struct {
	title  string
	left   float64
	series []series
}

// Curves draws loss and accuracy of the training and the validation samples over the epochs.
func Curves(w io.Writer, epochs []train.Epoch) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg class="curves" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="loss and accuracy over the epochs">`,
		curvesWidth, curvesHeight, curvesWidth, curvesHeight)
	fmt.Fprintf(&b, "<style>%s</style><rect class=\"paper\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", curvesStyle, curvesWidth, curvesHeight)
	loss := panel{title: "loss", left: panelLeft}
	accuracy := panel{title: "accuracy, %", left: panelLeft + panelWidth + panelGap}
	for _, of := range []string{"train", "valid"} {
		var l, a series
		l.class, a.class = of, of
		for _, e := range epochs {
			m := e.Train
			if of == "valid" {
				m = e.Valid
			}
			if m.Samples > 0 {
				l.x, l.y = append(l.x, float64(e.Number)), append(l.y, m.Loss())
				a.x, a.y = append(a.x, float64(e.Number)), append(a.y, 100*m.Accuracy())
			}
		}
		loss.series, accuracy.series = append(loss.series, l), append(accuracy.series, a)
	}
	loss.draw(&b)
	accuracy.draw(&b)
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func (p panel) draw(b *bytes.Buffer) {
	var xs, ys []float64
	for _, s := range p.series {
		xs, ys = append(xs, s.x...), append(ys, s.y...)
	}
	right := p.left + panelWidth
	x := newAxis(xs, 8, p.left, right, true)
	y := newAxis(ys, 5, panelBottom, panelTop, false)
	fmt.Fprintf(b, `<text class="title" x="%.0f" y="26">%s</text>`, p.left, p.title)
	for _, v := range y.ticks() {
		fmt.Fprintf(b, `<line class="grid" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/>`, p.left, right, y.at(v), y.at(v))
		fmt.Fprintf(b, `<text x="%.0f" y="%.1f" text-anchor="end">%s</text>`, p.left-8, y.at(v)+4, y.label(v))
	}
	for _, v := range x.ticks() {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x.at(v), panelBottom+18, x.label(v))
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%d" text-anchor="middle">epoch</text>`+"\n", (p.left+right)/2, panelBottom+36)
	legend := right
	for i := len(p.series) - 1; i >= 0; i-- {
		s := p.series[i]
		if len(s.x) == 0 {
			continue
		}
		s.draw(b, x, y)
		name := map[string]string{"train": "training", "valid": "validation"}[s.class]
		legend -= 7*float64(len(name)) + 26
		fmt.Fprintf(b, `<line class="line %s" x1="%.0f" x2="%.0f" y1="22" y2="22"/><text x="%.0f" y="26">%s</text>`+"\n",
			s.class, legend, legend+16, legend+22, name)
	}
}

func (s series) draw(b *bytes.Buffer, x, y axis) {
	fmt.Fprintf(b, `<polyline class="line %s" points="`, s.class)
	dots := len(s.x) <= 30
	var marks bytes.Buffer
	for i := range s.x {
		if math.IsNaN(s.y[i]) || math.IsInf(s.y[i], 0) {
			continue
		}
		fmt.Fprintf(b, "%.1f,%.1f ", x.at(s.x[i]), y.at(s.y[i]))
		if dots {
			fmt.Fprintf(&marks, `<circle class="dot %s" cx="%.1f" cy="%.1f" r="3"/>`, s.class, x.at(s.x[i]), y.at(s.y[i]))
		}
	}
	b.WriteString(`"/>`)
	b.Write(marks.Bytes())
	b.WriteByte('\n')
}
