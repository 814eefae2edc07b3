package lbd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"millrace.dev/field"
)

// Trial is a whole run of the protocol: epochs that build the structure, deaths, and a tour. With a depot the root is the sensor
// nearest to it, where the tour begins and ends; else it moves to the middle of the load. Options' Start and Fixed follow from that.
type Trial struct {
	Options
	Epochs   int             // each is a round of collection: batteries pay for it
	Deaths   float64         // part of the sensors that dies after the epochs, before the tour
	Progress func(epoch int) // may be nil
}

// Result is what a trial came to.
type Result struct {
	MaxLoad       uint32        `json:"max_load"`     // packets a round of the busiest node that is not visited, before the deaths
	Core          int           `json:"core"`         // stops beside the root, before the deaths
	Budget        int           `json:"budget"`       // stops beside the root that the deadline allows
	CentralLoad   float64       `json:"central_load"` // largest load of the reference tree that a planner grows, with that many stops and no positions
	FirstFrames   float64       `json:"first_frames"`
	LastFrames    float64       `json:"last_frames"`
	MostFrames    float64       `json:"most_frames"`    // control frames per node in the first, last and most talkative epoch
	BusiestFrames int64         `json:"busiest_frames"` // most control frames of one node in an epoch
	Exhausted     int           `json:"exhausted"`      // sensors whose battery ran out in the epochs
	Alive         int           `json:"alive"`
	Routed        int           `json:"routed"`      // have a way to the root at the end
	Apart         int           `json:"apart"`       // are not connected with the root by the radio graph
	Made          uint64        `json:"made"`        // packets in the round of the tour
	Deadline      time.Duration `json:"deadline_ns"` // of the tour
	Tour          Tour          `json:"tour"`
	Events        int64         `json:"events"` // after each of which ways were checked for loops
}

// Run lets a network form, kills a part of it, and sends the sink around. The error is the context's, a *LoopError, an
// *UnsupportedError, or one that says why the instance cannot be simulated.
func Run(ctx context.Context, in *field.Instance, t Trial) (*Result, error) {
	if in.Depot != nil {
		t.Start, t.Fixed = nearestOf(in, *in.Depot), true
	}
	w, err := New(in, t.Options)
	if err != nil {
		return nil, err
	}
	if w.spare() < 0 {
		return nil, &UnsupportedError{fmt.Sprintf("launch, the way to the first sensor and back and uploading everything take more than the deadline of %v", in.Sink.Deadline)}
	}
	central, err := field.NewReference(in, w.Budget())
	if err != nil {
		return nil, err
	}
	res := &Result{Deadline: in.Sink.Deadline, Budget: w.Budget(), CentralLoad: central.MaxLoad}
	if err := w.form(ctx, t, res); err != nil {
		return nil, err
	}
	res.MaxLoad, res.Core = w.MaxLoad()
	w.die(t.Deaths, t.Seed)
	for i := range in.Sensors {
		if w.Alive(i) {
			w.Make(i, uint32(in.Sensors[i].Weight))
			res.Made += uint64(in.Sensors[i].Weight)
		}
	}
	if err := w.Run(w.now + Time(w.Diameter())*w.slot); err != nil {
		return nil, err
	}
	start := w.Root()
	if in.Depot != nil {
		start = w.nearest(*in.Depot)
	}
	if start >= 0 {
		if res.Tour, err = w.Tour(start); err != nil {
			return nil, err
		}
	}
	w.census(res)
	return res, nil
}

// nearestOf is the sensor with energy that is nearest to a place.
func nearestOf(in *field.Instance, to field.Point) int {
	best := -1
	for i, s := range in.Sensors {
		if s.Energy > 0 && (best < 0 || s.Pos.Dist(to) < in.Sensors[best].Pos.Dist(to)) {
			best = i
		}
	}
	return max(best, 0)
}

// form runs the epochs.
func (w *Network) form(ctx context.Context, t Trial, res *Result) error {
	b := newBatteries(w)
	for e := range t.Epochs {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.ResetCounts()
		if err := w.Run(w.now + w.opt.Epoch); err != nil {
			return err
		}
		counts := w.Counts()
		frames := float64(counts.Control) / float64(len(w.in.Sensors))
		if e == 0 {
			res.FirstFrames = frames
		}
		res.LastFrames, res.MostFrames = frames, max(res.MostFrames, frames)
		res.BusiestFrames = max(res.BusiestFrames, counts.Busiest)
		res.Exhausted += b.payRound(w)
		if t.Progress != nil {
			t.Progress(e + 1)
		}
	}
	return nil
}

// die kills a part of the sensors.
func (w *Network) die(part float64, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0x64656164))
	for i := range w.in.Sensors {
		if random.Float64() < part {
			w.Kill(i)
		}
	}
}

// census counts who has a way.
func (w *Network) census(res *Result) {
	root := w.Root()
	astray := len(w.Astray())
	for i, hops := range w.Hops(max(root, 0)) {
		switch {
		case !w.Alive(i):
		case root < 0 || hops < 0:
			res.Alive++
			res.Apart++
		default:
			res.Alive++
			res.Routed++
		}
	}
	if root >= 0 {
		res.Routed -= astray
	}
	res.Events = w.handled
}
