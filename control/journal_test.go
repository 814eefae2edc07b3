package control

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// writerVariable makes the test binary append to the journal it names until it
// is killed; see TestKilledWriter.
const writerVariable = "MILLRACE_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerVariable); path != "" {
		fmt.Fprintln(os.Stderr, appendForever(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendForever appends signals and, among them, decisions; it prints the ID of
// each decision once the journal says that it is on disk.
func appendForever(path string) error {
	j, err := OpenJournal(path)
	if err != nil {
		return err
	}
	fmt.Println("open")
	for id := j.newestDecision() + 1; ; id++ {
		for i := range id % 50 {
			s := Signal{Name: "loss", Unit: "nats", Time: epoch.Add(time.Duration(i) * time.Second), Point: id, Value: float64(i)}
			if err := j.append(Record{Signal: s}, false); err != nil {
				return err
			}
		}
		d := &Decision{ID: id, Time: epoch, Point: id, Subject: "rate", Reason: strings.Repeat("r", int(id%3000))}
		if err := j.append(Record{Decision: d}, true); err != nil {
			return err
		}
		fmt.Println(id)
	}
}

func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	rounds := 10
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		acknowledged := killWriter(t, path, rand.N(20*time.Millisecond))
		j, err := OpenJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		newest := j.newestDecision()
		j.Close()
		if newest < acknowledged {
			t.Fatalf("decision %d was on disk, the newest found is %d", acknowledged, newest)
		}
		want := uint64(1)
		summary, err := ReadJournal(path, func(r Record) error {
			if r.Decision != nil {
				if r.Decision.ID != want {
					return fmt.Errorf("decision %d where %d was expected", r.Decision.ID, want)
				}
				want++
			}
			return nil
		})
		if err != nil || summary.Damaged+summary.Unknown > 0 || summary.Torn > 0 {
			t.Fatalf("%+v, %v", summary, err)
		}
	}
}

// killWriter runs a writer, kills it after some time and returns the last
// decision that it reported to be on disk.
func killWriter(t *testing.T, path string, after time.Duration) (acknowledged uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerVariable+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the writer did not start")
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	for lines.Scan() {
		if acknowledged, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Wait()
	return acknowledged
}

// journalOf writes records to a new file and returns its path and content.
func journalOf(t *testing.T, records ...Record) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := j.append(r, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

func samples(n int) (records []Record) {
	for i := range n {
		records = append(records, Record{Signal: Signal{Name: "loss", Time: epoch, Point: uint64(i), Value: float64(i)}})
	}
	return records
}

func points(t *testing.T, path string) (found []uint64, summary Summary) {
	t.Helper()
	summary, err := ReadJournal(path, func(r Record) error {
		found = append(found, r.point())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, summary
}

func TestTornTailIsCutOff(t *testing.T) {
	path, content := journalOf(t, samples(3)...)
	last := bytes.LastIndexByte(content[:len(content)-1], '\n') + 1
	for cut := last + 1; cut < len(content)-1; cut += 5 {
		for _, tail := range []string{"", strings.Repeat("\x00", 100), "\n\n{}\n"} {
			torn := append(append([]byte(nil), content[:cut]...), tail...)
			if err := os.WriteFile(path, torn, 0o644); err != nil {
				t.Fatal(err)
			}
			found, summary := points(t, path)
			if len(found) != 2 || summary.Torn != int64(len(torn)-last) || summary.Damaged != 0 {
				t.Fatalf("cut at %d: %v, %+v", cut, found, summary)
			}
			j, err := OpenJournal(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.append(Record{Signal: Signal{Name: "loss", Time: epoch, Point: 7}}, true); err != nil {
				t.Fatal(err)
			}
			j.Close()
			if found, summary = points(t, path); fmt.Sprint(found) != "[0 1 7]" || summary.Torn != 0 {
				t.Fatalf("cut at %d: %v, %+v", cut, found, summary)
			}
		}
	}
}

func TestDamageInTheMiddleIsNamed(t *testing.T) {
	path, content := journalOf(t, samples(4)...)
	second := bytes.IndexByte(content, '\n') + 1
	content[second+40] ^= 1
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	found, summary := points(t, path)
	if fmt.Sprint(found) != "[0 2 3]" || summary.Damaged != 1 || summary.First.Line != 2 || summary.First.Offset != int64(second) {
		t.Errorf("%v, %+v", found, summary)
	}
	_, err := OpenJournal(path)
	var damage *DamageError
	if !errors.As(err, &damage) || !strings.HasPrefix(err.Error(), path+":2: damaged at byte") {
		t.Errorf("got %v", err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, content) {
		t.Error("a damaged journal was changed")
	}
}

func TestUnknownKindsAndLongLines(t *testing.T) {
	path, content := journalOf(t, samples(2)...)
	future, err := appendRecord(nil, &Record{Mark: &Mark{}})
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Replace(future[bodyStart:len(future)-2], []byte(`"point":{`), []byte(`"sunrise":{`), 1)
	future = append(append(append([]byte(nil), future[:bodyStart]...), body...), '}', '\n')
	rewriteSum(future)
	long := append(bytes.Repeat([]byte("x"), 3*maxLine), '\n')
	if err := os.WriteFile(path, bytes.Join([][]byte{future, long, content}, nil), 0o644); err != nil {
		t.Fatal(err)
	}
	found, summary := points(t, path)
	if len(found) != 2 || summary.Unknown != 1 || summary.Damaged != 1 || summary.First.Line != 2 {
		t.Errorf("%v, %+v", found, summary)
	}
}

func rewriteSum(line []byte) {
	sum := crcOf(line[bodyStart : len(line)-2])
	hexSum(line[len(linePrefix):], sum)
}

func TestOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	first, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(path); err == nil || !strings.HasSuffix(err.Error(), "another process writes to this run") {
		t.Errorf("got %v", err)
	}
	first.Close()
	second, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

// TestFailedWrite exhausts the file size that the process may write: what a
// full disk looks like to the journal.
func TestFailedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	decide := func(id uint64) error {
		return j.append(Record{Decision: &Decision{ID: id, Time: epoch, Reason: strings.Repeat("r", 100)}}, true)
	}
	if err := decide(1); err != nil {
		t.Fatal(err)
	}
	lift := limitFileSize(t, uint64(j.size)+50)
	if err := decide(2); err == nil {
		t.Fatal("wrote beyond the limit")
	}
	if newest := j.newestDecision(); newest != 1 {
		t.Errorf("decision %d counts though it was not written", newest)
	}
	lift()
	if err := decide(3); err != nil {
		t.Fatal(err)
	}
	decisions, summary, err := ReadDecisions(path)
	if err != nil || len(decisions) != 2 || decisions[1].ID != 3 || summary.Torn+int64(summary.Damaged) != 0 {
		t.Errorf("%v, %+v, %v", decisions, summary, err)
	}
}

func TestSignalsReachTheFileWithTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range 11 {
		at := epoch.Add(time.Duration(i) * 100 * time.Millisecond)
		if err := j.append(Record{Signal: Signal{Name: "loss", Time: at, Point: uint64(i)}}, false); err != nil {
			t.Fatal(err)
		}
	}
	if found, _ := points(t, path); len(found) != 11 {
		t.Errorf("%d of 11 signals are in the file after a second", len(found))
	}
}

func FuzzReadJournal(f *testing.F) {
	var lines []byte
	for _, r := range append(samples(2), Record{Decision: &Decision{ID: 1}}, Record{Rewind: &Mark{Point: 1}}, Record{Outcome: &Outcome{Decision: 1}}) {
		lines, _ = appendRecord(lines, &r)
	}
	f.Add(lines)
	f.Add(lines[:len(lines)-7])
	f.Add([]byte("{}\n\n" + string(lines) + "\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		all, err := scan(bytes.NewReader(content), "fuzz", func(Record) error { return nil })
		if err != nil || all.Size+all.Torn != int64(len(content)) {
			t.Fatalf("%d bytes: %+v, %v", len(content), all, err)
		}
		// What opening it would leave, with one more record.
		repaired, err := appendRecord(content[:all.Size:all.Size], &Record{Mark: &Mark{Point: 1}})
		if err != nil {
			t.Fatal(err)
		}
		again, err := scan(bytes.NewReader(repaired), "fuzz", func(Record) error { return nil })
		if err != nil || again.Torn != 0 || again.Damaged != all.Damaged || again.Records != all.Records+1 {
			t.Fatalf("%+v became %+v, %v", all, again, err)
		}
	})
}
