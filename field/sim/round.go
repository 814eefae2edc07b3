package sim

import "millrace.dev/field"

// event is something that happens at a node or, for visits, at a stop.
type event struct {
	kind  kind
	index int32 // node or visit
}

type kind uint8

const (
	evMake   kind = iota // a sensor makes a packet
	evSent               // a transmission to another node ends
	evReady              // a node may transmit again
	evArrive             // a vehicle arrives at a stop
	evUpload             // a transmission to a vehicle ends
)

// simulateRound runs one round, and books as many further ones as are sure to be equal.
func (r *run) simulateRound() {
	r.steady.open(r)
	r.drawn, r.news, r.clock = false, false, 0
	for i := range r.nodes {
		if n := &r.nodes[i]; r.makes(i) && !n.dead {
			n.made = 0
			r.scheduleMake(i)
		}
	}
	for i := range r.visits {
		r.visits[i].turn = 0
		r.events.Add(r.visits[i].arrive, event{evArrive, int32(i)})
	}
	for r.events.Len() > 0 && r.events.First() < r.length {
		at, e := r.events.Take()
		r.clock = at
		r.handle(e)
	}
	r.clock = r.length
	r.settle()
	r.events.Shift(-r.length) // what is still under way
	if r.news {
		r.watch()
	}
	r.round++
	r.clock = 0
	r.steady.close(r)
}

func (r *run) makes(i int) bool {
	return r.plan.Parent[i] != field.NoRoute && r.in.Sensors[i].Weight > 0
}

// due is how many packets sensor i makes in this round: the weight, with fractions carried from round to round.
func (r *run) due(i int) int {
	w := r.in.Sensors[i].Weight
	return int(w*float64(r.round+1)) - int(w*float64(r.round))
}

// scheduleMake plans the next packet of sensor i in this round, if one is due.
func (r *run) scheduleMake(i int) {
	n, due := &r.nodes[i], r.due(i)
	if n.made < due {
		at := (float64(n.made) + n.offset) / float64(due)
		r.events.Add(int64(at*float64(r.length)), event{evMake, int32(i)})
	}
}

func (r *run) handle(e event) {
	switch e.kind {
	case evMake:
		n := &r.nodes[e.index]
		if n.dead {
			return
		}
		n.made++
		r.res.Made++
		r.hold(int(e.index), packet{r.clock, int32(r.round)})
		r.scheduleMake(int(e.index))
	case evSent:
		r.sent(int(e.index))
	case evReady:
		r.nodes[e.index].busy = false
		r.send(int(e.index))
	case evArrive:
		r.startUpload(int(e.index))
	case evUpload:
		r.uploaded(int(e.index))
	}
}

// hold puts a packet into node i's buffer and starts sending when the node relays.
func (r *run) hold(i int, p packet) {
	n := &r.nodes[i]
	if r.opt.Buffer > 0 && n.held.size >= r.opt.Buffer {
		n.overflow++
		r.res.Overflow++
		if r.opt.Policy == DropNewest {
			return
		}
		n.held.pop()
		n.tries = 0
	}
	n.held.push(p)
	r.send(i)
}

// send starts the transmission of the packet at the head to the parent.
func (r *run) send(i int) {
	n := &r.nodes[i]
	if n.busy || n.dead || n.held.size == 0 || r.plan.Parent[i] < 0 {
		return
	}
	n.busy = true
	if r.transmit(i) {
		r.events.Add(r.clock+r.air, event{evSent, int32(i)})
	}
}

// transmit books one attempt of node i; false means that the node died of it.
func (r *run) transmit(i int) bool {
	n := &r.nodes[i]
	r.res.Transmitted++
	n.awake += r.air
	if !n.battery.pay(Transmit, n.txCost) {
		r.die(i)
		return false
	}
	return true
}

// fails draws whether the attempt of node i fails.
func (r *run) fails(i int) bool {
	p := r.nodes[i].failure
	if p <= 0 {
		return false
	}
	r.drawn = true
	return r.random.Float64() < p
}

// sent ends the transmission of node i to its parent.
func (r *run) sent(i int) {
	n := &r.nodes[i]
	if n.dead {
		return
	}
	parent := int(r.plan.Parent[i])
	switch to := &r.nodes[parent]; {
	case r.fails(i):
		if n.tries++; n.tries > r.opt.Retries {
			n.held.pop()
			n.tries = 0
			r.res.Lost++
		}
	case to.dead:
		n.held.pop()
		n.tries = 0
		r.res.Buried++
	default:
		p := n.held.pop()
		n.tries = 0
		to.awake += r.air
		if to.battery.pay(Receive, r.rxCost) {
			r.hold(parent, p)
		} else {
			r.res.Buried++
			r.die(parent)
		}
	}
	if r.pause > 0 {
		r.events.Add(r.clock+r.pause, event{evReady, int32(i)})
		return
	}
	n.busy = false
	r.send(i)
}

// startUpload starts the next transmission of a visit, if time and packets are left.
func (r *run) startUpload(k int) {
	v := &r.visits[k]
	uploaders := r.plan.Stops[v.stop].Uploaders
	for v.turn < len(uploaders) {
		i := int(uploaders[v.turn])
		if n := &r.nodes[i]; n.dead || n.held.size == 0 {
			v.turn++
			continue
		}
		if r.clock+r.upload > v.leave+v.overtime+r.slack() {
			v.overtime = min(max(v.leave+v.overtime-r.clock, 0), r.upload)
			if v.overtime <= r.slack() {
				v.overtime = 0
			}
			return
		}
		if r.transmit(i) {
			r.events.Add(r.clock+r.upload, event{evUpload, int32(k)})
			return
		}
	}
	v.overtime = 0
}

// slack allows for the rounding of times to nanoseconds.
func (r *run) slack() int64 { return r.upload / 1000 }

// uploaded ends a transmission to the vehicle.
func (r *run) uploaded(k int) {
	v := &r.visits[k]
	i := int(r.plan.Stops[v.stop].Uploaders[v.turn])
	n := &r.nodes[i]
	if !n.dead && n.held.size > 0 {
		if r.fails(i) {
			if n.tries++; n.tries > r.opt.Retries {
				n.held.pop()
				n.tries = 0
				r.res.Lost++
			}
		} else {
			p := n.held.pop()
			n.tries = 0
			r.res.Delivered++
			r.ages.add(float64(int64(r.round-int(p.round))*r.length+r.clock-p.made)/1e9, 1)
		}
	}
	r.startUpload(k)
}

// settle books the time in which radios had nothing to do.
func (r *run) settle() {
	idle, sleep := nanowatts(r.in.Energy.Idle), nanowatts(r.in.Energy.Sleep)
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.dead {
			continue
		}
		rest := max(r.length-n.awake, 0)
		listening := int64(r.opt.Listen * float64(rest))
		n.awake = 0
		if !n.battery.pay(Idle, nanojoules(idle, listening)) || !n.battery.pay(Sleep, nanojoules(sleep, rest-listening)) {
			r.die(i)
		}
	}
}

func nanowatts(watts float64) int64 { return quanta(watts) }

// die buries node i and the packets that it holds.
func (r *run) die(i int) {
	n := &r.nodes[i]
	n.dead, n.death, r.news = true, r.now(), true
	r.res.Dead++
	r.res.Buried += int64(n.held.size)
	n.held = buffer{}
	if r.plan.Parent[i] == field.NoRoute {
		return
	}
	if r.deaths++; r.res.FirstDeath == nil {
		at := n.death
		r.res.FirstDeath, r.res.First, r.res.Jain = &at, r.in.Sensors[i].ID, r.jain()
	}
	if r.res.TenPercent == nil && r.deaths*10 >= r.served {
		at := n.death
		r.res.TenPercent = &at
	}
}

// watch notes, at the end of a round, when a living sensor that makes packets has no way over living ones to any stop.
func (r *run) watch() {
	if r.res.Partition != nil {
		return
	}
	reached := make([]bool, len(r.nodes))
	var front []int32
	for i := range r.nodes {
		if !r.nodes[i].dead && r.hearsStop(i) {
			reached[i] = true
			front = append(front, int32(i))
		}
	}
	for len(front) > 0 {
		u := front[len(front)-1]
		front = front[:len(front)-1]
		for _, v := range r.graph.Neighbors(int(u)) {
			if !reached[v] && !r.nodes[v].dead {
				reached[v] = true
				front = append(front, v)
			}
		}
	}
	for i := range r.nodes {
		if r.makes(i) && !r.nodes[i].dead && !reached[i] {
			at := r.now()
			r.res.Partition = &at
			return
		}
	}
}

// hearsStop tells whether node i is near enough to some stop to upload there; shields are not considered.
func (r *run) hearsStop(i int) bool {
	if r.plan.Parent[i] == field.ToSink {
		return true
	}
	for s := range r.plan.Stops {
		if r.plan.Stops[s].Pos.Dist(r.in.Sensors[i].Pos) <= r.in.Reach() {
			return true
		}
	}
	return false
}
