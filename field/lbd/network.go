package lbd

import (
	"fmt"
	"math"
	"math/rand/v2"

	"millrace.dev/field"
	"millrace.dev/field/internal/events"
	"millrace.dev/field/lbd/node"
)

// Time is in ticks of the simulated clock.
type Time = node.Time

// Options steer a simulation.
type Options struct {
	Seed  uint64
	Loss  float64 // part of frames lost on each link, 0 to below 1
	Delay Time    // longest time of a frame in ticks; 0 means 4
	Epoch Time    // 0 means a round of the sink, but long enough for the network's size
	Start int     // sensor that starts the first wave; with Fixed it stays root
	Fixed bool    // the root stays at Start (a depot) instead of moving to the weighted median
}

// tries is how often a unicast is sent before it is given up.
const tries = 4

// Network is a simulated network.
type Network struct {
	in       *field.Instance
	opt      Options
	slot     Time
	now      Time
	events   events.Queue[Time, event]
	random   *rand.Rand
	stations []station // sensors, then the sink
	sink     *node.Sink
	frames   []frame
	number   uint32 // of the last frame
	handled  int64  // events
	free     []int32
	scratch  [node.MaxSize]byte
	counts   Counts
	loop     *LoopError
	longest  float64 // link, metres
	steepest float64 // link, metres up or down
	touring  bool
	tour     Tour
	place    int  // sensor at which the sink is, or was last
	home     Time // when the sink was back
}

// station is a radio with what it is attached to.
type station struct {
	node   *node.Node // nil for the sink
	pos    field.Point
	dead   bool
	wake   Time    // when the next wake-up is scheduled
	parent node.ID // as last seen
	links  []link
	queue  []node.Message // waiting to be sent
	busy   bool
}

// link is a radio link to another station.
type link struct {
	to   int32
	loss float64
	seen uint32 // number of the last frame heard from there
}

// Counts are numbers of frames sent since the last call of ResetCounts, repetitions included.
type Counts struct {
	Control int64     // HELLO to THRESH and REPAIR
	Data    int64     // UPLOAD and ACK
	Guide   int64     // SINK_BEACON, NEXT_REQ, NEXT_REP
	Kinds   [12]int64 // by node.Kind
	Busiest int64     // control frames of the node that sent most
	byNode  []int64
}

// LoopError is a way that leads back to where it began.
type LoopError struct {
	At  Time
	Way []string // ids of the sensors on it
}

func (e *LoopError) Error() string {
	return fmt.Sprintf("at tick %d the way of %s is a loop: %v", e.At, e.Way[0], e.Way)
}

// New is a network whose nodes are about to be switched on.
func New(in *field.Instance, opt Options) (*Network, error) {
	if err := supported(in); err != nil {
		return nil, err
	}
	if !(opt.Loss >= 0 && opt.Loss < 1) || opt.Start < 0 || opt.Start >= len(in.Sensors) || opt.Delay < 0 || opt.Epoch < 0 {
		return nil, fmt.Errorf("options %+v are out of range", opt)
	}
	if opt.Delay == 0 {
		opt.Delay = 4
	}
	w := &Network{in: in, opt: opt, slot: 2 * tries * opt.Delay, random: rand.New(rand.NewPCG(opt.Seed, 0x6c6264)), stations: make([]station, len(in.Sensors)+1)}
	if err := w.connect(); err != nil {
		return nil, err
	}
	if w.opt.Epoch == 0 {
		w.opt.Epoch = max(w.slot*Time(64+4*len(in.Sensors)), ticks(in.Sink.Deadline.Seconds()))
	}
	w.counts.byNode = make([]int64, len(w.stations))
	for i := range in.Sensors {
		s := &w.stations[i]
		s.parent, s.dead = node.Nobody, in.Sensors[i].Energy == 0
		s.node = node.New(node.Config{ID: node.ID(i), Weight: uint32(in.Sensors[i].Weight), Delay: opt.Delay, Slot: w.slot, Epoch: w.opt.Epoch,
			Budget: w.budget(), Initiator: i == opt.Start, Roam: !opt.Fixed})
	}
	w.stations[len(in.Sensors)].dead = true // until it sets out
	w.stations[len(in.Sensors)].parent = node.Nobody
	w.sink = node.NewSink(node.SinkConfig{Step: w.step(), Rate: in.Sink.Rate * tickSeconds, Slot: w.slot})
	for i := range in.Sensors {
		if !w.stations[i].dead {
			w.events.Add(1+Time(w.random.Int64N(int64(w.slot))), event{kind: evStart, station: int32(i)})
		}
	}
	return w, nil
}

// connect finds the links.
func (w *Network) connect() error {
	g, err := field.NewGraph(w.in)
	if err != nil {
		return err
	}
	for i := range w.in.Sensors {
		s := &w.stations[i]
		s.pos = w.in.Sensors[i].Pos
		for _, v := range g.Neighbors(i) {
			s.links = append(s.links, link{to: v, loss: 1 - (1-w.opt.Loss)/g.ETX(i, int(v))})
			w.longest = max(w.longest, s.pos.Dist(w.in.Sensors[v].Pos))
			w.steepest = max(w.steepest, math.Abs(w.in.Sensors[i].Alt-w.in.Sensors[v].Alt))
		}
	}
	if w.in.Links == nil {
		w.longest = w.in.Range
	}
	return nil
}

// Slot is the time that a unicast with all its repetitions takes at most, in ticks.
func (w *Network) Slot() Time { return w.slot }

// Epoch is the time from wave to wave, in ticks.
func (w *Network) Epoch() Time { return w.opt.Epoch }

// Now is the time in ticks.
func (w *Network) Now() Time { return w.now }

// View shows sensor i's node.
func (w *Network) View(i int) node.View { return w.stations[i].node.View() }

// Alive tells whether sensor i works.
func (w *Network) Alive(i int) bool { return !w.stations[i].dead }

// Kill stops sensor i for good.
func (w *Network) Kill(i int) {
	w.stations[i].dead = true
	w.stations[i].queue = nil
}

// Move puts sensor i somewhere else; what it hears there follows from the radio range.
func (w *Network) Move(i int, to field.Point) {
	s := &w.stations[i]
	for _, l := range s.links {
		other := &w.stations[l.to]
		for k := range other.links {
			if other.links[k].to == int32(i) {
				other.links = append(other.links[:k], other.links[k+1:]...)
				break
			}
		}
	}
	s.pos, s.links = to, nil
	for j := range w.in.Sensors {
		if j != i && to.Dist(w.stations[j].pos) <= w.in.Range {
			s.links = append(s.links, link{to: int32(j), loss: w.opt.Loss})
			w.stations[j].links = append(w.stations[j].links, link{to: int32(i), loss: w.opt.Loss})
		}
	}
}

// Make gives sensor i packets of its own.
func (w *Network) Make(i int, packets uint32) {
	w.stations[i].node.Make(w.now, packets)
	w.after(i)
}

// SetEnergy tells sensor i how much of its battery is left, 0 to 255.
func (w *Network) SetEnergy(i int, level uint8) { w.stations[i].node.SetEnergy(level) }

// Counts are the frames since the last ResetCounts.
func (w *Network) Counts() Counts {
	c := w.counts
	for _, n := range c.byNode[:len(w.in.Sensors)] {
		c.Busiest = max(c.Busiest, n)
	}
	return c
}

// ResetCounts starts counting anew.
func (w *Network) ResetCounts() {
	by := w.counts.byNode
	clear(by)
	w.counts = Counts{byNode: by}
}

// Root is the living root of the newest wave, -1 when there is none.
func (w *Network) Root() int {
	best, wave := -1, node.Wave{}
	for i := range w.in.Sensors {
		v := w.View(i)
		if v.Root && w.Alive(i) && (best < 0 || v.Wave.Seq > wave.Seq || v.Wave.Seq == wave.Seq && v.Wave.Root > wave.Root) {
			best, wave = i, v.Wave
		}
	}
	return best
}

// Astray lists the living sensors that the graph connects with the root but whose way does not lead there.
func (w *Network) Astray() []int {
	root := w.Root()
	var list []int
	if root < 0 {
		for i := range w.in.Sensors {
			if w.Alive(i) {
				list = append(list, i)
			}
		}
		return list
	}
	hops := w.Hops(root)
	for i, h := range hops {
		if h >= 0 && !w.leadsTo(i, root) {
			list = append(list, i)
		}
	}
	return list
}

func (w *Network) leadsTo(i, root int) bool {
	for range len(w.in.Sensors) {
		if i == root {
			return true
		}
		parent := w.View(i).Parent
		if parent == node.Nobody || !w.Alive(int(parent)) || w.stations[i].linkTo(int32(parent)) == nil {
			return false
		}
		i = int(parent)
	}
	return false
}

// Hops counts, for each sensor, the links from a sensor over living ones; -1 where there is no way.
func (w *Network) Hops(from int) []int {
	hops := make([]int, len(w.in.Sensors))
	for i := range hops {
		hops[i] = -1
	}
	if !w.Alive(from) {
		return hops
	}
	hops[from] = 0
	for front := []int{from}; len(front) > 0; front = front[1:] {
		for _, l := range w.stations[front[0]].links {
			if v := int(l.to); v < len(hops) && hops[v] < 0 && w.Alive(v) {
				hops[v] = hops[front[0]] + 1
				front = append(front, v)
			}
		}
	}
	return hops
}

// Diameter is the largest number of hops between two living sensors that are connected.
func (w *Network) Diameter() int {
	most := 0
	for i := range w.in.Sensors {
		for _, h := range w.Hops(i) {
			most = max(most, h)
		}
	}
	return most
}

// MaxLoad is the largest load of a node that is not visited: what the busiest one transmits in a round, and the
// number of nodes in the core beside the root.
func (w *Network) MaxLoad() (load uint32, core int) {
	for i := range w.in.Sensors {
		v := w.View(i)
		switch {
		case !w.Alive(i):
		case !v.Core:
			load = max(load, v.Load)
		default:
			load = max(load, uint32(w.in.Sensors[i].Weight))
			if !v.Root {
				core++
			}
		}
	}
	return load, core
}

// Budget is the number of stops beside the root that the protocol may choose.
func (w *Network) Budget() int { return int(w.budget()) }
