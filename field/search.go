package field

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// search improves a route by steps that pull it towards overloaded nodes, move or drop anchors, and keep
// the deadline. While some node costs more than the target it lowers the excess; when none does, the target
// falls: B is lowered while the tour still fits.
type search struct {
	*evaluator
	rng      *rand.Rand
	floor    float64 // no plan is below
	unit     float64 // least step of the target
	cur      route
	curPen   float64
	curCost  float64
	curShare []float64 // packets received by each tour of cur
	all      float64   // packets of all wanted parts
	target   float64
	pulls    []int32 // places worth going to: overloaded nodes of cur and what hangs from them
	best     route
	bestLoad float64
}

// defaultEffort is the default number of improvement steps: about constant work.
func defaultEffort(net *network) int {
	work := float64(net.len() + len(net.graph.adj))
	return int(min(max(8e7/(work+1), 12), 4000))
}

// newSearch starts from a route that the evaluator has just accepted.
func newSearch(e *evaluator, r route, rng *rand.Rand) *search {
	s := &search{evaluator: e, rng: rng, floor: ownFloor(e.net), unit: loadUnit(e.net), all: e.total()}
	load, _ := s.f.worst()
	s.best, s.bestLoad = r.clone(), load
	return s
}

// resume goes back to the best route.
func (s *search) resume() {
	s.cur = s.best.clone()
	s.aim(0)
}

// loadUnit is the least difference between two loads worth aiming at.
func loadUnit(net *network) float64 {
	for u, w := range net.weight {
		if w != math.Trunc(w) || net.scale[u] != 1 || net.graph.etx != nil {
			return 0
		}
	}
	return 1
}

// aim sets the target below the best load, in larger steps while there is time, and measures cur against it.
func (s *search) aim(done float64) {
	step := s.bestLoad * 0.01
	if done < 0.7 {
		step = s.bestLoad * 0.04
	}
	s.target = s.bestLoad - max(s.unit, step)
	if s.unit == 1 {
		s.target = math.Floor(s.target)
	}
	s.target = max(s.target, s.floor)
	s.run(&s.cur, s.target, 3)
	s.adopt(s.cur, s.f.excess(s.target))
}

// adopt makes r, which was evaluated last, the current route.
func (s *search) adopt(r route, penalty float64) {
	s.cur, s.curPen, s.curCost = r, penalty, r.cost()
	s.curShare = append(s.curShare[:0], s.packet...)
	s.spread(&s.cur)
	s.gatherPulls()
}

// gatherPulls lists the costliest overloaded sources with the heavy branches below them.
func (s *search) gatherPulls() {
	var hot []int32
	for _, u := range s.h.sources {
		if s.f.cost(u) > s.target {
			hot = append(hot, u)
		}
	}
	if len(hot) == 0 {
		for _, u := range s.f.order {
			if s.f.cost(u) > s.target {
				hot = append(hot, u)
			}
		}
	}
	slices.SortFunc(hot, func(a, b int32) int { return cmp.Or(cmp.Compare(s.f.cost(b), s.f.cost(a)), cmp.Compare(a, b)) })
	s.pulls = s.pulls[:0]
	for _, u := range hot[:min(len(hot), 2000)] {
		s.pulls = append(s.pulls, u)
		for range 5 {
			if u = s.heaviest(u); u < 0 {
				break
			}
			s.pulls = append(s.pulls, u)
		}
	}
}

func (s *search) heaviest(u int32) int32 {
	best := int32(-1)
	for c := s.f.child[u]; c >= 0; c = s.f.next[c] {
		if best < 0 || s.f.packets[c] > s.f.packets[best] {
			best = c
		}
	}
	return best
}

// improve makes the steps from one to another of a total; it stops early at the floor.
func (s *search) improve(ctx context.Context, from, to, total int, report func(done int)) error {
	for step := from; step < to && s.bestLoad > s.floor*(1+1e-12); step++ {
		if step%64 == 0 || total < 64 {
			if err := ctx.Err(); err != nil {
				return err
			}
			report(step)
		}
		s.step(float64(step)/float64(total), total)
	}
	return nil
}

// step tries one changed route.
func (s *search) step(done float64, steps int) {
	r := s.cur.clone()
	for range s.batch(&r, steps) {
		s.change(&r)
	}
	if !s.repair(&r) || !s.run(&r, s.target, 3) {
		return
	}
	penalty := s.f.excess(s.target)
	if load, _ := s.f.worst(); load < s.bestLoad {
		s.best, s.bestLoad = r.clone(), load
	}
	if penalty <= 1e-9 {
		s.adopt(r, 0)
		s.aim(done)
		return
	}
	slack := 1 + 0.06*(1-done)*s.rng.Float64()
	if penalty <= s.curPen*slack && (penalty < s.curPen-1e-9 || r.cost() <= s.curCost+1e-6 || s.rng.IntN(3) == 0) {
		s.adopt(r, penalty)
	}
}

// batch is how many changes a step makes: one, or more when the route is long for the steps there are.
func (s *search) batch(r *route, steps int) int {
	count := 0
	for _, t := range r.tours {
		count += len(t)
	}
	return 1 + s.rng.IntN(1+2*count/steps) + s.rng.IntN(2)
}

// change alters r in one of the search's ways.
func (s *search) change(r *route) {
	switch k := s.rng.IntN(10); {
	case k < 4:
		s.pull(r)
	case k < 6:
		s.shift(r)
	case k < 7:
		s.tighten(r)
	case k < 8:
		s.drop(r)
	default:
		s.drop(r)
		s.pull(r)
	}
}

// pick chooses a random tour and place in it.
func (s *search) pick(r *route) (tour, place int, ok bool) {
	tour = s.rng.IntN(len(r.tours))
	if len(r.tours[tour]) == 0 {
		return 0, 0, false
	}
	return tour, s.rng.IntN(len(r.tours[tour])), true
}

// pull adds an anchor at a place worth going to where the detour is least, or moves the nearest anchor towards it.
func (s *search) pull(r *route) {
	if len(s.pulls) == 0 {
		return
	}
	u := s.pulls[s.rng.IntN(1+s.rng.IntN(len(s.pulls)))]
	a, ok := s.net.anchorFor(u)
	if !ok || s.visits(r, u) {
		return
	}
	a.keep = nil
	if s.rng.IntN(3) > 0 {
		r.insert(a)
		return
	}
	tour, place := s.closest(r, a.pos)
	if tour < 0 {
		return
	}
	if s.net.in.Upload == Listen && s.rng.IntN(2) == 0 {
		a = s.net.anchorAt(along(r.tours[tour][place].pos, a.pos, 0.2+0.7*s.rng.Float64()), -1)
		if !s.net.air.allowed(a.pos) {
			return
		}
	}
	r.tours[tour][place] = a
}

// visits reports whether the route already stops at node u itself.
func (s *search) visits(r *route, u int32) bool {
	if s.net.in.Upload == Listen {
		return false
	}
	for _, t := range r.tours {
		for i := range t {
			if t[i].node == u {
				return true
			}
		}
	}
	return false
}

// closest finds the anchor nearest to p.
func (s *search) closest(r *route, p Point) (tour, place int) {
	tour, least := -1, math.Inf(1)
	for k, t := range r.tours {
		for i := range t {
			if d := p.Dist(t[i].pos); d < least {
				tour, place, least = k, i, d
			}
		}
	}
	return tour, place
}

// shift moves a random anchor by up to a reach or, in the Buffer model, to a node that it has a link to.
func (s *search) shift(r *route) {
	k, i, ok := s.pick(r)
	if !ok {
		return
	}
	a := &r.tours[k][i]
	if s.net.in.Upload == Buffer {
		near := s.net.graph.Neighbors(int(a.node))
		if len(near) == 0 {
			return
		}
		if b, ok := s.net.anchorFor(near[s.rng.IntN(len(near))]); ok && !s.visits(r, b.node) {
			b.keep = nil
			r.tours[k][i] = b
		}
		return
	}
	p := Point{a.pos.X + s.rng.NormFloat64()*s.net.reach*0.6, a.pos.Y + s.rng.NormFloat64()*s.net.reach*0.6}
	if s.net.air.allowed(p) {
		r.tours[k][i] = s.net.anchorAt(p, -1)
	}
}

// tighten moves all anchors of a tour a part of the way to the line between their neighbours.
func (s *search) tighten(r *route) {
	k, i, ok := s.pick(r)
	if !ok || s.net.in.Upload == Buffer {
		return
	}
	depot, part, t := s.net.depot(), 0.5*s.rng.Float64(), r.tours[k]
	from, to := 0, len(t)
	if s.rng.IntN(2) == 0 {
		from, to = i, min(i+3, len(t))
	}
	for i := from; i < to; i++ {
		before, after := neighboursOf(t, depot, i)
		p := along(t[i].pos, nearest(t[i].pos, before.pos, after.pos), part)
		if s.net.air.allowed(p) {
			t[i] = s.net.anchorAt(p, -1)
		}
	}
}

// drop removes an anchor, more often one that little is uploaded at.
func (s *search) drop(r *route) {
	k, i, ok := s.pick(r)
	if !ok || len(r.tours[k]) < 2 {
		return
	}
	if _, j, _ := s.pick(r); j < len(r.tours[k]) && r.tours[k][j].use < r.tours[k][i].use {
		i = j
	}
	r.tours[k] = slices.Delete(r.tours[k], i, i+1)
}

// repair shortens tours that break the deadline: better orders first, then without the anchors that
// save most for the least upload. It gives up when one place is left and still too far.
func (s *search) repair(r *route) bool {
	for k := range r.tours {
		share := s.share(k, r)
		s.untangle(r, k)
		for !s.net.fits(r.tours[k], share) {
			if len(r.tours[k]) < 2 {
				return false
			}
			s.dropWorst(r, k)
			s.untangle(r, k)
		}
	}
	return true
}

// share is what tour k is expected to receive: everything when there is one tour, else what it received last.
func (s *search) share(k int, r *route) float64 {
	if len(r.tours) == 1 || k >= len(s.curShare) {
		return s.all
	}
	return s.curShare[k]
}

// untangle improves the order of a short tour.
func (s *search) untangle(r *route, k int) {
	const short = 400
	if n := len(r.tours[k]); n >= 4 && n <= short {
		r.tours[k] = s.net.arrange(r.tours[k], false, 0, s.rng)
	}
}

// dropWorst removes the anchor with the best ratio of detour saved to packets uploaded there.
func (s *search) dropWorst(r *route, k int) {
	t, depot, turn := r.tours[k], s.net.depot(), s.net.turnCost()
	worst, ratio := 0, -1.0
	for i := range t {
		before, after := neighboursOf(t, depot, i)
		saved := s.net.leg(before, &t[i]) + s.net.leg(&t[i], after) - s.net.leg(before, after) + turn
		if q := saved / (t[i].use + s.target) * (0.7 + 0.6*s.rng.Float64()); q > ratio {
			worst, ratio = i, q
		}
	}
	r.tours[k] = slices.Delete(t, worst, worst+1)
}
