package control

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var equalNaN = cmp.Options{
	cmp.AllowUnexported(Setting{}),
	cmp.FilterValues(func(a, b float64) bool { return math.IsNaN(a) && math.IsNaN(b) }, cmp.Comparer(func(a, b float64) bool { return true })),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
}

func anyTime(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds")).UTC()
}

func anySignal(t *rapid.T) Signal {
	return Signal{
		Name:  rapid.StringN(1, 20, -1).Draw(t, "name"),
		Unit:  rapid.String().Draw(t, "unit"),
		Time:  anyTime(t),
		Point: rapid.Uint64().Draw(t, "point"),
		Value: rapid.Float64().Draw(t, "value"),
	}
}

func anySetting(t *rapid.T) Setting {
	if rapid.Bool().Draw(t, "is a word") {
		return Word(rapid.StringN(1, 10, -1).Draw(t, "word"))
	}
	return Number(rapid.Float64Range(-1e300, 1e300).Draw(t, "number"))
}

func anyRecord(t *rapid.T) Record {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return Record{Mark: &Mark{Point: rapid.Uint64().Draw(t, "point"), Time: anyTime(t)}}
	case 1:
		return Record{Setting: &Assignment{Subject: rapid.String().Draw(t, "subject"), Value: anySetting(t), Time: anyTime(t)}}
	case 2:
		return Record{Decision: &Decision{
			ID: rapid.Uint64().Draw(t, "id"), Time: anyTime(t), Policy: rapid.String().Draw(t, "policy"),
			Old: anySetting(t), New: anySetting(t), Reason: rapid.String().Draw(t, "reason"),
			Signals: []Signal{anySignal(t), anySignal(t)},
			Expect:  &Expectation{Signal: "loss", Statistic: Lowest, Value: rapid.Float64Range(-1, 1).Draw(t, "expected"), Horizon: 3},
		}}
	case 3:
		return Record{Outcome: &Outcome{Decision: 3, Time: anyTime(t), Samples: 2, Value: rapid.Float64().Draw(t, "observed"), Failed: rapid.String().Draw(t, "failed")}}
	case 4:
		return Record{Rewind: &Mark{Point: rapid.Uint64().Draw(t, "point"), Time: anyTime(t)}}
	}
	return Record{Signal: anySignal(t)}
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRecord(t)
		line, err := appendRecord(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(line) || strings.Count(string(line), "\n") != 1 {
			t.Fatalf("not one line of JSON: %s", line)
		}
		got, err := parseRecord(line[:len(line)-1])
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if diff := cmp.Diff(want, got, equalNaN); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSignalValuesThatAreNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, math.Copysign(0, -1)} {
		text, err := json.Marshal(Signal{Name: "loss", Value: v})
		if err != nil {
			t.Fatal(err)
		}
		var got Signal
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if math.Float64bits(got.Value) != math.Float64bits(v) && !(math.IsNaN(v) && math.IsNaN(got.Value)) {
			t.Errorf("%v became %v", v, got.Value)
		}
	}
}

func TestSignalStringsAsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		var got, want string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(s)
		json.Unmarshal(text, &want)
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestParseRecordRefuses(t *testing.T) {
	good, err := appendRecord(nil, &Record{Signal: Signal{Name: "loss", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(good) - 1 {
		for bit := range 8 {
			bad := append([]byte(nil), good[:len(good)-1]...)
			bad[i] ^= 1 << bit
			if r, err := parseRecord(bad); err == nil {
				t.Errorf("bit %d of byte %d flipped was accepted as %+v: %s", bit, i, r, bad)
			}
		}
	}
}

func TestRecordLongerThanALine(t *testing.T) {
	_, err := appendRecord(nil, &Record{Signal: Signal{Name: strings.Repeat("x", maxLine)}})
	if err == nil || !strings.Contains(err.Error(), "longer than a line may be") {
		t.Errorf("got %v", err)
	}
}

func TestSettingRoundTrip(t *testing.T) {
	for _, s := range []Setting{Number(0), Number(-1.5), Number(1e-300), Word("stop"), Word("ein \"Wort\"")} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got Setting
		if err := json.Unmarshal(text, &got); err != nil || got != s {
			t.Errorf("%v became %v, %v", s, got, err)
		}
	}
	var s Setting
	for _, bad := range []string{`""`, `[]`, `{}`, `"`, `true`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s was accepted as %v", bad, s)
		}
	}
}
