package mission

import (
	"bufio"
	"encoding/json"
	"io"
	"math"

	"millrace.dev/field"
	"millrace.dev/field/geo"
)

// WriteGeoJSON writes sensors, links, stops and tours as an RFC 7946 feature collection. Each feature has a
// property "kind"; lines across the antimeridian are cut there (section 3.1.9).
func (m *Mission) WriteGeoJSON(w io.Writer) error {
	if m.Frame == nil {
		return ErrNoFrame
	}
	c := &collection{w: bufio.NewWriterSize(w, 1<<16)}
	c.w.WriteString(`{"type":"FeatureCollection","features":[`)
	m.sensorFeatures(c)
	m.linkFeatures(c)
	m.stopFeatures(c)
	for i := range m.Plan.Tours {
		t := &m.Plan.Tours[i]
		c.add(m.line(t.Path), props{"kind": "tour", "vehicle": i + 1, "length_m": t.Length, "travel_s": t.Travel.Seconds(),
			"dwell_s": t.Dwell.Seconds(), "turn_s": t.Turn.Seconds(), "climb_s": t.Climb.Seconds(), "total_s": t.Total.Seconds()})
	}
	if c.err != nil {
		return c.err
	}
	c.w.WriteString("\n]}\n")
	return c.w.Flush()
}

type props map[string]any

type geometry struct {
	Type        string `json:"type"`
	Coordinates any    `json:"coordinates"`
}

// collection writes features as they come, so that a large plan needs no second copy in memory.
type collection struct {
	w     *bufio.Writer
	count int
	err   error
}

func (c *collection) add(g geometry, p props) {
	if c.err != nil {
		return
	}
	text, err := json.Marshal(struct {
		Type       string   `json:"type"`
		Geometry   geometry `json:"geometry"`
		Properties props    `json:"properties"`
	}{"Feature", g, p})
	if c.err = err; err != nil {
		return
	}
	if c.count++; c.count > 1 {
		c.w.WriteByte(',')
	}
	c.w.WriteByte('\n')
	c.w.Write(text)
}

func (m *Mission) sensorFeatures(c *collection) {
	reasons := make(map[int]field.Reason, len(m.Plan.Unserved))
	for _, u := range m.Plan.Unserved {
		reasons[u.Sensor] = u.Reason
	}
	for i := range m.Instance.Sensors {
		s := &m.Instance.Sensors[i]
		p := props{"kind": "sensor", "id": s.ID, "load": m.Plan.Load[i], "weight": s.Weight, "alt": s.Alt}
		switch parent := m.Plan.Parent[i]; {
		case parent >= 0:
			p["next"] = m.Instance.Sensors[parent].ID
		case parent == field.ToSink:
			p["stop"] = m.Plan.Stop[i] + 1
		default:
			p["unserved"] = string(reasons[i])
		}
		c.add(geometry{"Point", m.coordinates(s.Pos)}, p)
	}
}

func (m *Mission) linkFeatures(c *collection) {
	for i := range m.Instance.Sensors {
		s := &m.Instance.Sensors[i]
		switch parent := m.Plan.Parent[i]; {
		case parent >= 0:
			to := &m.Instance.Sensors[parent]
			c.add(m.line([]field.Point{s.Pos, to.Pos}), props{"kind": "link", "from": s.ID, "to": to.ID, "load": m.Plan.Load[i]})
		case parent == field.ToSink && s.Pos != m.Plan.Stops[m.Plan.Stop[i]].Pos:
			stop := m.Plan.Stop[i]
			c.add(m.line([]field.Point{s.Pos, m.Plan.Stops[stop].Pos}), props{"kind": "link", "from": s.ID, "stop": stop + 1, "load": m.Plan.Load[i]})
		}
	}
}

func (m *Mission) stopFeatures(c *collection) {
	serves := m.serves()
	for i := range m.Plan.Stops {
		s := &m.Plan.Stops[i]
		ids := make([]string, len(serves[i]))
		for k, sensor := range serves[i] {
			ids[k] = m.Instance.Sensors[sensor].ID
		}
		c.add(geometry{"Point", m.coordinates(s.Pos)}, props{"kind": "stop", "stop": i + 1, "dwell_s": s.Dwell.Seconds(),
			"packets": s.Packets, "alt": s.Alt, "serves": ids})
	}
}

// serves lists, per stop, the sensors whose packets are uploaded there, ascending.
func (m *Mission) serves() [][]int32 {
	stop := m.StopOf()
	lists := make([][]int32, len(m.Plan.Stops))
	for i, s := range stop {
		if s >= 0 {
			lists[s] = append(lists[s], int32(i))
		}
	}
	return lists
}

// StopOf is, per sensor, the index of the stop at which its packets are uploaded, by itself or others; -1 for none.
func (m *Mission) StopOf() []int32 {
	p := m.Plan
	const unknown = -2
	stop := make([]int32, len(p.Parent))
	for i := range stop {
		stop[i] = unknown
	}
	var way []int32
	for i := range stop {
		at := int32(i)
		for stop[at] == unknown && p.Parent[at] >= 0 {
			way = append(way, at)
			at = p.Parent[at]
		}
		if stop[at] == unknown {
			stop[at] = -1
			if p.Parent[at] == field.ToSink {
				stop[at] = p.Stop[at]
			}
		}
		for _, passed := range way {
			stop[passed] = stop[at]
		}
		way = way[:0]
	}
	return stop
}

// coordinates is a position of GeoJSON: longitude first.
func (m *Mission) coordinates(p field.Point) [2]float64 { return position(m.rounded(p)) }

func position(p geo.LatLon) [2]float64 { return [2]float64{p.Lon, p.Lat} }

// line is a LineString, or a MultiLineString when it crosses the antimeridian.
func (m *Mission) line(path []field.Point) geometry {
	var parts [][][2]float64
	var part [][2]float64
	var before geo.LatLon
	for i, p := range path {
		at := m.rounded(p)
		if i > 0 && math.Abs(at.Lon-before.Lon) > 180 {
			lat, side := crossing(before, at)
			part = append(part, [2]float64{side, lat})
			parts = append(parts, part)
			part = [][2]float64{{-side, lat}}
		}
		part = append(part, position(at))
		before = at
	}
	if parts == nil {
		return geometry{"LineString", part}
	}
	return geometry{"MultiLineString", append(parts, part)}
}

// crossing is the latitude at which the line from a to b crosses the antimeridian, and a's side of it.
func crossing(a, b geo.LatLon) (lat, side float64) {
	side = math.Copysign(180, a.Lon)
	to := b.Lon + 2*side // b's longitude, counted on from a's side
	if to == a.Lon {
		return a.Lat, side
	}
	return math.Round((a.Lat+(b.Lat-a.Lat)*(side-a.Lon)/(to-a.Lon))*1e7) / 1e7, side
}
