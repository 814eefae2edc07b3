package steplog

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func record(step uint64) Record {
	return Record{
		Step: step, View: 3, DataEpoch: 1, Weight: 64, Outcome: "apply", Algorithm: "ring",
		Elements: 1 << 20, Chunk: 1 << 18, Rate: 0.1, Hash: step * 7,
		Parts: []Part{
			{Member: 11, Name: "w0", Samples: 32, Ranges: []Range{{step, step + 32}}},
			{Member: 12, Name: "w1", Samples: 32, Ranges: []Range{{step + 32, step + 40}, {900, 924}}},
			{Member: 13, Name: "w2"},
		},
	}
}

func write(t *testing.T, dir string, options Options, from, to uint64) {
	t.Helper()
	w, err := Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	for s := from; s < to; s++ {
		r := record(s)
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func steps(t *testing.T, dir string) (all []uint64, err error) {
	t.Helper()
	for r, err := range Read(dir) {
		if err != nil {
			return all, err
		}
		if diff := cmp.Diff(record(r.Step), r); diff != "" {
			t.Fatal(diff)
		}
		all = append(all, r.Step)
	}
	return all, nil
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Options{}, 1, 5)
	write(t, dir, Options{}, 5, 8)
	got, err := steps(t, dir)
	if err != nil || !cmp.Equal(got, []uint64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Options{Segment: 1000, Keep: 3}, 1, 100)
	names, err := segments(dir)
	if err != nil || len(names) != 3 {
		t.Fatalf("%d segments, %v", len(names), err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Size() > 1000 {
			t.Errorf("%s: %d bytes, %v", name, info.Size(), err)
		}
	}
	got, err := steps(t, dir)
	if err != nil || len(got) == 0 || got[len(got)-1] != 99 {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestTornTail cuts a log at every length: the intact lines stay, and the next writer goes on.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Options{}, 1, 4)
	path := filepath.Join(dir, "steps-000001.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 1 + rand.IntN(20) {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		intact := uint64(strings.Count(string(whole[:n]), "\n"))
		if got, err := steps(t, dir); err != nil || uint64(len(got)) != intact {
			t.Fatalf("cut at %d: %v, %v", n, got, err)
		}
		write(t, dir, Options{}, intact+1, intact+2)
		if got, err := steps(t, dir); err != nil || uint64(len(got)) != intact+1 {
			t.Fatalf("cut at %d and gone on: %v, %v", n, got, err)
		}
	}
}

func TestDamageIsNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Options{}, 1, 4)
	path := filepath.Join(dir, "steps-000001.log")
	whole, _ := os.ReadFile(path)
	second := strings.IndexByte(string(whole), '\n') + 1
	for _, at := range []int{second + 2, second + 15, second + 60} {
		broken := append([]byte{}, whole...)
		broken[at] ^= 1
		if err := os.WriteFile(path, broken, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := steps(t, dir)
		var damage *DamageError
		if !errors.As(err, &damage) || damage.Line != 2 || damage.Path != path {
			t.Errorf("byte %d broken: %v", at, err)
		}
		if _, err := Open(dir, Options{}); !errors.As(err, &damage) {
			t.Errorf("opened a damaged log: %v", err)
		}
	}
}

func TestMerge(t *testing.T) {
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, a, Options{}, 1, 6)
	write(t, b, Options{}, 4, 9)
	all, err := Merge(a, b)
	if err != nil || len(all) != 8 || all[7].Step != 8 {
		t.Fatalf("%d steps, %v", len(all), err)
	}
	write(t, c, Options{}, 11, 12)
	var gap *GapError
	if all, err := Merge(a, b, c); !errors.As(err, &gap) || *gap != (GapError{9, 10}) || len(all) != 8 {
		t.Errorf("a gap: %d steps, %v", len(all), err)
	}
	if runs, err := Runs(a, b, c); err != nil || len(runs) != 2 || len(runs[0]) != 8 || runs[1][0].Step != 11 {
		t.Errorf("a gap: %v, %v", runs, err)
	}
	if all, err := Merge(knowing(t, 0), knowing(t, 7), knowing(t, 0)); err != nil || len(all) != 1 || all[0].Hash != 7 {
		t.Errorf("a hash that one log has: %+v, %v", all, err)
	}
	other := t.TempDir()
	w, _ := Open(other, Options{})
	r := record(5)
	r.Parts[1].Samples--
	if err := w.Append(&r); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var conflict *ConflictError
	if _, err := Merge(a, other); !errors.As(err, &conflict) || conflict.Step != 5 {
		t.Errorf("a conflict: %v", err)
	}
}

// knowing is a log of one step with a hash.
func knowing(t *testing.T, hash uint64) (dir string) {
	dir = t.TempDir()
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := record(1)
	r.Hash = hash
	if err := w.Append(&r); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFullDisk lets writes fail: the record is lost, the error told, and the log goes on.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	dir := t.TempDir()
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := record(1), record(2), record(3)
	if err := w.Append(&one); err != nil {
		t.Fatal(err)
	}
	good := w.file
	w.file = full
	if err := w.Append(&two); err == nil {
		t.Error("nothing was reported")
	}
	w.file = good
	if err := w.Append(&three); err != nil {
		t.Fatal(err)
	}
	w.Close()
	full.Close()
	if got, err := steps(t, dir); err != nil || !cmp.Equal(got, []uint64{1, 3}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzParseLine(f *testing.F) {
	r := record(9)
	line, err := appendLine(nil, &r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line[:len(line)-1])
	f.Add([]byte(`{"crc32c":"00000000","step":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseLine(line)
		if err != nil {
			return
		}
		again, err := appendLine(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseLine(again[:len(again)-1]); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
