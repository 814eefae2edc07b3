package lbd

import (
	"context"
	"math/rand/v2"

	"millrace.dev/field"
)

// Trial is a whole run of the protocol: epochs that build the structure, deaths, and a tour.
type Trial struct {
	Options
	Epochs   int
	Deaths   float64         // part of the sensors that dies after the epochs, before the tour
	Progress func(epoch int) // may be nil
}

// Result is what a trial came to.
type Result struct {
	MaxLoad     uint32  `json:"max_load"` // packets a round of the busiest node that is not visited, before the deaths
	Core        int     `json:"core"`     // stops beside the root, before the deaths
	FirstFrames float64 `json:"first_frames"`
	LastFrames  float64 `json:"last_frames"`
	MostFrames  float64 `json:"most_frames"` // control frames per node in the first, last and most talkative epoch
	Alive       int     `json:"alive"`
	Routed      int     `json:"routed"` // have a way to the root at the end
	Apart       int     `json:"apart"`  // are not connected with the root by the radio graph
	Reach       float64 `json:"reach"`  // metres that the sink may drive
	Tour        Tour    `json:"tour"`
	Events      int64   `json:"events"` // after each of which ways were checked for loops
}

// Run lets a network form, kills a part of it, and sends the sink around. The error is the context's, a *LoopError, or one that says
// why the instance cannot be simulated.
func Run(ctx context.Context, in *field.Instance, t Trial) (*Result, error) {
	w, err := New(in, t.Options)
	if err != nil {
		return nil, err
	}
	res := &Result{Reach: w.opt.Reach}
	for e := range t.Epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.ResetCounts()
		if err := w.Run(w.now + w.opt.Epoch); err != nil {
			return nil, err
		}
		frames := float64(w.Counts().Control) / float64(len(in.Sensors))
		if e == 0 {
			res.FirstFrames = frames
		}
		res.LastFrames, res.MostFrames = frames, max(res.MostFrames, frames)
		if t.Progress != nil {
			t.Progress(e + 1)
		}
	}
	res.MaxLoad, res.Core = w.MaxLoad()
	w.die(t.Deaths, t.Seed)
	for i := range in.Sensors {
		if w.Alive(i) {
			w.Make(i, uint32(in.Sensors[i].Weight))
		}
	}
	if err := w.Run(w.now + Time(w.Diameter())*w.slot); err != nil {
		return nil, err
	}
	if root := w.Root(); root >= 0 {
		if res.Tour, err = w.Tour(root, w.now+w.opt.Epoch); err != nil {
			return nil, err
		}
	}
	w.census(res)
	return res, nil
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
