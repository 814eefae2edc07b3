package field

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// purposes of random choices.
const (
	forSkeleton = 1 + iota
	forSeeds
	forTours
	forSearch // the last: each start of the search counts on from it
)

func (o Options) rng(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, purpose)) }

// Solve plans the collection. The error is an [*InputError], an [*InfeasibleError] or the context's.
func Solve(ctx context.Context, in *Instance, opt Options) (*Plan, error) {
	opt.report("graph", 0, 1)
	net, err := newNetwork(in)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := newSolver(net, opt)
	if err != nil {
		return nil, err
	}
	return s.solve(ctx)
}

// solver holds what the stages of Solve share.
type solver struct {
	net   *network
	opt   Options
	want  []bool
	base  route
	eval  *evaluator
	shut  []int32
	roots []int32
}

// newSolver finds the skeleton, and leaves out parts or fails when it does not keep the deadline.
func newSolver(net *network, opt Options) (*solver, error) {
	s := &solver{net: net, opt: opt, want: net.wanted()}
	opt.report("skeleton", 0, 1)
	s.roots = medians(net)
	s.base, s.shut = net.skeleton(s.want, s.roots, opt.rng(forSkeleton))
	if len(s.shut) > 0 {
		if !opt.Partial {
			return nil, s.closed()
		}
		for _, c := range s.shut {
			s.want[c] = false
		}
	}
	if !s.skeletonFits() {
		if !opt.Partial {
			return nil, s.infeasible()
		}
		s.leaveOut()
	}
	s.eval = newEvaluator(net, s.want)
	return s, nil
}

// packets is the sum over the wanted parts.
func (s *solver) packets() float64 {
	sum := 0.0
	for u, w := range s.net.weight {
		if s.want[s.net.part[u]] {
			sum += w
		}
	}
	return sum
}

// skeletonFits checks the skeleton; with several tours by routing all packets to it, which decides what each receives.
func (s *solver) skeletonFits() bool {
	if s.net.in.Vehicles() > 1 && s.net.in.Sink.Rate > 0 {
		return newEvaluator(s.net, s.want).run(&s.base, 0, 4)
	}
	for _, t := range s.base.tours {
		if len(t) > 0 && !s.net.fits(t, s.packets()) {
			return false
		}
	}
	return true
}

// needed is a deadline within which the skeleton can be toured.
func (s *solver) needed() time.Duration {
	sink, worst := s.net.in.Sink, 0.0
	for _, t := range s.base.tours {
		if len(t) == 0 {
			continue
		}
		time := s.net.parked(len(t), s.packets())
		if drive := s.net.drive(t); drive > 0 {
			time = sink.Launch.Seconds() + s.net.dwell(s.packets()) + (s.net.cost(t)+1e-3)/sink.Speed*(1+1e-6)
		}
		worst = max(worst, time)
	}
	if worst > float64(math.MaxInt64)/2e9 {
		return 0
	}
	return time.Duration(math.Ceil(worst)) * time.Second
}

func (s *solver) infeasible() error {
	e := &InfeasibleError{Deadline: s.net.in.Sink.Deadline, Nearest: s.needed(), Components: s.components(nil)}
	parts, cost, stops := len(e.Components), 0.0, 0
	for _, t := range s.base.tours {
		cost += s.net.drive(t)
		stops += len(t)
	}
	dwell := s.net.dwell(s.packets())
	switch {
	case math.IsInf(cost, 1):
		e.Nearest = 0
		e.Problem = "the no-fly zones leave no way to a part of the network"
	case dwell > s.net.in.Sink.Deadline.Seconds()*float64(s.net.in.Vehicles()):
		e.Problem = fmt.Sprintf("uploading %g packets alone takes %v", s.packets(), seconds(dwell).Round(time.Second))
	case cost == 0:
		e.Problem = fmt.Sprintf("start, stop and end of a tour alone take %v", seconds(s.net.parked(stops, s.packets())).Round(time.Millisecond))
	case parts > 1:
		e.Problem = fmt.Sprintf("the network has %d unconnected parts that each need a stop (%s); the shortest tour known through them is %.0f m", parts, s.partNames(e.Components), cost)
	default:
		e.Problem = fmt.Sprintf("the shortest tour known that hears a sensor is %.0f m", cost)
	}
	return e
}

// partNames describes the first parts of the network by their size and one sensor.
func (s *solver) partNames(parts [][]int32) string {
	const named = 3
	var list []string
	for _, part := range parts[:min(len(parts), named)] {
		list = append(list, fmt.Sprintf("%d with %q", len(part), s.net.in.Sensors[part[0]].ID))
	}
	if len(parts) > named {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// closed reports the parts for which no stop is allowed.
func (s *solver) closed() error {
	e := &InfeasibleError{Deadline: s.net.in.Sink.Deadline, Components: s.components(s.shut)}
	e.Problem = fmt.Sprintf("no place outside the no-fly zones hears sensor %q or any sensor connected with it", s.net.in.Sensors[e.Components[0][0]].ID)
	return e
}

// components lists the sensors of the given parts, or of all wanted ones, largest part first.
func (s *solver) components(only []int32) [][]int32 {
	byPart := make([][]int32, s.net.parts)
	for u, c := range s.net.part {
		if s.want[c] && (only == nil || slices.Contains(only, c)) {
			byPart[c] = append(byPart[c], s.net.orig[u])
		}
	}
	byPart = slices.DeleteFunc(byPart, func(list []int32) bool { return len(list) == 0 })
	for _, list := range byPart {
		slices.Sort(list)
	}
	slices.SortStableFunc(byPart, func(a, b []int32) int { return len(b) - len(a) })
	return byPart
}

// leaveOut drops parts from the skeleton, those that save most driving for the fewest packets first, until it fits.
func (s *solver) leaveOut() {
	weight := make([]float64, s.net.parts)
	for u, c := range s.net.part {
		weight[c] += s.net.weight[u]
	}
	depot := s.net.depot()
	for !s.skeletonFits() {
		type drop struct {
			part  int32
			ratio float64
		}
		var drops []drop
		for _, t := range s.base.tours {
			for i := range t {
				before, after := neighboursOf(t, depot, i)
				c := s.net.part[t[i].keep[0]]
				saved := s.net.leg(before, &t[i]) + s.net.leg(&t[i], after) - s.net.leg(before, after) + s.net.turnCost() + s.net.dwell(weight[c])*s.net.in.Sink.Speed
				if math.IsNaN(saved) {
					saved = math.Inf(1)
				}
				drops = append(drops, drop{c, saved / weight[c]})
			}
		}
		slices.SortStableFunc(drops, func(a, b drop) int {
			if a.ratio > b.ratio {
				return -1
			} else if a.ratio < b.ratio {
				return 1
			}
			return int(a.part - b.part)
		})
		for _, d := range drops[:(len(drops)+19)/20] {
			s.want[d.part] = false
		}
		s.base, _ = s.net.skeleton(s.want, s.roots, s.opt.rng(forSkeleton))
	}
	s.takeBack()
}

// takeBack serves parts after all that the skeleton hears on its way, while that fits.
func (s *solver) takeBack() {
	heard := make([]bool, s.net.parts)
	for _, u := range newHearing(s.net).hear(&s.base) {
		heard[s.net.part[u]] = true
	}
	weight := make([]float64, s.net.parts)
	for u, c := range s.net.part {
		weight[c] += s.net.weight[u]
	}
	packets := s.packets()
	for c, wanted := range s.net.wanted() {
		if !wanted || !heard[c] || s.want[c] {
			continue
		}
		fits := true
		for _, t := range s.base.tours { // charged to each tour, as nobody knows yet to which it goes
			fits = fits && s.net.fits(t, packets+weight[c])
		}
		if s.want[c] = fits; fits {
			packets += weight[c]
		}
	}
}

// solve makes starting routes, improves the best and writes it down.
func (s *solver) solve(ctx context.Context) (*Plan, error) {
	anyTour := len(s.base.tours) > 0 && len(s.base.tours[0]) > 0
	var p *Plan
	var proof Certificate
	if !anyTour {
		s.eval.f.grow(nil)
		p = s.eval.finish(&route{net: s.net})
	} else {
		best, c, err := s.bestRoute(ctx)
		if err != nil {
			return nil, err
		}
		s.settle(&best)
		proof = s.withRouting(c)
		p = s.eval.finish(&best)
	}
	return s.publish(ctx, p, proof)
}

// publish completes a plan, checks it and hands it over.
func (s *solver) publish(ctx context.Context, p *Plan, proof Certificate) (*Plan, error) {
	for k := range p.Unserved {
		if i := p.Unserved[k].Sensor; p.Unserved[k].Reason == OutOfReach && s.isShut(i) {
			p.Unserved[k].Reason = InNoFly
		}
	}
	p.Seed = s.opt.Seed
	p.Certificate = proof
	if p.MaxLoad > 0 {
		p.Certificate.Gap = max(0, 1-proof.Bound/p.MaxLoad)
	}
	if err := Check(s.net.in, p); err != nil {
		return nil, err
	}
	return p, ctx.Err()
}

// settlePasses is how often loads are moved in the final plan, unless nothing moves any more.
const settlePasses = 60

// settle evaluates the route for good, where that is cheap with the better of the two ways to grow the forest.
func (s *solver) settle(r *route) {
	s.shorten(r)
	const cheap = 20_000
	if s.net.len() > cheap || s.net.graph.etx != nil {
		s.eval.run(r, 0, settlePasses)
		return
	}
	var load [2]float64
	for i, way := range []bool{true, false} {
		s.eval.layered = way
		s.eval.run(r, 0, settlePasses)
		load[i], _ = s.eval.f.worst()
	}
	if load[0] < load[1] {
		s.eval.layered = true
		s.eval.run(r, 0, settlePasses)
	}
}

// shorten spends more on the order of each tour and keeps what does not raise the load.
func (s *solver) shorten(r *route) {
	if !s.eval.run(r, 0, 4) {
		return
	}
	before, _ := s.eval.f.worst()
	better := r.clone()
	for k, t := range better.tours {
		better.tours[k] = s.net.arrange(t, false, kicksFor(len(t)), s.opt.rng(forTours))
	}
	if better.cost() < r.cost() && s.eval.run(&better, 0, 4) {
		if after, _ := s.eval.f.worst(); after <= before {
			*r = better
		}
	}
}

func (s *solver) isShut(sensor int) bool {
	if len(s.shut) == 0 {
		return false
	}
	u := slices.Index(s.net.orig, int32(sensor))
	return u >= 0 && slices.Contains(s.shut, s.net.part[u])
}

// bestRoute evaluates the starting routes, bounds the load from below, improves each route for a part of the steps, and the best
// of them for the rest or until the bound is reached.
func (s *solver) bestRoute(ctx context.Context) (route, Certificate, error) {
	var proof Certificate
	starts, err := s.starts(ctx)
	if err != nil {
		return s.base, proof, err
	}
	steps := s.opt.Effort
	if steps == 0 {
		steps = defaultEffort(s.net)
	}
	known := math.Inf(1)
	for _, one := range starts {
		known = min(known, one.bestLoad)
	}
	s.opt.report("certificate", 0, 1)
	proof = s.certify(ctx, known)
	best := starts[0]
	report := func(done int) { s.opt.report("improve", done, steps) }
	for i, one := range starts {
		one.floor = proof.Bound
		one.resume()
		if err := one.improve(ctx, i*steps/10, (i+1)*steps/10, steps, report); err != nil {
			return s.base, proof, err
		}
		if one.bestLoad < best.bestLoad {
			best = one
		}
	}
	best.resume()
	err = best.improve(ctx, len(starts)*steps/10, steps, steps, report)
	return best.best, proof, err
}

// starts makes the starting routes and keeps those that the evaluator accepts. Several sinks may receive less evenly than
// guessed; then the guess becomes more careful. The skeleton is enough when it leaves every node its own packets, and the
// last resort.
func (s *solver) starts(ctx context.Context) ([]*search, error) {
	d := s.newSeeder()
	guesses := []float64{1}
	if s.net.in.Vehicles() > 1 && s.net.in.Sink.Rate > 0 {
		guesses = []float64{1, 1.4, 2, 4}
	}
	var list []*search
	accept := func(r route, i int) {
		if s.eval.run(&r, 0, 4) {
			list = append(list, newSearch(s.eval, r, s.opt.rng(forSearch+uint64(i))))
		}
	}
	if accept(s.base, 0); len(list) > 0 && list[0].bestLoad <= list[0].floor {
		return list, nil
	}
	spare := list
	list = nil
	seeds := []func() (route, bool){d.core, d.clusters, d.hubs}
	rows := s.rows()
	for _, d.slack = range guesses {
		for k := range rows {
			d.rows = rows[k]
			for i, seed := range seeds {
				number := k*len(seeds) + i
				s.opt.report("seeds", number, len(rows)*len(seeds))
				if r, ok := seed(); ok {
					accept(r, number)
				}
				if err := ctx.Err(); err != nil {
					return nil, err
				}
			}
		}
		if len(list) > 0 {
			return list, nil
		}
	}
	if len(spare) == 0 {
		return nil, s.infeasible()
	}
	return spare, nil
}

// rows tells whether to make seeds without and with stops on the way; in large networks the latter alone, which are mostly better.
func (s *solver) rows() []bool {
	const large = 30_000
	switch {
	case s.net.in.Upload == Buffer || s.net.enRoute():
		return []bool{false}
	case s.net.len() > large:
		return []bool{true}
	}
	return []bool{false, true}
}

// newSeeder grows the reference tree: one root in each part, near the depot or the skeleton's stop.
func (s *solver) newSeeder() *seeder {
	d := &seeder{net: s.net, rng: s.opt.rng(forSeeds), tree: newForest(s.net), cover: make([]bool, s.net.len()), packs: s.packets(), want: s.want, slack: 1}
	d.base = s.base.anchors()
	var roots []int32
	for i := range d.base {
		roots = append(roots, d.base[i].keep[0])
	}
	slices.Sort(roots)
	d.tree.growReference(roots)
	d.keys = coreKeys(d.tree)
	return d
}
