package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"millrace.dev/group"
	"millrace.dev/group/steplog"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if serveWorker(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestHunts kills workers with a short gradient at each aim; the hunt replays what happened.
func TestHunts(t *testing.T) {
	for _, c := range []struct {
		aim, authority string
		workers        int
	}{
		{aimRandom, "majority", 4}, {aimReduce, "service", 4}, {aimToken, "service", 4}, {aimView, "service", 4}, {aimJoin, "service", 4},
		{aimFreeze, "service", 4}, {aimRandom, "service", 2},
	} {
		t.Run(fmt.Sprint(c.aim, c.workers), func(t *testing.T) {
			t.Parallel()
			var kills []kill
			var sum total
			h := hunt{workers: c.workers, kills: 1, elements: 20_000, authority: c.authority, aim: c.aim, seed: 3, tell: func(result any) {
				switch r := result.(type) {
				case kill:
					kills = append(kills, r)
				case total:
					sum = r
				}
			}}
			if err := h.run(); err != nil {
				t.Fatal(err)
			}
			if len(kills) != 1 || sum.Steps == 0 || sum.Samples == 0 {
				t.Errorf("%d kills, %+v", len(kills), sum)
			}
			for _, k := range kills {
				if k.First <= 0 || k.All < k.First || !slices.Contains(phaseNames, k.Phase) {
					t.Errorf("%+v", k)
				}
			}
		})
	}
}

// TestAccount finds samples that were lost, repeated or weighed wrongly.
func TestAccount(t *testing.T) {
	record := func(epoch, weight uint64, ranges ...steplog.Range) steplog.Record {
		return steplog.Record{DataEpoch: epoch, Weight: weight, Parts: []steplog.Part{{Ranges: ranges}}}
	}
	for _, c := range []struct {
		name    string
		records []steplog.Record
		wrong   string // empty: nothing
	}{
		{"in two epochs", []steplog.Record{record(0, 3, steplog.Range{0, 3}), record(0, 1, steplog.Range{3, 4}), record(1, 2, steplog.Range{0, 2})}, ""},
		{"repeated", []steplog.Record{record(0, 3, steplog.Range{0, 3}), record(0, 2, steplog.Range{2, 4})}, "twice"},
		{"lost", []steplog.Record{record(0, 3, steplog.Range{0, 3}), record(1, 2, steplog.Range{2, 4})}, "3 of 4"},
		{"weighed wrongly", []steplog.Record{record(0, 4, steplog.Range{0, 3})}, "weight 4"},
	} {
		_, err := account(c.records, 4)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestReplay tells another run from its own.
func TestReplay(t *testing.T) {
	const elements = window + 77
	records := []steplog.Record{
		{Step: 1, Weight: 5, Algorithm: "shared", Outcome: "apply", Rate: rate, Parts: []steplog.Part{{Samples: 3, Ranges: []steplog.Range{{0, 3}}}, {Samples: 2, Ranges: []steplog.Range{{3, 5}}}}},
		{Step: 2, Weight: 2, Algorithm: "shared", Outcome: "apply", Rate: rate, Parts: []steplog.Part{{Samples: 2, Ranges: []steplog.Range{{5, 7}}}}},
	}
	one, err := replay(elements, records)
	if err != nil {
		t.Fatal(err)
	}
	again, err := replay(elements, records)
	if err != nil || one.hash() != again.hash() {
		t.Errorf("the same run has hashes %x and %x, %v", one.hash(), again.hash(), err)
	}
	records[0].Parts[0].Ranges[0], records[0].Parts[1].Ranges[0] = records[0].Parts[1].Ranges[0], records[0].Parts[0].Ranges[0]
	other, err := replay(elements, records)
	if err != nil || one.hash() == other.hash() {
		t.Errorf("runs with other samples have hashes %x and %x, %v", one.hash(), other.hash(), err)
	}
}

// TestVerify believes logs and survivors only if all fit together.
func TestVerify(t *testing.T) {
	const elements = 3000
	step := func(n uint64, ranges ...steplog.Range) steplog.Record {
		r := steplog.Record{Step: n, Algorithm: "shared", Outcome: "apply", Rate: rate, Elements: elements}
		for i, span := range ranges {
			r.Parts = append(r.Parts, steplog.Part{Member: uint64(i + 1), Samples: span[1] - span[0], Ranges: []steplog.Range{span}})
			r.Weight += span[1] - span[0]
		}
		return r
	}
	records := []steplog.Record{step(1, steplog.Range{0, 3}, steplog.Range{3, 5}), step(2, steplog.Range{5, 7})}
	model, err := replay(elements, records)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(steps []steplog.Record) // of what the second worker has logged
		hash   uint64                       // of the second survivor
		last   uint64
		wrong  string // empty: nothing
	}{
		{name: "all the same", hash: model.hash(), last: 2},
		{name: "a survivor with other bits", hash: model.hash() + 1, last: 2, wrong: "w1 ends with hash"},
		{name: "a step that nobody has logged", hash: model.hash(), last: 3, wrong: "2 steps in the logs"},
		{name: "a step with other members", hash: model.hash(), last: 2, wrong: "step 2", change: func(s []steplog.Record) { s[1].Parts = s[0].Parts }},
		{name: "other bits on the way", hash: model.hash(), last: 2, wrong: "before step 2: hash", change: func(s []steplog.Record) { s[1].Hash = 5 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hunt{dir: t.TempDir(), elements: elements, alive: []*proc{{name: "w0"}, {name: "w1"}}}
			h.spec.Data.Samples = 7
			for i, name := range []string{"w0", "w1"} {
				log, err := steplog.Open(logDir(h.dir, name), steplog.Options{})
				if err != nil {
					t.Fatal(err)
				}
				steps := slices.Clone(records)
				if i == 1 && c.change != nil {
					c.change(steps)
				}
				for r := range steps {
					if err := log.Append(&steps[r]); err != nil {
						t.Fatal(err)
					}
				}
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
			}
			sum, err := h.verify(c.last, []uint64{model.hash(), c.hash})
			if c.wrong == "" {
				if err != nil || sum.Steps != 2 || sum.Samples != 7 {
					t.Errorf("%+v, %v", sum, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%+v, %v", sum, err)
			}
		})
	}
}

// TestState moves a model in pieces.
func TestState(t *testing.T) {
	from, to := newModel(1000), newModel(1000)
	mean := make([]float32, 1000)
	mean[3] = 0.5
	from.update(7, 1, mean)
	if err := to.Restore(from.Size()); err != nil {
		t.Fatal(err)
	}
	for off := int64(0); off < from.Size(); off += 7 {
		p := make([]byte, min(7, from.Size()-off))
		if err := from.ReadAt(p, off); err != nil {
			t.Fatal(err)
		}
		if err := to.WriteAt(p, off); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Restored(7); err != nil || to.hash() != from.hash() {
		t.Errorf("hash %x, not %x; %v", to.hash(), from.hash(), err)
	}
	if to.Restored(8) == nil {
		t.Error("a state of step 7 passes for that of step 8")
	}
	var _ group.State = to
}
