package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/lbd"
	"millrace.dev/field/survey"
)

// What the distributed protocol is tried on.
const (
	nodesEpochs = 40
	nodesLoss   = 0.05
	nodesDeaths = 30 // of 300
)

// protocol is what trials of RPS-LB-D came to.
type protocol struct {
	ratios  []float64 // largest load over the central tree's
	good    int       // fields on which that is at most 1.1 and no more stops are made than the deadline allows
	same    int       // such fields when the central tree hangs from the protocol's root
	plans   []float64 // over that of the whole plan, which knows positions
	ours    []float64
	central []float64
	mean    float64 // most control frames per node in an epoch
	busiest float64 // most of one node
	frames  []float64
	healed  []float64 // diameters
	loops   int
	late    int
}

// distributed tries RPS-LB-D on fields of every shape.
func (b *fieldBench) distributed(ctx context.Context) error {
	seeds := uint64(13)
	if b.quick {
		seeds = 1
	}
	var p protocol
	for _, shape := range survey.Shapes {
		progress("distributed/" + shape)
		for seed := range seeds {
			err := p.try(ctx, shape, survey.Weights[seed%uint64(len(survey.Weights))], seed)
			var loop *lbd.LoopError
			if errors.As(err, &loop) {
				p.loops++
			} else if err != nil {
				return fmt.Errorf("%s, seed %d: %w", shape, seed, err)
			}
		}
	}
	p.addTo(b)
	return nil
}

// nodesInstance is a field of 300 sensors.
func nodesInstance(shape, weights string, seed uint64) (*field.Instance, error) {
	sensors, err := survey.Generate(survey.Field{Shape: shape, N: 300, Side: 300, Weights: weights, Energy: 1000, Seed: seed})
	if err != nil {
		return nil, err
	}
	return &field.Instance{Sensors: sensors, Range: 35, Energy: field.FirstOrder(),
		Sink: field.Sink{Speed: 2, Deadline: 8 * time.Minute, Turn: time.Second, Rate: 50}}, nil
}

// try runs the protocol on one field: epochs, a tour, deaths and the repair.
func (p *protocol) try(ctx context.Context, shape, weights string, seed uint64) error {
	in, err := nodesInstance(shape, weights, seed)
	if err != nil {
		return err
	}
	net, err := lbd.New(in, lbd.Options{Seed: seed, Loss: nodesLoss})
	if err != nil {
		return err
	}
	for range nodesEpochs {
		net.ResetCounts()
		if err := errors.Join(ctx.Err(), net.Run(net.Now()+net.Epoch())); err != nil {
			return err
		}
		counts := net.Counts()
		mean := float64(counts.Control) / float64(len(in.Sensors))
		p.mean, p.busiest = max(p.mean, mean), max(p.busiest, float64(counts.Busiest))
		p.frames = append(p.frames, mean)
	}
	if err := p.compare(ctx, in, net, seed); err != nil {
		return err
	}
	if err := p.heal(in, net, seed); err != nil {
		return err
	}
	tour, err := net.Tour(net.Root())
	if tour.Time > in.Sink.Deadline {
		p.late++
	}
	return err
}

// compare holds the protocol's largest load to the central tree's with as many stops, and to the whole plan's.
func (p *protocol) compare(ctx context.Context, in *field.Instance, net *lbd.Network, seed uint64) error {
	central, err := field.NewReference(in, net.Budget())
	if err != nil {
		return err
	}
	if net.Root() < 0 {
		return errors.New("no root is alive")
	}
	rooted := *in
	rooted.Depot = &in.Sensors[net.Root()].Pos
	same, err := field.NewReference(&rooted, net.Budget())
	if err != nil {
		return err
	}
	plan, err := field.Solve(ctx, in, field.Options{Seed: seed, Partial: true, Effort: 300})
	if err != nil {
		return err
	}
	load, stops := net.MaxLoad()
	if stops <= net.Budget() && float64(load) <= 1.1*central.MaxLoad {
		p.good++
	}
	if stops <= net.Budget() && float64(load) <= 1.1*same.MaxLoad {
		p.same++
	}
	p.ours, p.central = append(p.ours, float64(load)), append(p.central, central.MaxLoad)
	p.ratios, p.plans = append(p.ratios, float64(load)/central.MaxLoad), append(p.plans, float64(load)/plan.MaxLoad)
	return nil
}

// heal kills a tenth of the nodes and waits until everybody whom the graph connects with the root has a way again.
func (p *protocol) heal(in *field.Instance, net *lbd.Network, seed uint64) error {
	for _, i := range rand.New(rand.NewPCG(seed, 7)).Perm(len(in.Sensors))[:nodesDeaths] {
		net.Kill(i)
	}
	for i := range in.Sensors { // traffic shows who is gone
		if net.Alive(i) {
			net.Make(i, uint32(in.Sensors[i].Weight))
		}
	}
	start, diameter := net.Now(), lbd.Time(net.Diameter())*net.Slot()
	healed, err := net.RunUntil(start+20*diameter, net.Slot(), func() bool { return net.Root() >= 0 && len(net.Astray()) == 0 })
	if err == nil && !healed {
		err = fmt.Errorf("%d nodes are astray after 20 diameters", len(net.Astray()))
	}
	p.healed = append(p.healed, float64(net.Now()-start)/float64(diameter))
	return err
}

// addTo adds the rows.
func (p *protocol) addTo(b *fieldBench) {
	none, fields := math.NaN(), float64(len(p.ratios))
	b.add("distributed/load/within", "of fields", "central", float64(p.good)/fields, none, none, none)
	b.add("distributed/load/within from its root", "of fields", "central", float64(p.same)/fields, none, none, none)
	b.add("distributed/load/median", "packets", "central", median(p.ours), median(p.central), median(p.ratios), none)
	b.add("distributed/load/worst", "packets", "central", none, none, slices.Max(p.ratios), none)
	b.add("distributed/load/plan", "packets", "plan", none, none, median(p.plans), none)
	b.add("distributed/frames/mean", "a node and epoch", "", p.mean, none, none, none)
	b.add("distributed/frames/busiest", "an epoch", "", p.busiest, none, none, none)
	b.add("distributed/repair", "diameters", "", slices.Max(p.healed), none, none, none)
	b.add("distributed/loops", "of all", "", float64(p.loops), none, none, none)
	b.add("distributed/late tours", "of all", "", float64(p.late), none, none, none)
	b.report.Notes = append(b.report.Notes,
		fmt.Sprintf("distributed: %d fields of 300 sensors, %d epochs each with %.0f %% loss; %.1f control frames per node and epoch in the median, repetitions included", len(p.ratios), nodesEpochs, 100*nodesLoss, median(p.frames)),
		"distributed/load/within: fields on which the largest load is at most 1.1 times that of the central reference tree, which sees the whole graph, hangs from its own weighted median and has as many stops (from its root: hangs from the protocol's root instead); a field counts as missed when the protocol makes more stops; plan: over the largest load of the whole plan, which knows positions and so drives shorter tours",
		fmt.Sprintf("distributed/repair: the slowest field; median %.2f. %d nodes die at once, the root possibly among them; a diameter is its number of hops times the time of a unicast with all repetitions", median(p.healed), nodesDeaths))
}
