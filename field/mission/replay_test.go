package mission

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplay(t *testing.T) {
	m := sample(t)
	events, err := m.Replay()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, e := range events {
		got = append(got, fmt.Sprintf("%s %d %s %s %g", e.Kind, e.Stop, e.Sensor, e.Via, e.Packets))
		if i > 0 && e.Time < events[i-1].Time {
			t.Errorf("event %d goes back in time", i)
		}
	}
	want := []string{"depart 0   0", "arrive 1   0", `upload 1 a,1 b"<&> 1`, `upload 1 b"<&>  2`, "upload 1 ü  1", "leave 1   0",
		"arrive 2   0", "upload 2 s3 s4 1", "leave 2   0", "return 0   0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if last, total := events[len(events)-1].Time, m.Plan.Tours[0].Total.Seconds(); math.Abs(last-total) > 1e-6 {
		t.Errorf("returns at %v s, the plan says %v s", last, total)
	}
	if stay := events[5].Time - events[1].Time; math.Abs(stay-1) > 1e-9 {
		t.Errorf("waits %v s at stop 1", stay)
	}
	var b bytes.Buffer
	if err := m.WriteEvents(&b); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(&b)
	for i := 0; lines.Scan(); i++ {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e != events[i] {
			t.Fatalf("line %d: %v, %+v", i+1, err, e)
		}
	}
}
