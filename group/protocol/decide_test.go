package protocol

import (
	"slices"
	"testing"
)

// TestDecide tells from the votes what becomes of the step in flight.
func TestDecide(t *testing.T) {
	view := View{Epoch: 4, Members: []Member{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "c"}}}
	last := &Result{Step: 7, Epoch: 4, Facts: Facts{9, true}}
	waits := func(id ID, committed uint64) Vote { return Vote{ID: id, Committed: committed} }
	prepared := func(id ID, committed uint64, f Facts) Vote {
		return Vote{ID: id, Committed: committed, Prepared: true, Facts: f, Record: Record{Samples: uint64(id)}}
	}
	whole := Facts{9, true}
	for _, test := range []struct {
		name    string
		votes   []Vote
		out     []ID
		commits uint64
		result  string // which result goes with the change
		from    []ID   // whose records a new result has
	}{
		{name: "one waits: again", votes: []Vote{prepared(1, 7, whole), waits(2, 7), prepared(3, 7, whole)}, commits: 7},
		{name: "the one that waits is out: it counts", votes: []Vote{prepared(3, 7, whole), waits(2, 7), prepared(1, 7, whole)}, out: []ID{2}, commits: 8, result: "new", from: []ID{1, 3}},
		{name: "one that is out was prepared: its record counts", votes: []Vote{prepared(3, 7, whole), prepared(2, 7, whole), prepared(1, 7, whole)}, out: []ID{2}, commits: 8, result: "new", from: []ID{1, 2, 3}},
		{name: "one is ahead: it counts for the others", votes: []Vote{waits(1, 7), prepared(2, 6, whole), prepared(3, 6, whole)}, commits: 7, result: "last"},
		{name: "one is ahead and out: it counts as well", votes: []Vote{waits(1, 7), prepared(2, 6, whole), prepared(3, 6, whole)}, out: []ID{1}, commits: 7, result: "last"},
		{name: "different means: again", votes: []Vote{prepared(1, 7, whole), prepared(2, 7, Facts{6, true}), prepared(3, 7, whole)}, commits: 7},
		{name: "a mean that is finite at some: again", votes: []Vote{prepared(1, 7, whole), prepared(2, 7, Facts{9, false}), prepared(3, 7, whole)}, commits: 7},
	} {
		stays := map[ID]bool{}
		for _, v := range test.votes {
			stays[v.ID] = !slices.Contains(test.out, v.ID)
		}
		commits, result := decide(view, test.votes, stays, last)
		if commits != test.commits {
			t.Errorf("%s: step %d is committed", test.name, commits)
		}
		switch {
		case result == nil:
			if test.result != "" {
				t.Errorf("%s: no result", test.name)
			}
		case result == last:
			if test.result != "last" {
				t.Errorf("%s: the last result", test.name)
			}
		default:
			var from []ID
			for _, e := range result.Records {
				from = append(from, e.ID)
			}
			if test.result != "new" || result.Step != 8 || result.Epoch != 4 || result.Facts != whole || !slices.Equal(from, test.from) {
				t.Errorf("%s: %+v", test.name, result)
			}
		}
	}
}
