package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
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

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"num": num, "dur": dur, "rounds": rounds, "whole": whole}).Parse(page))

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
	Gap                     string
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

// bar is a column of the histogram, in the units of its drawing (600 by 160).
type bar struct {
	X, Y, W, H float64
	Label      string
	Count      int
	From, To   string
}

// histogram counts served sensors by load in up to 24 columns of equal width.
func histogram(m *mission.Mission) []bar {
	var loads []float64
	for i, load := range m.Plan.Load {
		if m.Plan.Parent[i] != field.NoRoute {
			loads = append(loads, load)
		}
	}
	if len(loads) == 0 {
		return nil
	}
	top := slices.Max(loads)
	columns, width := 24, top/24
	if whole := math.Ceil(top); top <= 24 && top > 0 {
		columns, width = int(whole), 1 // one column for each number of packets
	}
	if width == 0 {
		columns, width = 1, 1
	}
	counts := make([]int, columns)
	for _, load := range loads {
		counts[min(max(int(math.Ceil(load/width))-1, 0), columns-1)]++
	}
	most, bars := float64(slices.Max(counts)), make([]bar, columns)
	for k, count := range counts {
		height := 150 * float64(count) / most
		from, to := num(width*float64(k)), num(width*float64(k+1))
		bars[k] = bar{X: 600 / float64(columns) * float64(k), Y: 160 - height, W: 600/float64(columns) - 2, H: height, Count: count, From: from, To: to,
			Label: fmt.Sprintf("%d sensors send more than %s and up to %s packets", count, from, to)}
	}
	return bars
}

// data is what the script draws.
type data struct {
	IDs    []string   `json:"ids"`
	X      []float64  `json:"x"`
	Y      []float64  `json:"y"`
	Load   []float64  `json:"load"`
	Parent []int32    `json:"parent"` // index into these arrays, or field.ToSink, field.NoRoute; -3 when the parent is not drawn
	Stop   []int32    `json:"stop"`   // where the packets are uploaded in the end, -1 for none
	Up     []int32    `json:"up"`     // where the sensor itself uploads, -1 when it does not
	Stops  []stopData `json:"stops"`
	Tours  [][]xy     `json:"tours"`
	Zones  []zoneData `json:"zones"`
	Depot  *xy        `json:"depot"`
	Reach  float64    `json:"reach"`
	Grid   *gridData  `json:"grid"`
	Hot    []int32    `json:"hot"` // busiest sensors
}

type xy [2]float64

type stopData struct {
	At      xy      `json:"at"`
	Dwell   float64 `json:"dwell"` // seconds
	Packets float64 `json:"packets"`
	Serves  int     `json:"serves"`
}

type zoneData struct {
	Name  string `json:"name"`
	NoFly bool   `json:"noFly"`
	Ring  []xy   `json:"ring"`
}

type gridData struct {
	Deadlines []float64  `json:"deadlines"` // seconds
	Speeds    []float64  `json:"speeds"`
	Ranges    []float64  `json:"ranges"`
	Base      [3]int     `json:"base"`
	Cells     []cellData `json:"cells"`
}

type cellData struct {
	Problem string  `json:"problem,omitempty"`
	Nearest float64 `json:"nearest,omitempty"` // seconds
	MaxLoad float64 `json:"maxLoad"`
	Bound   float64 `json:"bound"`
	Rounds  float64 `json:"rounds"`
	Length  float64 `json:"length"`
	Total   float64 `json:"total"` // seconds
	Stops   int     `json:"stops"`
	Paths   [][]xy  `json:"paths,omitempty"`
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

func toXY(p field.Point) xy { return xy{round(p.X), round(p.Y)} }

func lineOf(path []field.Point) []xy {
	line := make([]xy, len(path))
	for i, p := range path {
		line[i] = toXY(p)
	}
	return line
}

// pageData is the JSON for the script, and how many sensors are in it.
func pageData(in Input) (text []byte, drawn int, err error) {
	m := in.Mission
	p := m.Plan
	kept := drawnSensors(p)
	at := make(map[int32]int32, len(kept))
	for k, i := range kept {
		at[i] = int32(k)
	}
	d := data{Reach: m.Instance.Reach(), Zones: []zoneData{}, Tours: [][]xy{}, Stops: []stopData{}, Hot: []int32{}}
	stopOf := m.StopOf()
	serves := make([]int, len(p.Stops))
	for _, s := range stopOf {
		if s >= 0 {
			serves[s]++
		}
	}
	for _, i := range kept {
		s := &m.Instance.Sensors[i]
		parent := p.Parent[i]
		if parent >= 0 {
			k, found := at[parent]
			if parent = k; !found {
				parent = -3
			}
		}
		d.IDs, d.X, d.Y = append(d.IDs, s.ID), append(d.X, round(s.Pos.X)), append(d.Y, round(s.Pos.Y))
		d.Load, d.Parent, d.Stop, d.Up = append(d.Load, p.Load[i]), append(d.Parent, parent), append(d.Stop, stopOf[i]), append(d.Up, p.Stop[i])
	}
	for i := range p.Stops {
		s := &p.Stops[i]
		d.Stops = append(d.Stops, stopData{toXY(s.Pos), s.Dwell.Seconds(), s.Packets, serves[i]})
	}
	for i := range p.Tours {
		d.Tours = append(d.Tours, lineOf(p.Tours[i].Path))
	}
	for _, o := range m.Instance.Obstacles {
		d.Zones = append(d.Zones, zoneData{o.Name, o.NoFly, lineOf(o.Ring)})
	}
	if m.Instance.Depot != nil {
		depot := toXY(*m.Instance.Depot)
		d.Depot = &depot
	}
	d.Hot = hottest(d.Load)
	d.Grid = gridOf(in.Grid, m.Instance)
	text, err = json.Marshal(d)
	return text, len(kept), err
}

// drawnSensors are all sensors, or the busiest ones when there are too many.
func drawnSensors(p *field.Plan) []int32 {
	kept := make([]int32, len(p.Load))
	for i := range kept {
		kept[i] = int32(i)
	}
	if len(kept) > maxDrawn {
		slices.SortStableFunc(kept, func(a, b int32) int { return compare(p.Load[b], p.Load[a]) })
		kept = kept[:maxDrawn]
		slices.Sort(kept)
	}
	return kept
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// hottest are the five busiest of the drawn sensors.
func hottest(load []float64) []int32 {
	hot := []int32{}
	for i := range load {
		at, _ := slices.BinarySearchFunc(hot, load[i], func(h int32, v float64) int { return compare(v, load[h]) })
		if at < 5 {
			hot = slices.Insert(hot, at, int32(i))
			hot = hot[:min(len(hot), 5)]
		}
	}
	return hot
}

func gridOf(g *whatif.Grid, in *field.Instance) *gridData {
	if g == nil {
		return nil
	}
	d := &gridData{Speeds: g.Speeds, Ranges: g.Ranges}
	for i, deadline := range g.Deadlines {
		d.Deadlines = append(d.Deadlines, deadline.Seconds())
		if deadline == in.Sink.Deadline {
			d.Base[0] = i
		}
	}
	d.Base[1] = max(slices.Index(g.Speeds, in.Sink.Speed), 0)
	d.Base[2] = max(slices.Index(g.Ranges, in.Range), 0)
	for _, c := range g.Cells {
		cell := cellData{Problem: c.Problem, Nearest: c.Nearest.Seconds(), MaxLoad: c.MaxLoad, Bound: c.Bound, Rounds: c.Rounds, Length: round(c.Length), Total: c.Total.Seconds(), Stops: c.Stops}
		for _, path := range c.Paths {
			cell.Paths = append(cell.Paths, lineOf(path))
		}
		d.Cells = append(d.Cells, cell)
	}
	return d
}

// num writes a number with at most three digits behind the point and thousands apart.
func num(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "–"
	}
	text := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
	whole, rest, dot := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + rest
	}
	return whole
}

func whole(v float64) string { return num(math.Round(v)) }

// rounds writes a number of rounds: whole ones when there are many.
func rounds(v float64) string {
	if v >= 100 {
		return whole(v)
	}
	return num(math.Round(v*10) / 10)
}

// dur writes a duration in whole seconds, or finer below ten.
func dur(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

// span writes a long time in the unit that suits it.
func span(seconds float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{365.25 * 86400, "years"}, {86400, "days"}, {3600, "hours"}} {
		if seconds >= 2*u.size {
			return fmt.Sprintf("%.1f %s", seconds/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f minutes", seconds/60)
}
