package data

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawPlan draws a valid plan for a single rank.
func drawPlan(t *rapid.T) Plan {
	samples := rapid.IntRange(1, 200).Draw(t, "samples")
	p := Plan{
		Samples:  samples,
		Batch:    rapid.IntRange(1, 40).Draw(t, "batch"),
		Shuffle:  rapid.Bool().Draw(t, "shuffle"),
		Seed:     rapid.Uint64().Draw(t, "seed"),
		DropLast: rapid.Bool().Draw(t, "drop"),
	}
	if p.DropLast {
		p.Batch = min(p.Batch, samples)
	}
	return p
}

// walk gives the batches of the first epochs, and the cursor of each.
func walk(p Plan, c Cursor, steps int) (batches [][]int, cursors []Cursor) {
	c = p.Settle(c)
	for range steps {
		from, to, next := p.Span(c)
		batches = append(batches, p.Indices(nil, c.Epoch, from, to))
		cursors = append(cursors, c)
		c = next
	}
	return batches, cursors
}

// An epoch gives each sample once, or at most once when the last batch is dropped, in
// full batches but for the last.
func TestEpochCoversTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		batches, cursors := walk(p, Cursor{}, p.Steps()+1)
		seen := map[int]bool{}
		for i, b := range batches[:p.Steps()] {
			if cursors[i].Epoch != 0 {
				t.Fatalf("step %d of %d is in epoch %d", i, p.Steps(), cursors[i].Epoch)
			}
			if last := i == p.Steps()-1; len(b) != p.Batch && (p.DropLast || !last) {
				t.Fatalf("batch %d has %d samples", i, len(b))
			}
			for _, s := range b {
				if seen[s] || s < 0 || s >= p.Samples {
					t.Fatalf("sample %d is out of range or came twice", s)
				}
				seen[s] = true
			}
		}
		if want := min(p.Samples, p.Steps()*p.Batch); len(seen) != want {
			t.Fatalf("%d samples came, want %d", len(seen), want)
		}
		if got := cursors[p.Steps()]; got != (Cursor{Epoch: 1}) {
			t.Fatalf("the epoch is followed by %+v", got)
		}
	})
}

// Going on from the cursor of any step gives what came next.
func TestResumeIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		const steps = 12
		batches, cursors := walk(p, Cursor{}, steps)
		at := rapid.IntRange(0, steps-1).Draw(t, "at")
		again, _ := walk(p, cursors[at], steps-at)
		if !slices.EqualFunc(batches[at:], again, slices.Equal) {
			t.Fatalf("from %+v: %v, want %v", cursors[at], again, batches[at:])
		}
	})
}

// The ranks' parts, one after the other, are what one rank with the whole batch takes.
func TestRanksShareTheStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		p.Ranks = rapid.IntRange(1, 5).Draw(t, "ranks")
		if p.DropLast {
			p.Samples = max(p.Samples, p.Batch*p.Ranks)
		}
		whole := p
		whole.Batch, whole.Ranks = p.Batch*p.Ranks, 1
		steps := p.Steps() + 2
		want, wantAt := walk(whole, Cursor{}, steps)
		got := make([][]int, steps)
		for p.Rank = range p.Ranks {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			part, at := walk(p, Cursor{}, steps)
			if !slices.Equal(at, wantAt) {
				t.Fatalf("rank %d stands at %v, one rank at %v", p.Rank, at, wantAt)
			}
			for i := range part {
				got[i] = append(got[i], part[i]...)
			}
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%d ranks take %v, one takes %v", p.Ranks, got, want)
		}
	})
}

func TestPlanRefusesNonsense(t *testing.T) {
	for _, p := range []Plan{
		{},
		{Samples: 10},
		{Samples: 10, Batch: -1},
		{Samples: 10, Batch: 1, Rank: 1},
		{Samples: 10, Batch: 1, Rank: -1, Ranks: 2},
		{Samples: 10, Batch: 11, DropLast: true},
		{Samples: 10, Batch: 6, Ranks: 2, DropLast: true},
	} {
		if p.Validate() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	p := Plan{Samples: 10, Batch: 3}
	for _, c := range []Cursor{{Epoch: -1}, {Position: -1}, {Position: 11}} {
		if p.Check(c) == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
