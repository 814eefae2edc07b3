package train

import "testing"

func TestRunnersAreBounded(t *testing.T) {
	built := 0
	rs := newRunners(func(int) (*runner, error) {
		built++
		return &runner{}, nil
	})
	for _, batch := range []int{64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 8, 9, 10, 64} {
		if _, err := rs.of(batch); err != nil {
			t.Fatal(err)
		}
	}
	if len(rs.by) != maxRunners || rs.by[64] == nil || rs.by[1] != nil || built != 11 {
		t.Errorf("%d runners after %d were built: %v", len(rs.by), built, rs.used)
	}
}
