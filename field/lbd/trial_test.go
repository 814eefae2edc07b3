package lbd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"millrace.dev/field"
)

// The time of a tour, added up from its parts, is within the deadline: driving, a turn at each arrival, the upload of every packet and the
// launch. Nearly all packets come home: a wave during the tour may move the core to where the sink has been already.
func TestTourKeepsTheDeadline(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		for name, change := range map[string]func(*field.Instance){
			"free":    func(*field.Instance) {},
			"depot":   func(in *field.Instance) { in.Depot, in.DepotAlt = &field.Point{X: -60, Y: 40}, 0 },
			"slow":    func(in *field.Instance) { in.Sink.Rate = 0.6 },
			"turns":   func(in *field.Instance) { in.Sink.Turn = 20 * time.Second },
			"hilly":   func(in *field.Instance) { in.Sink.Climb = 1; climbing(in) },
			"deaths":  func(in *field.Instance) { in.Depot = &field.Point{X: 125, Y: 125} },
			"slowest": func(in *field.Instance) { in.Sink.Rate = 0.45 }, // no time for stops beside the root
		} {
			in := sample(t, []string{"square", "c", "ring"}[seed%3], 150, 200, "uniform", seed)
			in.Sink = field.Sink{Speed: 5, Deadline: 6 * time.Minute, Rate: 20, Turn: 3 * time.Second, Launch: 12 * time.Second}
			for i := range in.Sensors {
				in.Sensors[i].Energy = 100
			}
			change(in)
			deaths := 0.0
			if name == "deaths" {
				deaths = 0.15
			}
			res, err := Run(context.Background(), in, Trial{Options: Options{Seed: seed, Loss: 0.05}, Epochs: 2, Deaths: deaths})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			tour, sink := &res.Tour, &in.Sink
			parts := tour.Length/sink.Speed + float64(tour.Arrivals)*sink.Turn.Seconds() + float64(tour.Packets)/sink.Rate + sink.Launch.Seconds()
			if parts > tour.Time.Seconds()+0.01 || tour.Time > sink.Deadline || tour.Stops == 0 {
				t.Errorf("%s, seed %d: parts take %.1f s, the tour %v of %v: %+v", name, seed, parts, tour.Time, sink.Deadline, tour)
			}
			if deaths == 0 && tour.Packets < res.Made*8/10 || tour.Packets > res.Made {
				t.Errorf("%s, seed %d: %d of %d packets, %+v", name, seed, tour.Packets, res.Made, res)
			}
			t.Logf("%s, seed %d: %d stops beside the root, %d of %d packets in %v", name, seed, res.Core, tour.Packets, res.Made, tour.Time)
		}
	}
}

func climbing(in *field.Instance) {
	for i := range in.Sensors {
		in.Sensors[i].Alt = float64(i % 5)
	}
}

// A network in which something is too much for the deadline keeps it all the same: what does not fit stays in the field.
func TestLateUploadsStay(t *testing.T) {
	in := sample(t, "square", 100, 150, "uniform", 1)
	in.Sink = field.Sink{Speed: 5, Deadline: 100 * time.Second, Rate: 0.25, Launch: 4 * time.Second}
	w := network(t, in, Options{Seed: 1, Epoch: 200_000})
	w.run(t, 1)
	for i := range in.Sensors {
		w.Make(i, 1)
	}
	if err := w.Run(w.Now() + 60*w.Slot()); err != nil {
		t.Fatal(err)
	}
	tour, err := w.Tour(w.Root())
	if err != nil || tour.Time > in.Sink.Deadline || tour.Packets == 0 || tour.Packets > 24 {
		t.Errorf("%+v, %v", tour, err)
	}
	held := uint32(0)
	for i := range in.Sensors {
		held += w.View(i).Held
	}
	if uint64(held)+tour.Packets != 100 {
		t.Errorf("%d packets in the field and %d collected of 100", held, tour.Packets)
	}
}

// Batteries of the instance count: a trial tells the nodes what is left, and those that run out die.
func TestBatteriesCount(t *testing.T) {
	in := sample(t, "square", 80, 150, "uniform", 2)
	w := network(t, in, Options{Seed: 2})
	w.run(t, 1)
	costs, at := 0.0, -1
	for i := range in.Sensors {
		if c := w.roundEnergy(i); c > costs {
			costs, at = c, i
		}
	}
	for i := range in.Sensors {
		in.Sensors[i].Energy = 100 * costs
	}
	in.Sensors[at].Energy = 10 * costs
	before := w.View(at).Load
	b := newBatteries(w)
	for range 4 {
		w.run(t, 1)
		if died := b.payRound(w); died > 0 {
			t.Fatalf("%d died", died)
		}
	}
	if v := w.View(at); v.Load >= before && !v.Core {
		t.Errorf("with a tenth of the others' energy sensor %d still sends %d packets, %d before", at, v.Load, before)
	}
	b.left[at] = 1e-12
	if died := b.payRound(w); died != 1 || w.Alive(at) {
		t.Errorf("%d died, sensor %d lives: %v", died, at, w.Alive(at))
	}
	for i := range in.Sensors {
		in.Sensors[i].Energy = 3 * costs
	}
	res, err := Run(context.Background(), in, Trial{Options: Options{Seed: 2}, Epochs: 12})
	if err != nil || res.Exhausted == 0 || res.Exhausted+res.Alive != 80 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestUnsupportedNetworks(t *testing.T) {
	for want, change := range map[string]func(*field.Instance){
		"no-fly zone \"wood\"": func(in *field.Instance) { in.Obstacles = []field.Obstacle{{Name: "wood", NoFly: true}} },
		"one vehicle, not 2":   func(in *field.Instance) { in.Sinks = 2 },
		"makes 0.5 packets":    func(in *field.Instance) { in.Sensors[1].Weight = 0.5 },
		"listens to all":       func(in *field.Instance) { in.Upload = field.Buffer },
		"more than its":        func(in *field.Instance) { in.Sensors[1].Weight = 1e12 },
		"more than the deadline": func(in *field.Instance) {
			in.Depot, in.Sink.Deadline = &field.Point{X: -1000}, time.Minute
		},
	} {
		in := line(3)
		change(in)
		_, err := Run(context.Background(), in, Trial{Epochs: 1})
		var no *UnsupportedError
		if !errors.As(err, &no) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
