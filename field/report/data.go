package report

import (
	"encoding/json"
	"math"
	"slices"

	"millrace.dev/field"
	"millrace.dev/field/whatif"
)

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
