package sim

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/mission"
	"millrace.dev/field/survey"
)

// plan is a mission for a made-up field.
func plan(t testing.TB, shape string, n int, seed uint64, change func(*field.Instance)) *mission.Mission {
	t.Helper()
	sensors, err := survey.Generate(survey.Field{Shape: shape, N: n, Side: 200, Weights: "uniform", Energy: 10, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	in := &field.Instance{Sensors: sensors, Range: 40, Energy: field.FirstOrder(), Sink: field.Sink{Speed: 4, Deadline: 90 * time.Second, Rate: 5, Turn: time.Second}}
	if change != nil {
		change(in)
	}
	p, err := field.Solve(context.Background(), in, field.Options{Seed: seed, Effort: -1, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	return &mission.Mission{Instance: in, Plan: p, Vehicle: mission.Copter}
}

func simulate(t testing.TB, m *mission.Mission, opt Options) *Result {
	t.Helper()
	res, err := Run(context.Background(), m, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The simulation and the formula agree on when and where the first battery ends.
func TestFirstDeathAsComputed(t *testing.T) {
	for shape, change := range map[string]func(*field.Instance){
		"square": nil,
		"c":      func(in *field.Instance) { in.Energy = field.CC2420() },
		"h":      func(in *field.Instance) { in.Upload, in.Sink.Deadline = field.Buffer, 4*time.Minute },
		"ring": func(in *field.Instance) {
			for i := range in.Sensors {
				in.Sensors[i].Weight = float64(i % 4)
				in.Sensors[i].Energy = 5 + float64(i%7)
			}
		},
	} {
		m := plan(t, shape, 80, 5, change)
		want := field.Estimate(m.Instance, m.Plan)
		got := simulate(t, m, Options{Until: FirstDeath})
		if got.FirstDeath == nil || math.Abs(*got.FirstDeath-want.FirstDeath) > 0.02*want.FirstDeath {
			t.Errorf("%s: first death after %v rounds, computed %.1f", shape, got.FirstDeath, want.FirstDeath)
			continue
		}
		if math.Abs(got.Jain-want.Jain) > 0.02 {
			t.Errorf("%s: Jain's index %.3f, computed %.3f", shape, got.Jain, want.Jain)
		}
		if got.Lost != 0 || got.Overflow != 0 || got.Ratio < 0.999 { // the dead node takes some along
			t.Errorf("%s: delivered %v", shape, got.Ratio)
		}
		t.Logf("%s: %.2f rounds, computed %.2f", shape, *got.FirstDeath, want.FirstDeath)
	}
}

// Booking steady rounds at once gives what simulating each of them gives.
func TestSteadyRoundsAreExact(t *testing.T) {
	m := plan(t, "h", 60, 2, func(in *field.Instance) { in.Energy = field.CC2420() })
	quick := simulate(t, m, Options{Until: TenPercent, Listen: 0.001})
	r, err := newRun(m, mustSettle(Options{Until: TenPercent, Listen: 0.001}))
	if err != nil {
		t.Fatal(err)
	}
	r.steady.whole = false // never skips
	for !r.seenEnough() {
		r.simulateRound()
	}
	slow := r.result()
	if quick.Steady < 10 || slow.Steady != 0 {
		t.Fatalf("%d and %d steady rounds", quick.Steady, slow.Steady)
	}
	quick.Steady = 0
	if !reflect.DeepEqual(quick, slow) {
		t.Fatalf("\nquick %+v\n slow %+v", quick, slow)
	}
}

func mustSettle(o Options) Options {
	o, err := o.settle()
	if err != nil {
		panic(err)
	}
	return o
}

// Every nanojoule is booked: what the states spent and what is left is what was there.
func TestEnergyAddsUp(t *testing.T) {
	m := plan(t, "ring", 100, 9, func(in *field.Instance) { in.Energy = field.CC2420() })
	for _, opt := range []Options{{}, {Loss: 0.2, Seed: 4, Rounds: 300}, {Listen: 0.01}, {Buffer: 3, Rounds: 200}, {Loss: 0.6, Retries: -1, Rounds: 200}} {
		res := simulate(t, m, opt)
		total := int64(0)
		for i, n := range res.Nodes {
			battery := int64(math.Round(m.Instance.Sensors[i].Energy * 1e9))
			if n.Energy.Spent()+n.Energy.Left != battery {
				t.Fatalf("%+v: node %s: %+v of %d", opt, n.ID, n.Energy, battery)
			}
			total += battery
		}
		if res.Energy.Spent()+res.Energy.Left != total {
			t.Fatalf("%+v: %+v of %d", opt, res.Energy, total)
		}
		if (res.Energy.Idle > 0) != (opt.Listen > 0) || res.Energy.Transmit == 0 || res.Energy.Receive == 0 || res.Energy.Sleep == 0 {
			t.Errorf("%+v: %+v", opt, res.Energy)
		}
	}
}

func TestLossCostsEnergyAndPackets(t *testing.T) {
	m := plan(t, "square", 100, 1, func(in *field.Instance) { in.Sink.Rate = 0 })
	clean := simulate(t, m, Options{Rounds: 50, Until: AllRounds})
	noisy := simulate(t, m, Options{Rounds: 50, Until: AllRounds, Loss: 0.25})
	if want := float64(clean.Transmitted) / 0.75; math.Abs(float64(noisy.Transmitted)-want) > 0.02*want {
		t.Errorf("%d attempts with a loss of 1/4, %d without", noisy.Transmitted, clean.Transmitted)
	}
	if noisy.Lost != 0 || noisy.Energy.Transmit <= clean.Energy.Transmit {
		t.Errorf("lost %d, %+v", noisy.Lost, noisy.Energy)
	}
	rough := simulate(t, m, Options{Rounds: 50, Until: AllRounds, Loss: 0.25, Retries: -1})
	if rough.Lost == 0 || rough.Ratio > 0.75 || rough.Ratio < 0.05 {
		t.Errorf("without retries %v delivered, %d lost", rough.Ratio, rough.Lost)
	}
	again := simulate(t, m, Options{Rounds: 50, Until: AllRounds, Loss: 0.25})
	if !reflect.DeepEqual(again, noisy) {
		t.Error("the same seed gives another result")
	}
}

func TestETXCostsAttempts(t *testing.T) {
	m := plan(t, "square", 60, 1, func(in *field.Instance) {
		in.Links = []field.Link{}
		for i := range in.Sensors {
			for j := range i {
				if d := in.Sensors[i].Pos.Dist(in.Sensors[j].Pos); d < 40 {
					in.Links = append(in.Links, field.Link{A: i, B: j, ETX: 1 + d/40})
				}
			}
		}
	})
	res := simulate(t, m, Options{Rounds: 200, Until: AllRounds})
	sum := 0.0
	for _, load := range m.Plan.Load {
		sum += load
	}
	if got := float64(res.Transmitted) / res.Rounds; math.Abs(got-sum) > 0.02*sum {
		t.Errorf("%.2f attempts a round, the plan says %.2f", got, sum)
	}
}

func TestFullBuffers(t *testing.T) {
	m := plan(t, "square", 100, 1, nil)
	old := simulate(t, m, Options{Rounds: 30, Until: AllRounds, Buffer: 2})
	fresh := simulate(t, m, Options{Rounds: 30, Until: AllRounds, Buffer: 2, Policy: DropNewest})
	if old.Overflow == 0 || fresh.Overflow == 0 || old.Ratio >= 1 {
		t.Fatalf("overflow %d and %d", old.Overflow, fresh.Overflow)
	}
	if old.AgeP50 >= fresh.AgeP50 {
		t.Errorf("dropping the oldest leaves packets of %.1f s, dropping the newest of %.1f s", old.AgeP50, fresh.AgeP50)
	}
	sum := int64(0)
	for _, n := range old.Nodes {
		sum += n.Overflow
	}
	if sum != old.Overflow {
		t.Errorf("nodes count %d overflows of %d", sum, old.Overflow)
	}
}

// Packets wait for the vehicle: half of them less than half a round or so, all less than two.
func TestAges(t *testing.T) {
	m := plan(t, "square", 100, 1, nil)
	res := simulate(t, m, Options{Rounds: 40, Until: AllRounds})
	round := m.Instance.Sink.Deadline.Seconds()
	if res.AgeP50 < 0.3*round || res.AgeP50 > 0.7*round || res.AgeP99 < res.AgeP50 || res.AgeP99 > 1.1*round {
		t.Errorf("ages of %.1f s and %.1f s in rounds of %.0f s", res.AgeP50, res.AgeP99, round)
	}
}

func TestDeathsFollowInOrder(t *testing.T) {
	m := plan(t, "h", 100, 3, nil)
	res := simulate(t, m, Options{})
	if res.FirstDeath == nil || res.Partition == nil || *res.Partition < *res.FirstDeath {
		t.Fatalf("first %v, partition %v", res.FirstDeath, res.Partition)
	}
	all := simulate(t, m, Options{Until: AllRounds, Rounds: 1_000_000})
	if all.TenPercent == nil || *all.TenPercent < *all.FirstDeath || *all.Partition != *res.Partition || all.Dead < 90 {
		t.Errorf("ten percent %v, dead %d", all.TenPercent, all.Dead)
	}
	if len(all.HotSpots) != 10 || all.HotSpots[0].Energy.Spent() < all.HotSpots[9].Energy.Spent() {
		t.Errorf("hot spots %+v", all.HotSpots)
	}
}

func TestDutyCycleDelays(t *testing.T) {
	m := plan(t, "square", 50, 1, func(in *field.Instance) { in.Energy = field.LoRa(9); in.Sink.Deadline = 30 * time.Minute })
	slow := simulate(t, m, Options{Rounds: 5, Until: AllRounds})
	m.Instance.Energy.DutyCycle = 0
	fast := simulate(t, m, Options{Rounds: 5, Until: AllRounds})
	if slow.Transmitted == 0 || slow.Delivered > fast.Delivered || slow.AgeP50 < fast.AgeP50 {
		t.Errorf("with a duty cycle %d delivered, ages %.1f s; without %d, %.1f s", slow.Delivered, slow.AgeP50, fast.Delivered, fast.AgeP50)
	}
}

// Events cost no memory once buffers have grown.
func TestRoundsAllocateNothing(t *testing.T) {
	m := plan(t, "square", 100, 1, nil)
	r, err := newRun(m, mustSettle(Options{Loss: 0.1}))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.simulateRound()
	}
	if n := testing.AllocsPerRun(20, func() { r.simulateRound() }); n > 1 {
		t.Errorf("%v allocations a round", n)
	}
}

func TestRefusals(t *testing.T) {
	m := plan(t, "square", 20, 1, nil)
	for name, opt := range map[string]Options{"rounds": {Rounds: -1}, "until": {Until: "noon"}, "policy": {Policy: "random"}, "loss": {Loss: 1},
		"listen": {Listen: 2}, "buffer": {Buffer: -1}} {
		var fault *OptionError
		if _, err := Run(context.Background(), m, opt); !errors.As(err, &fault) || fault.Option != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, m, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	m.Instance.Sink.Deadline = 0
	if _, err := Run(context.Background(), m, Options{}); err == nil {
		t.Error("rounds without length were accepted")
	}
}
