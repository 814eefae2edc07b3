package sim

// steady finds rounds that are sure to be equal and books them at once: when nothing is random and a round leaves the
// network in the state in which it found it, all further rounds are equal until a battery ends.
type steady struct {
	whole   bool            // every weight is whole, so that each round makes the same packets
	print   uint64          // fingerprint of the state at the start of the round
	spent   [][states]int64 // by each node up to the start of the round
	ages    ages            // at the start of the round
	counted [5]int64        // at the start of the round: see counters
}

func newSteady(r *run) steady {
	s := steady{whole: true, spent: make([][states]int64, len(r.nodes))}
	for i := range r.in.Sensors {
		w := r.in.Sensors[i].Weight
		s.whole = s.whole && w == float64(int64(w))
	}
	return s
}

// counters are the totals that grow by the same amount in equal rounds; the last one must not grow at all.
func (r *run) counters() [5]*int64 {
	return [5]*int64{&r.res.Made, &r.res.Delivered, &r.res.Transmitted, &r.res.Buried, &r.res.Overflow}
}

func (s *steady) open(r *run) {
	if !s.whole {
		return
	}
	s.print = r.fingerprint()
	for i := range r.nodes {
		s.spent[i] = r.nodes[i].battery.spent
	}
	s.ages = r.ages
	for k, c := range r.counters() {
		s.counted[k] = *c
	}
}

func (s *steady) close(r *run) {
	if s.whole && !r.drawn && !r.news && r.res.Overflow == s.counted[4] && s.print == r.fingerprint() {
		s.skip(r)
	}
}

// fingerprint is a hash of all that decides what happens next, batteries apart: packets held and their ages,
// what is under way, and the time that visits have saved up.
func (r *run) fingerprint() uint64 {
	all := uint64(0)
	for i := range r.nodes {
		n := &r.nodes[i]
		h := mix(uint64(i), uint64(n.held.size), uint64(n.tries))
		if n.busy {
			h = mix(h, 1, 0)
		}
		for k := range n.held.size {
			p := n.held.ring[(n.held.head+k)%len(n.held.ring)]
			h = mix(h, uint64(p.made), uint64(r.round-int(p.round)))
		}
		all += h
	}
	for at, e := range r.events.All() {
		all += mix(uint64(at), uint64(e.kind), uint64(e.index))
	}
	for i := range r.visits {
		all += mix(uint64(i), uint64(r.visits[i].overtime), 7)
	}
	return all
}

// mix is a hash of three words (the finaliser of MurmurHash3 after a linear step).
func mix(a, b, c uint64) uint64 {
	h := a*0x9e3779b97f4a7c15 + b*0xc2b2ae3d27d4eb4f + c*0x165667b19e3779f9
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// skip books rounds equal to the last one, up to the one before the first battery ends.
func (s *steady) skip(r *run) {
	rounds := int64(r.opt.Rounds - r.round)
	for i := range r.nodes {
		n := &r.nodes[i]
		if cost := n.battery.total() - sum(s.spent[i]); cost > 0 && !n.dead {
			rounds = min(rounds, n.battery.left/cost-1)
		}
	}
	if rounds <= 0 {
		return
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		for k := range n.battery.spent {
			cost := n.battery.spent[k] - s.spent[i][k]
			n.battery.spent[k] += rounds * cost
			n.battery.left -= rounds * cost
		}
		for k := range n.held.size {
			n.held.ring[(n.held.head+k)%len(n.held.ring)].round += int32(rounds)
		}
	}
	for b := range r.ages.count {
		r.ages.count[b] += rounds * (r.ages.count[b] - s.ages.count[b])
	}
	r.ages.total += rounds * (r.ages.total - s.ages.total)
	for k, c := range r.counters() {
		*c += rounds * (*c - s.counted[k])
	}
	r.res.Steady += int(rounds)
	r.round += int(rounds)
}
