package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain makes the test binary a peer when it is told so: row "sleep" sleeps a millisecond a
// step, "spin" leaves a thread spinning, "broken" cannot be built, "nan" has no finite result.
func TestMain(m *testing.M) {
	if os.Getenv("BENCH_TEST_PEER") == "" {
		os.Exit(m.Run())
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var verb, row, variant string
		var steps int
		fmt.Sscan(lines.Text(), &verb, &row, &variant, &steps)
		switch {
		case verb == "info":
			fmt.Printf(`{"name":"sleeper","version":"1","settings":%q}`+"\n", os.Getenv("OMP_NUM_THREADS"))
		case row == "broken":
			fmt.Println(`{"error":"does not build"}`)
		case verb == "run" && row == "nan":
			fmt.Printf(`{"wall":0.1,"cpu":0.1,"steps":%d,"loss":1e999}`+"\n", steps)
		case verb == "run":
			if row == "spin" {
				var stop atomic.Bool
				go func() {
					for !stop.Load() {
					}
				}()
			}
			time.Sleep(time.Duration(steps) * time.Millisecond)
			fmt.Printf(`{"wall":%g,"cpu":%g,"steps":%d,"loss":1}`+"\n", 1e-3*float64(steps), 1e-6*float64(steps), steps)
		default:
			fmt.Println(`{}`)
		}
	}
}

func startSleeper(t *testing.T) *Peer {
	t.Helper()
	t.Setenv("BENCH_TEST_PEER", "yes")
	t.Setenv("OMP_NUM_THREADS", "99")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(context.Background(), Command{Name: "sleeper", Args: []string{exe}}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestPeerSeesNoLibrarySettings(t *testing.T) {
	if p := startSleeper(t); p.Info.Name != "sleeper" || p.Info.Settings != "" {
		t.Errorf("peer says %+v, want a sleeper without OMP_NUM_THREADS", p.Info)
	}
}

func TestRaceFillsBurstsAndSetsFailuresAside(t *testing.T) {
	p := startSleeper(t)
	good := &Entrant{Peer: p, Row: "sleep", Variant: "a", Label: "good"}
	eight := &Entrant{Peer: p, Row: "sleep", Variant: "b", Label: "eight", Quantum: 8}
	broken := &Entrant{Peer: p, Row: "broken", Variant: "a", Label: "broken"}
	field := []*Entrant{good, broken, eight}
	if err := Race(context.Background(), field, Pace{Burst: 12 * time.Millisecond, Rounds: 3}); err != nil {
		t.Fatal(err)
	}
	if good.steps != 12 || len(good.Bursts) != 3 || good.Median(Wall) != 1e-3 || good.Median(CPU) != 1e-6 {
		t.Errorf("good has %d steps a burst, bursts %v", good.steps, good.Bursts)
	}
	if eight.steps%8 != 0 || eight.steps == 0 {
		t.Errorf("eight does %d steps, want a multiple of 8", eight.steps)
	}
	var failed *PeerError
	if !errors.As(broken.Failure, &failed) || failed.Message != "does not build" || len(broken.Bursts) != 0 {
		t.Errorf("broken: %v, %d bursts", broken.Failure, len(broken.Bursts))
	}
	if best := Best(Wall, field, func(*Entrant) bool { return true }); best == nil || best == broken {
		t.Errorf("best is %v", best)
	}
}

func TestAnswersThatAreNotFiniteAreErrors(t *testing.T) {
	p := startSleeper(t)
	if _, err := p.Run("nan", "a", 3); err == nil {
		t.Error("a loss of 1e999 passes")
	}
}

func TestDeadPeerNamesItsLog(t *testing.T) {
	p := startSleeper(t)
	p.cancel()
	_, err := p.Run("sleep", "a", 1)
	for range 100 { // the kill takes a moment
		if err != nil {
			break
		}
		_, err = p.Run("sleep", "a", 1)
	}
	if err == nil || !strings.Contains(err.Error(), "sleeper.log") {
		t.Errorf("error of a dead peer: %v", err)
	}
}

// A peer that has answered spins on in a thread; only a stopped one uses no CPU until it is asked again.
func TestPeerStandsStillBetweenRequests(t *testing.T) {
	p := startSleeper(t)
	for range 2 {
		if _, err := p.Run("spin", "a", 1); err != nil {
			t.Fatal(err)
		}
		if state := stateOf(t, p); state != "T" {
			t.Errorf("the peer is in state %s after its answer, want T, stopped", state)
		}
	}
}

// stateOf gives a process the moment it takes to notice a signal.
func stateOf(t *testing.T, p *Peer) (state string) {
	t.Helper()
	for range 100 {
		text, err := exec.Command("ps", "-o", "state=", "-p", fmt.Sprint(p.cmd.Process.Pid)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if state = strings.TrimSpace(string(text))[:1]; state == "T" {
			return state
		}
		time.Sleep(time.Millisecond)
	}
	return state
}
