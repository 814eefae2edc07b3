package field

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCheckFindsEveryFault harms a good plan in one way at a time.
func TestCheckFindsEveryFault(t *testing.T) {
	base := func(upload Upload) *Instance {
		in := square(80, 200, 40, 400, 21)
		in.Upload, in.Depot, in.Sink.Rate = upload, &Point{0, 0}, 2
		in.Obstacles = []Obstacle{{Name: "far", Ring: []Point{{500, 500}, {600, 500}, {600, 600}}, NoFly: true, Shield: true}}
		in.Sensors[0].Energy = 0
		return in
	}
	relay := func(p *Plan) int { return slices.IndexFunc(p.Parent, func(q int32) bool { return q >= 0 }) }
	uploader := func(p *Plan) int { return slices.Index(p.Parent, int32(ToSink)) }
	for _, c := range []struct {
		want string
		harm func(in *Instance, p *Plan)
	}{
		{"it has routes for 79", func(in *Instance, p *Plan) { p.Parent = p.Parent[1:] }},
		{"there is no link", func(in *Instance, p *Plan) { in.Range = 1 }},
		{"sends to number 80", func(in *Instance, p *Plan) { p.Parent[relay(p)] = 80 }},
		{"which has no energy", func(in *Instance, p *Plan) { p.Parent[relay(p)] = 0 }},
		{"has no energy", func(in *Instance, p *Plan) { in.Sensors[uploader(p)].Energy = 0 }},
		{"is a loop", func(in *Instance, p *Plan) {
			i := relay(p)
			u := int(p.Parent[i])
			p.Parent[u], p.Stop[u] = int32(i), -1
		}},
		{"has a stop but does not upload", func(in *Instance, p *Plan) { p.Stop[relay(p)] = 0 }},
		{"uploads at stop -1", func(in *Instance, p *Plan) { p.Stop[uploader(p)] = -1 }},
		{"served is true, listed as unserved is true", func(in *Instance, p *Plan) { p.Unserved = append(p.Unserved, Unserved{1, OutOfReach}) }},
		{"served is false, listed as unserved is false", func(in *Instance, p *Plan) { p.Unserved = nil }},
		{"transmits", func(in *Instance, p *Plan) { p.Load[relay(p)]++ }},
		{"the largest load is", func(in *Instance, p *Plan) { p.MaxLoad *= 0.9; p.Certificate.Bound = 0 }},
		{"receives", func(in *Instance, p *Plan) { p.Stops[0].Packets++ }},
		{"is missing at its stop", func(in *Instance, p *Plan) { p.Stops[0].Uploaders = p.Stops[0].Uploaders[1:] }},
		{"further than", func(in *Instance, p *Plan) { p.Stops[0].Pos.X += 100 }},
		{"no tour visits stop", func(in *Instance, p *Plan) { p.Stops = append(p.Stops, Stop{}) }},
		{"which is none or visited before", func(in *Instance, p *Plan) { p.Tours[0].Stops[0] = p.Tours[0].Stops[1] }},
		{"in its order", func(in *Instance, p *Plan) { slices.Reverse(p.Tours[0].Stops) }},
		{"is not closed", func(in *Instance, p *Plan) { p.Tours[0].Path = p.Tours[0].Path[:len(p.Tours[0].Path)-1] }},
		{"does not start at the depot", func(in *Instance, p *Plan) { in.Depot = &Point{1, 1} }},
		{"m long, not", func(in *Instance, p *Plan) { p.Tours[0].Length++ }},
		{"takes", func(in *Instance, p *Plan) { p.Tours[0].Travel += time.Second }},
		{"the sink waits", func(in *Instance, p *Plan) { p.Stops[0].Dwell = 0 }},
		{"longer than the deadline", func(in *Instance, p *Plan) { in.Sink.Deadline = p.Tours[0].Total - 1 }},
		{"tours for 1 vehicles", func(in *Instance, p *Plan) { p.Tours = append(p.Tours, p.Tours[0]) }},
		{"lies in a no-fly zone", func(in *Instance, p *Plan) {
			q := p.Stops[0].Pos
			in.Obstacles[0].Ring = []Point{{q.X - 1, q.Y - 1}, {q.X + 1, q.Y - 1}, {q.X, q.Y + 1}}
		}},
		{"crosses a no-fly zone", func(in *Instance, p *Plan) {
			q := along(p.Tours[0].Path[0], p.Tours[0].Path[1], 0.3)
			in.Obstacles[0].Ring = []Point{{q.X - 0.01, q.Y - 0.01}, {q.X + 0.01, q.Y - 0.01}, {q.X, q.Y + 0.01}}
			in.Obstacles[0].Shield = false
		}},
		{"its bound", func(in *Instance, p *Plan) { p.Certificate.Bound = p.MaxLoad + 1 }},
	} {
		in := base(Listen)
		p := mustSolve(t, in, Options{Effort: 30})
		c.harm(in, p)
		err := Check(in, p)
		var bad *PlanError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	in := base(Buffer)
	p := mustSolve(t, in, Options{Effort: 30})
	stop := &p.Stops[0]
	i := slices.IndexFunc(p.Parent, func(q int32) bool { return q == stop.Uploaders[0] })
	p.Parent[i], p.Stop[i] = ToSink, 0
	stop.Uploaders = append(stop.Uploaders, int32(i))
	slices.Sort(stop.Uploaders)
	if err := Check(in, p); err == nil {
		t.Error("a second uploader at a rendezvous point passed")
	}
}
