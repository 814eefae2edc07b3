package mission

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"

	"millrace.dev/field"
)

// Event is something that happens in a round of the plan.
type Event struct {
	Time    float64 `json:"t"`    // seconds since the vehicles' common start
	Kind    string  `json:"kind"` // depart, arrive, upload, leave, return
	Vehicle int     `json:"vehicle"`
	Stop    int     `json:"stop,omitempty"`    // from 1; of arrive, upload and leave
	Sensor  string  `json:"sensor,omitempty"`  // id of the one that made the packets; of upload
	Via     string  `json:"via,omitempty"`     // id of the one that uploads them, when it is another one
	Packets float64 `json:"packets,omitempty"` // of upload
	X       float64 `json:"x"`                 // metres east, of the vehicle
	Y       float64 `json:"y"`                 // metres north
}

// Replay lists what happens in one round, by time. Sensors upload at a stop one after another: those
// that upload themselves in ascending order, with each one the packets of its subtree in ascending order.
func (m *Mission) Replay() ([]Event, error) {
	var all []Event
	carried := m.carried()
	for i := range m.Plan.Tours {
		list, err := m.replayTour(i, carried)
		if err != nil {
			return nil, fmt.Errorf("tour %d: %w", i+1, err)
		}
		all = append(all, list...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Time < all[j].Time })
	return all, nil
}

// carried lists, per sensor that uploads, whose packets it uploads, ascending.
func (m *Mission) carried() map[int32][]int32 {
	lists := map[int32][]int32{}
	for i := range m.Plan.Parent {
		at := int32(i)
		for m.Plan.Parent[at] >= 0 {
			at = m.Plan.Parent[at]
		}
		if m.Plan.Parent[at] == field.ToSink && m.Instance.Sensors[i].Weight > 0 {
			lists[at] = append(lists[at], int32(i))
		}
	}
	return lists
}

func (m *Mission) replayTour(tour int, carried map[int32][]int32) ([]Event, error) {
	visits, err := m.Visits(tour)
	if err != nil {
		return nil, err
	}
	path := m.Plan.Tours[tour].Path
	var list []Event
	add := func(clock float64, at field.Point, e Event) {
		e.Time, e.Vehicle, e.X, e.Y = clock, tour+1, at.X, at.Y
		list = append(list, e)
	}
	add(0, path[0], Event{Kind: "depart"})
	for _, v := range visits {
		if v.Stop < 0 {
			add(v.Arrive, path[len(path)-1], Event{Kind: "return"})
			continue
		}
		stop, clock := &m.Plan.Stops[v.Stop], v.Arrive
		add(clock, stop.Pos, Event{Kind: "arrive", Stop: v.Stop + 1})
		for _, u := range stop.Uploaders {
			for _, s := range carried[u] {
				packets := m.Instance.Sensors[s].Weight
				if m.Instance.Sink.Rate > 0 {
					clock = min(clock+packets/m.Instance.Sink.Rate, v.Leave)
				}
				e := Event{Kind: "upload", Stop: v.Stop + 1, Sensor: m.Instance.Sensors[s].ID, Packets: packets}
				if s != u {
					e.Via = m.Instance.Sensors[u].ID
				}
				add(clock, stop.Pos, e)
			}
		}
		add(v.Leave, stop.Pos, Event{Kind: "leave", Stop: v.Stop + 1})
	}
	return list, nil
}

// WriteEvents writes the events of Replay, one JSON object a line.
func (m *Mission) WriteEvents(w io.Writer) error {
	events, err := m.Replay()
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(b)
	for i := range events {
		if err := enc.Encode(&events[i]); err != nil {
			return err
		}
	}
	return b.Flush()
}
