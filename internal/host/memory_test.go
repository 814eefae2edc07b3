package host

import "testing"

func TestUsableOf(t *testing.T) {
	cases := []struct {
		bound uint64
		statm string
		limit uint64
		ok    bool
	}{
		{1 << 30, "1000 200 30 4 0 5 0\n", 1<<30 - 800*4096, true},
		{1 << 20, "1000 200 30 4 0 5 0\n", 0, true}, // more is reserved already
		{1 << 30, "", 0, false},
		{1 << 30, "1000", 0, false},
		{1 << 30, "200 1000", 0, false},
		{1 << 30, "-1 2", 0, false},
		{1 << 30, "99999999999999999999 2", 0, false},
	}
	for _, c := range cases {
		if limit, ok := usableOf(c.bound, c.statm, 4096); limit != c.limit || ok != c.ok {
			t.Errorf("%d of %q: got %d, %v; want %d, %v", c.bound, c.statm, limit, ok, c.limit, c.ok)
		}
	}
}
