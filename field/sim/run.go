package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"millrace.dev/field"
	"millrace.dev/field/internal/events"
	"millrace.dev/field/mission"
)

// node is a sensor at work.
type node struct {
	battery  battery
	held     buffer
	awake    int64 // nanoseconds of this round spent sending or receiving
	busy     bool  // a transmission to another node is under way, or the duty cycle forbids the next one
	tries    int   // of the packet at the head of held
	dead     bool
	death    float64
	overflow int64
	txCost   int64   // nanojoules to send one packet once
	failure  float64 // probability that an attempt fails
	offset   float64 // of its first packet in a round, in parts of the distance between two
	made     int     // packets in this round
}

// visit is a stay of a vehicle at a stop.
type visit struct {
	stop     int
	arrive   int64
	leave    int64
	turn     int   // index into the stop's uploaders of the one that sends
	overtime int64 // may be used beyond leave: what an earlier stay could not, less than a packet
}

// run is the state of a simulation.
type run struct {
	in     *field.Instance
	plan   *field.Plan
	opt    Options
	length int64 // of a round, nanoseconds
	air    int64 // of a packet, nanoseconds
	pause  int64 // after a packet, for the duty cycle
	upload int64 // from packet to packet of an upload, nanoseconds
	rxCost int64
	nodes  []node
	visits []visit
	events events.Queue[int64, event] // times in nanoseconds since the start of the round
	random *rand.Rand
	drawn  bool // something was random in this round
	round  int
	clock  int64
	ages   ages
	graph  *field.Graph
	served int
	deaths int // of served sensors
	news   bool
	res    Result
	steady steady
}

// maxRound bounds the length of a round in nanoseconds.
const maxRound = 1 << 60

// Run simulates a mission that mission.Read or field.Solve gave. The error is an *OptionError, one that names what
// cannot be simulated, or the context's.
func Run(ctx context.Context, m *mission.Mission, opt Options) (*Result, error) {
	opt, err := opt.settle()
	if err != nil {
		return nil, err
	}
	r, err := newRun(m, opt)
	if err != nil {
		return nil, err
	}
	for r.round < opt.Rounds && !r.seenEnough() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.simulateRound()
		if opt.Progress != nil {
			opt.Progress(r.round)
		}
	}
	return r.result(), r.balance()
}

func newRun(m *mission.Mission, opt Options) (*run, error) {
	in, plan := m.Instance, m.Plan
	e := in.Energy
	length := in.Sink.Deadline.Nanoseconds()
	if length <= 0 || length > maxRound {
		return nil, fmt.Errorf("a round of %v cannot be simulated", in.Sink.Deadline)
	}
	if e.PacketBits <= 0 || !(e.BitRate > 0) {
		return nil, errors.New("the energy model needs the bits of a packet and a bit rate")
	}
	r := &run{in: in, plan: plan, opt: opt, length: length, random: rand.New(rand.NewPCG(opt.Seed, 0x73696d)),
		air: int64(math.Ceil(float64(e.PacketBits) / e.BitRate * 1e9)), rxCost: quanta(e.Rx()), nodes: make([]node, len(in.Sensors))}
	if e.DutyCycle > 0 && e.DutyCycle < 1 {
		r.pause = int64(float64(r.air) * (1/e.DutyCycle - 1))
	}
	if in.Sink.Rate > 0 {
		r.upload = int64(math.Round(1e9 / in.Sink.Rate))
	}
	var err error
	if r.graph, err = field.NewGraph(in); err != nil {
		return nil, err
	}
	for i := range r.nodes {
		if err := r.prepare(i); err != nil {
			return nil, err
		}
	}
	for i := range plan.Tours {
		visits, err := m.Visits(i)
		if err != nil {
			return nil, err
		}
		for _, v := range visits {
			if v.Stop >= 0 {
				r.visits = append(r.visits, visit{stop: v.Stop, arrive: int64(math.Round(v.Arrive * 1e9)), leave: int64(math.Round(v.Leave * 1e9))})
			}
		}
	}
	r.steady = newSteady(r)
	return r, nil
}

// quanta is an energy in nanojoules.
func quanta(joules float64) int64 { return int64(math.Min(math.Round(joules*1e9), maxEnergy)) }

func (r *run) prepare(i int) error {
	n, s, parent := &r.nodes[i], &r.in.Sensors[i], r.plan.Parent[i]
	n.battery.left = quanta(s.Energy)
	n.dead = n.battery.left == 0
	n.offset = r.random.Float64()
	if parent == field.NoRoute {
		return nil
	}
	r.served++
	if s.Weight > 1e6 {
		return fmt.Errorf("sensor %q makes %g packets a round: more than a million are not simulated one by one", s.ID, s.Weight)
	}
	etx, to := 1.0, field.Point{}
	if parent >= 0 {
		etx, to = r.graph.ETX(i, int(parent)), r.in.Sensors[parent].Pos
	} else {
		to = r.plan.Stops[r.plan.Stop[i]].Pos
	}
	if !(etx >= 1) {
		return fmt.Errorf("the plan sends from %q to %q, but there is no link", s.ID, r.in.Sensors[parent].ID)
	}
	n.txCost = quanta(r.in.Energy.Tx(s.Pos.Dist(to)))
	n.failure = 1 - (1-r.opt.Loss)/etx
	return nil
}

// now is the time in rounds.
func (r *run) now() float64 { return float64(r.round) + float64(r.clock)/float64(r.length) }

func (r *run) seenEnough() bool {
	switch r.opt.Until {
	case FirstDeath:
		return r.res.FirstDeath != nil
	case TenPercent:
		return r.res.TenPercent != nil
	case Partition:
		return r.res.Partition != nil || r.deaths == r.served
	}
	return false
}

// balance verifies the books.
func (r *run) balance() error {
	res := &r.res
	if res.Made != res.Delivered+res.Held+res.Overflow+res.Lost+res.Buried {
		return fmt.Errorf("books of packets do not balance: %d made, %d delivered, %d held, %d overflowed, %d lost, %d buried",
			res.Made, res.Delivered, res.Held, res.Overflow, res.Lost, res.Buried)
	}
	for i := range r.nodes {
		b := &r.nodes[i].battery
		if want := quanta(r.in.Sensors[i].Energy); b.total()+b.left != want {
			return fmt.Errorf("books of sensor %q do not balance: %d nJ spent and %d left of %d", r.in.Sensors[i].ID, b.total(), b.left, want)
		}
	}
	return nil
}
