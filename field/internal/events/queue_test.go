package events

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is added and taken, what comes out is what a stable sort by time would give.
func TestOrder(t *testing.T) {
	type planned struct {
		at    int64
		event int
	}
	rapid.Check(t, func(rt *rapid.T) {
		var q Queue[int64, int]
		var model []planned
		for k := range rapid.IntRange(1, 200).Draw(rt, "operations") {
			switch what := rapid.IntRange(0, 9).Draw(rt, "what"); {
			case what < 6 || q.Len() == 0:
				at := rapid.Int64Range(-5, 5).Draw(rt, "at")
				q.Add(at, k)
				model = append(model, planned{at, k})
				slices.SortStableFunc(model, func(a, b planned) int { return cmp.Compare(a.at, b.at) })
			case what < 9:
				first := q.First()
				at, event := q.Take()
				if want := model[0]; at != want.at || event != want.event || first != at {
					rt.Fatalf("got %d at %d (said %d), want %d at %d", event, at, first, want.event, want.at)
				}
				model = model[1:]
			default:
				q.Shift(3)
				for i := range model {
					model[i].at += 3
				}
			}
			left := make(map[planned]bool)
			for at, event := range q.All() {
				left[planned{at, event}] = true
			}
			if q.Len() != len(model) || len(left) != len(model) {
				rt.Fatalf("%d events, %d listed, want %d", q.Len(), len(left), len(model))
			}
			for _, p := range model {
				if !left[p] {
					rt.Fatalf("%+v is not listed", p)
				}
			}
		}
	})
}

func TestSteadyQueueAllocatesNothing(t *testing.T) {
	var q Queue[int64, [3]int32]
	for i := range int64(100) {
		q.Add(i*37%50, [3]int32{})
	}
	if n := testing.AllocsPerRun(100, func() {
		at, e := q.Take()
		q.Add(at+50, e)
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}
