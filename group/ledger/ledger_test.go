package ledger

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAssign(t *testing.T) {
	tests := []struct {
		name        string
		ledger      Ledger
		size, batch uint64
		members     []uint64
		want        []Share
	}{
		{"an even batch", Ledger{}, 100, 8, []uint64{7, 5}, []Share{{7, []Range{{0, 4}}}, {5, []Range{{4, 8}}}}},
		{"the first take one more", Ledger{Next: 10}, 100, 7, []uint64{1, 2, 3}, []Share{{1, []Range{{10, 13}}}, {2, []Range{{13, 15}}}, {3, []Range{{15, 17}}}}},
		{"the end of the epoch", Ledger{Next: 98}, 100, 8, []uint64{1, 2}, []Share{{1, []Range{{98, 99}}}, {2, []Range{{99, 100}}}}},
		{"fewer samples than members", Ledger{Next: 99}, 100, 8, []uint64{1, 2}, []Share{{1, []Range{{99, 100}}}, {2, nil}}},
		{"returned samples first", Ledger{Next: 50, Returned: []Range{{3, 5}, {9, 10}}}, 100, 8, []uint64{1, 2},
			[]Share{{1, []Range{{3, 5}, {9, 10}, {50, 51}}}, {2, []Range{{51, 55}}}}},
		{"returned samples alone", Ledger{Next: 100, Returned: []Range{{3, 9}}}, 100, 4, []uint64{1, 2}, []Share{{1, []Range{{3, 5}}}, {2, []Range{{5, 7}}}}},
		{"nobody", Ledger{}, 100, 8, nil, []Share{}},
	}
	for _, test := range tests {
		if got := test.ledger.Assign(test.size, test.batch, test.members); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestCommit(t *testing.T) {
	only := func(ids ...uint64) func(uint64) bool {
		return func(id uint64) bool { return slices.Contains(ids, id) }
	}
	tests := []struct {
		name   string
		before Ledger
		batch  uint64
		done   []uint64
		want   Ledger
	}{
		{"all contribute", Ledger{Next: 10}, 9, []uint64{1, 2, 3}, Ledger{Next: 19}},
		{"one dies", Ledger{Next: 10}, 9, []uint64{1, 3}, Ledger{Next: 19, Returned: []Range{{13, 16}}}},
		{"two neighbours die", Ledger{Next: 10}, 9, []uint64{1}, Ledger{Next: 19, Returned: []Range{{13, 19}}}},
		{"returned ones are used", Ledger{Next: 10, Returned: []Range{{2, 8}}}, 3, []uint64{1, 2, 3}, Ledger{Next: 10, Returned: []Range{{5, 8}}}},
		{"returned ones come back again", Ledger{Next: 10, Returned: []Range{{2, 8}}}, 3, []uint64{1, 3}, Ledger{Next: 10, Returned: []Range{{3, 4}, {5, 8}}}},
		{"the epoch ends", Ledger{Epoch: 4, Next: 18}, 9, []uint64{1, 2, 3}, Ledger{Epoch: 5}},
		{"nothing is missed of one whose share was empty", Ledger{Epoch: 4, Next: 18}, 9, []uint64{1, 2}, Ledger{Epoch: 5}},
		{"the epoch does not end without what came back", Ledger{Epoch: 4, Next: 18}, 9, []uint64{1}, Ledger{Epoch: 4, Next: 20, Returned: []Range{{19, 20}}}},
	}
	for _, test := range tests {
		shares := test.before.Assign(20, test.batch, []uint64{1, 2, 3})
		got := test.before.Commit(20, shares, only(test.done...))
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestExactlyOnce runs epochs with members that come, go and die, and counts every sample.
func TestExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, 300).Draw(t, "size")
		used := make([]int, size)
		var l Ledger
		for step := 0; l.Epoch < 2; step++ {
			n := rapid.IntRange(1, 6).Draw(t, "members")
			batch := rapid.Uint64Range(1, 40).Draw(t, "batch")
			members := make([]uint64, n)
			for i := range members {
				members[i] = uint64(100*step + i + 1)
			}
			shares := l.Assign(size, batch, members)
			most, least, sum := uint64(0), size, uint64(0)
			for _, s := range shares {
				most, least, sum = max(most, s.Len()), min(least, s.Len()), sum+s.Len()
			}
			if most > least+1 || sum != min(batch, l.Left(size)) {
				t.Fatalf("shares of a batch of %d with %d left: %v", batch, l.Left(size), shares)
			}
			// Some die in the step, but not for ever: a run in which all die does not end.
			alive := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "alive")
			alive[step%n] = true
			before := l
			l = l.Commit(size, shares, func(id uint64) bool { return alive[id-uint64(100*step)-1] })
			for i, s := range shares {
				for _, r := range s.Ranges {
					for p := r.Lo; alive[i] && p < r.Hi; p++ {
						used[p]++
					}
				}
			}
			if err := l.Check(size); err != nil {
				t.Fatalf("after %v: %v", before, err)
			}
			again, err := Decode(l.Append(nil))
			if err != nil || !reflect.DeepEqual(again, l) {
				t.Fatalf("%v is read back as %v, %v", l, again, err)
			}
			for p, n := range used {
				want := int(before.Epoch) // by then all samples of earlier epochs
				if n != want && n != want+1 || l.Epoch > before.Epoch && n != want+1 {
					t.Fatalf("step %d of epoch %d: sample %d is used %d times", step, before.Epoch, p, n)
				}
			}
		}
	})
}

func TestCheck(t *testing.T) {
	for _, l := range []Ledger{
		{Next: 11},
		{Next: 5, Returned: []Range{{3, 3}}},
		{Next: 5, Returned: []Range{{3, 6}}},
		{Next: 5, Returned: []Range{{3, 4}, {1, 2}}},
		{Next: 5, Returned: []Range{{1, 2}, {2, 3}}},
	} {
		if l.Check(10) == nil {
			t.Errorf("%v passes", l)
		}
	}
	if err := (Ledger{Next: 10, Returned: []Range{{0, 1}, {2, 10}}}).Check(10); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Ledger{}.Append(nil))
	f.Add(Ledger{Epoch: 3, Next: 1000, Returned: []Range{{1, 4}, {500, 900}}}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Decode(b)
		if err != nil {
			return
		}
		if again := l.Append(nil); string(again) != string(b) {
			t.Errorf("%x is read as %v, which is written as %x", b, l, again)
		}
	})
}
