package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/mission"
	"millrace.dev/field/whatif"
)

//go:embed report.html
var page string

//go:embed report.css
var style string

//go:embed report.js
var script string

// Limits of what the page shows.
const (
	maxDrawn    = 100_000
	maxStops    = 500
	maxUnserved = 1_000
)

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"num": num, "dur": dur, "rounds": rounds, "whole": whole, "plural": plural}).Parse(page))

// Input is what a report is about.
type Input struct {
	Title   string
	Mission *mission.Mission
	Grid    *whatif.Grid // may be nil
}

// view is what the template shows.
type view struct {
	Title                   string
	Style                   template.CSS
	Script                  template.JS
	Data                    template.JS
	Plan                    *field.Plan
	Sensors, Served, Stops  int
	Gap, RoutesGap          string // RoutesGap is empty when no routes on this tour are better
	Life                    field.Lifetime
	Forever                 bool
	FirstID                 string
	FirstAfter              string
	BusiestID               string
	Tours                   []tourView
	Bars                    []bar
	StopRows                []stopView
	StopsLeft, UnservedLeft int
	Unserved                []unservedView
	Facts                   [][2]string
	Grid                    *whatif.Grid
	Undrawn                 int
}

type tourView struct {
	Number   int
	Length   float64
	Total    time.Duration
	Deadline time.Duration
	Parts    []part
}

// part is a share of a tour's deadline.
type part struct {
	Name  string
	Class string
	Time  time.Duration
	Share float64 // percent of the deadline
}

type stopView struct {
	Number    int
	Place     string
	Dwell     time.Duration
	Packets   float64
	Uploaders int
	Serves    int
}

type unservedView struct {
	ID     string
	Reason field.Reason
}

// Write writes the page.
func Write(w io.Writer, in Input) error {
	data, drawn, err := pageData(in)
	if err != nil {
		return err
	}
	m := in.Mission
	p := m.Plan
	v := view{Title: in.Title, Style: template.CSS(style), Script: template.JS(script), Data: template.JS(data), Plan: p,
		Sensors: len(m.Instance.Sensors), Served: len(m.Instance.Sensors) - len(p.Unserved), Stops: len(p.Stops),
		Gap: fmt.Sprintf("%.0f %%", 100*p.Certificate.Gap), Life: field.Estimate(m.Instance, p), Facts: facts(m), Grid: in.Grid,
		Undrawn: len(m.Instance.Sensors) - drawn}
	if v.Forever = v.Life.First < 0; !v.Forever {
		v.FirstID, v.FirstAfter = m.Instance.Sensors[v.Life.First].ID, span(v.Life.FirstDeath*v.Life.Round.Seconds())
	}
	if p.Busiest >= 0 {
		v.BusiestID = m.Instance.Sensors[p.Busiest].ID
	}
	if best := p.Certificate.Routing; best > 0 && best < p.MaxLoad {
		v.RoutesGap = fmt.Sprintf("%.0f %%", 100*(1-best/p.MaxLoad))
	}
	v.tours(m)
	v.Bars = histogram(m)
	v.stops(m)
	v.unserved(m)
	return pageTemplate.Execute(w, v)
}

func (v *view) tours(m *mission.Mission) {
	for i := range m.Plan.Tours {
		t, deadline := &m.Plan.Tours[i], m.Instance.Sink.Deadline
		tv := tourView{Number: i + 1, Length: t.Length, Total: t.Total, Deadline: deadline}
		for _, p := range []part{{"travel", "travel", t.Travel, 0}, {"waiting", "dwell", t.Dwell, 0}, {"turns", "turn", t.Turn, 0},
			{"climb, take-off and landing", "climb", t.Climb, 0}, {"spare", "spare", deadline - t.Total, 0}} {
			if p.Time > 0 && deadline > 0 {
				p.Share = 100 * float64(p.Time) / float64(deadline)
				tv.Parts = append(tv.Parts, p)
			}
		}
		v.Tours = append(v.Tours, tv)
	}
}

func (v *view) stops(m *mission.Mission) {
	serves := make([]int, len(m.Plan.Stops))
	for _, s := range m.StopOf() {
		if s >= 0 {
			serves[s]++
		}
	}
	for i := range m.Plan.Stops[:min(len(m.Plan.Stops), maxStops)] {
		s := &m.Plan.Stops[i]
		v.StopRows = append(v.StopRows, stopView{i + 1, place(m, s.Pos), s.Dwell, s.Packets, len(s.Uploaders), serves[i]})
	}
	v.StopsLeft = len(m.Plan.Stops) - len(v.StopRows)
}

func (v *view) unserved(m *mission.Mission) {
	for _, u := range m.Plan.Unserved[:min(len(m.Plan.Unserved), maxUnserved)] {
		v.Unserved = append(v.Unserved, unservedView{m.Instance.Sensors[u.Sensor].ID, u.Reason})
	}
	v.UnservedLeft = len(m.Plan.Unserved) - len(v.Unserved)
}

func place(m *mission.Mission, p field.Point) string {
	if m.Frame == nil {
		return fmt.Sprintf("%.1f, %.1f m", p.X, p.Y)
	}
	at := m.Frame.Global(p)
	return fmt.Sprintf("%.6f, %.6f", at.Lat, at.Lon)
}

// facts are the settings of the plan.
func facts(m *mission.Mission) [][2]string {
	in := m.Instance
	list := [][2]string{{"Method", fmt.Sprintf("%s, seed %d", m.Plan.Method, m.Plan.Seed)}, {"Vehicle", fmt.Sprintf("%d × %s", in.Vehicles(), m.Vehicle)},
		{"Speed", num(in.Sink.Speed) + " m/s"}, {"Deadline of a tour", dur(in.Sink.Deadline)}}
	if in.Links == nil {
		list = append(list, [2]string{"Radio range", num(in.Range) + " m"})
	} else {
		list = append(list, [2]string{"Radio links", fmt.Sprintf("%d measured", len(in.Links))})
	}
	upload := "the sink hears every sensor within " + num(in.Reach()) + " m"
	if in.Upload == field.Buffer {
		upload = "only the sensor at the stop"
	}
	list = append(list, [2]string{"Upload at a stop", upload})
	if in.Sink.Rate > 0 {
		list = append(list, [2]string{"Upload rate", num(math.Round(in.Sink.Rate*10)/10) + " packets/s"})
	}
	if in.Sink.Turn > 0 {
		list = append(list, [2]string{"Lost per stop", dur(in.Sink.Turn)})
	}
	if in.Depot != nil {
		list = append(list, [2]string{"Depot", place(m, *in.Depot)})
	}
	return append(list, [2]string{"Energy model", in.Energy.Name})
}
