package sim

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace.dev/fabric"
)

const ms = time.Millisecond

// two connects a host "a" to a host "b" in a world with links of 1 to 5 ms.
func two(t *testing.T, seed uint64) (w *World, c fabric.Conn, from, at *recorder) {
	t.Helper()
	w = New(seed, Link{Min: ms, Max: 5 * ms})
	from, at = &recorder{}, &recorder{}
	if _, err := w.Host("b").Listen("sim:b", at.accept); err != nil {
		t.Fatal(err)
	}
	c = w.Host("a").Dial("sim:b", from)
	w.Run(20 * ms)
	if c.Peer() != "b" {
		t.Fatal("not connected")
	}
	return w, c, from, at
}

func send(c fabric.Conn, n int) {
	for i := range n {
		c.Send(fabric.Control, fabric.Header{Step: uint64(i)}, nil, nil)
	}
}

func TestKilledHostIsNoticedSoon(t *testing.T) {
	var eof, reset int
	for seed := range uint64(20) {
		w, c, from, at := two(t, seed)
		w.Host("b").AfterFunc(100*ms, func() { t.Error("a timer of a dead host fires") })
		at.conns[0].Send(fabric.Control, fabric.Header{Step: 9}, nil, nil)
		w.Kill("b")
		w.Run(5 * ms)
		if len(from.frames) != 1 || len(from.closed) != 1 {
			t.Fatalf("%d frames and %d closings came", len(from.frames), len(from.closed))
		}
		switch err := from.closed[0]; {
		case errors.Is(err, io.EOF):
			eof++
		case errors.Is(err, syscall.ECONNRESET):
			reset++
		default:
			t.Errorf("closed with %v", err)
		}
		if len(at.closed) != 0 {
			t.Error("the dead host heard of it")
		}
		again := &recorder{}
		w.Host("a").Dial("sim:b", again)
		send(c, 1)
		w.Run(time.Second)
		if len(again.closed) != 1 || !errors.Is(again.closed[0], syscall.ECONNREFUSED) {
			t.Errorf("dialed a dead host with %v", again.closed)
		}
	}
	if eof == 0 || reset == 0 {
		t.Errorf("%d ends of stream and %d resets", eof, reset)
	}
}

func TestKilledHostComesBack(t *testing.T) {
	w, _, _, _ := two(t, 1)
	old := w.Host("b")
	w.Kill("b")
	w.Kill("b")
	at, from := &recorder{}, &recorder{}
	if w.Host("b") == old {
		t.Fatal("the dead host is back")
	}
	if _, err := old.Listen("sim:b", at.accept); err == nil {
		t.Error("a dead host listens")
	}
	if _, err := w.Host("b").Listen("sim:b", at.accept); err != nil {
		t.Fatal(err)
	}
	send(w.Host("a").Dial("sim:b", from), 2)
	w.Run(time.Second)
	if len(at.frames) != 2 {
		t.Errorf("%d frames came", len(at.frames))
	}
}

// TestKilledWhileConnecting kills the host that dials at every moment of it:
// the other end must learn of it whenever it has heard of the dial.
func TestKilledWhileConnecting(t *testing.T) {
	for at := time.Duration(0); at < 15*ms; at += ms / 2 {
		for _, kill := range []string{"a", "b"} {
			w := New(3, Link{Min: ms, Max: 5 * ms})
			here, there := &recorder{}, &recorder{}
			if _, err := w.Host("b").Listen("sim:b", there.accept); err != nil {
				t.Fatal(err)
			}
			w.Host("a").Dial("sim:b", here)
			w.Run(at)
			w.Kill(kill)
			w.Run(time.Minute)
			if kill == "a" && len(there.closed) != len(there.conns) {
				t.Errorf("killed after %v: %d connections there, %d closed", at, len(there.conns), len(there.closed))
			}
			if kill == "b" && len(here.closed) != 1 {
				t.Errorf("killed after %v: the dial has no end", at)
			}
		}
	}
}

func TestVanishedHostIsNoticedByThoseWhoSend(t *testing.T) {
	w, c, from, at := two(t, 1)
	w.Vanish("b")
	w.Run(time.Minute)
	if len(from.closed) != 0 {
		t.Fatalf("noticed without sending: %v", from.closed)
	}
	send(c, 1)
	w.Run(UserTimeout)
	if len(from.closed) != 0 {
		t.Fatal("noticed at once")
	}
	dial := &recorder{}
	w.Host("a").Dial("sim:b", dial)
	w.Run(DialTimeout + 10*ms)
	if len(from.closed) != 1 || !errors.Is(from.closed[0], syscall.ETIMEDOUT) {
		t.Errorf("closed with %v", from.closed)
	}
	if len(dial.closed) != 1 || !errors.Is(dial.closed[0], syscall.ETIMEDOUT) {
		t.Errorf("dialed with %v", dial.closed)
	}
	if len(at.frames)+len(at.closed) != 0 {
		t.Error("the vanished host heard something")
	}
}

func TestFrozenHostGoesOnWhereItWas(t *testing.T) {
	w, c, from, at := two(t, 1)
	var fired []time.Time
	b := w.Host("b")
	b.AfterFunc(50*ms, func() { fired = append(fired, b.Now()) })
	stopped := b.AfterFunc(60*ms, func() { t.Error("a stopped timer fires") })
	w.Freeze("b")
	send(c, 10)
	w.Run(time.Second)
	if len(at.frames) != 0 || len(fired) != 0 {
		t.Fatal("a frozen host does something")
	}
	if !stopped.Stop() || stopped.Stop() {
		t.Error("a timer that waits cannot be stopped once")
	}
	thawed := w.Now()
	w.Thaw("b")
	send(c, 1)
	w.Run(100 * ms)
	if len(at.frames) != 11 || len(fired) != 1 || !fired[0].Equal(thawed) {
		t.Errorf("%d frames came, timers fired at %v", len(at.frames), fired)
	}
	for i, h := range at.frames[:10] {
		if h.Step != uint64(i) {
			t.Errorf("frame %d came as number %d", h.Step, i)
		}
	}
	if len(from.closed)+len(at.closed) != 0 {
		t.Error("a connection was lost")
	}
}

func TestFrozenHostCannotBeDialed(t *testing.T) {
	w, _, _, at := two(t, 1)
	w.Freeze("b")
	dial := &recorder{}
	w.Host("a").Dial("sim:b", dial)
	w.Run(DialTimeout + ms)
	if len(dial.closed) != 1 || !errors.Is(dial.closed[0], syscall.ETIMEDOUT) {
		t.Errorf("dialed with %v", dial.closed)
	}
	w.Thaw("b")
	w.Run(time.Second)
	if len(at.conns)-1 != len(at.closed) {
		t.Errorf("%d connections there, %d closed", len(at.conns), len(at.closed))
	}
}

func TestPartitionHoldsFramesUntilItHeals(t *testing.T) {
	w, c, from, at := two(t, 1)
	w.Partition([]string{"a"}) // b is in none
	send(c, 5)
	w.Run(UserTimeout / 2)
	if len(at.frames) != 0 {
		t.Fatal("frames cross a partition")
	}
	w.Heal()
	send(c, 1)
	w.Run(20 * ms)
	if len(at.frames) != 6 || len(from.closed) != 0 {
		t.Errorf("%d frames came, closed: %v", len(at.frames), from.closed)
	}
	for i, h := range at.frames[:5] {
		if h.Step != uint64(i) {
			t.Errorf("frame %d came as number %d", h.Step, i)
		}
	}
}

func TestLongPartitionBreaksConnections(t *testing.T) {
	w, c, from, at := two(t, 1)
	w.Partition([]string{"a"}, []string{"b"})
	send(c, 5)
	w.Run(2 * UserTimeout)
	if len(from.closed) != 1 || !errors.Is(from.closed[0], syscall.ETIMEDOUT) {
		t.Fatalf("closed with %v", from.closed)
	}
	if len(at.closed) != 0 {
		t.Error("the end that sent nothing noticed")
	}
	dial := &recorder{}
	c = w.Host("a").Dial("sim:b", dial)
	w.Run(DialTimeout / 2)
	w.Heal()
	at.conns[0].Send(fabric.Control, fabric.Header{}, nil, nil)
	send(c, 1)
	w.Run(time.Second)
	if len(at.closed) != 1 || !errors.Is(at.closed[0], syscall.ECONNRESET) {
		t.Errorf("the other end closed with %v", at.closed)
	}
	if len(at.frames) != 1 || len(dial.closed) != 0 {
		t.Errorf("a dial across the heal: %d frames, closed %v", len(at.frames), dial.closed)
	}
}

func TestLossDelaysAndResetEnds(t *testing.T) {
	w, c, from, at := two(t, 1)
	w.SetLink("a", "b", Link{Loss: 0.5, Retry: 30 * ms})
	send(c, 20)
	w.Run(10 * ms)
	early := len(at.frames)
	w.Run(10 * time.Second)
	if early >= 20 || len(at.frames) != 20 {
		t.Errorf("%d frames came at once, %d in the end", early, len(at.frames))
	}
	w.SetLink("a", "b", Link{Reset: 1})
	send(c, 1)
	w.Run(time.Second)
	if len(from.closed) != 1 || len(at.closed) != 1 || !errors.Is(at.closed[0], syscall.ECONNRESET) {
		t.Errorf("closed with %v and %v", from.closed, at.closed)
	}
}

func TestControlOvertakesBulkOnANarrowLink(t *testing.T) {
	w, c, _, at := two(t, 1)
	w.SetLink("a", "b", Link{Bandwidth: 1e6})
	body := make([]byte, 100_000) // 0.1 s each
	for i := range 5 {
		c.Send(fabric.Bulk, fabric.Header{Step: uint64(i)}, body, nil)
	}
	w.Run(150 * ms)
	c.Send(fabric.Control, fabric.Header{Step: 99}, nil, nil)
	w.Run(60 * ms)
	var steps []uint64
	for _, h := range at.frames {
		steps = append(steps, h.Step)
	}
	if fmt.Sprint(steps) != "[0 1 99]" {
		t.Errorf("frames came in the order %v", steps)
	}
	w.Run(time.Second)
	if len(at.frames) != 6 {
		t.Errorf("%d frames came", len(at.frames))
	}
}

// trace runs a busy world with all kinds of fault and returns what happened.
func trace(seed uint64) (string, uint64) {
	w := New(seed, Link{Min: ms, Max: 20 * ms, Loss: 0.05, Reset: 0.001, Bandwidth: 1e6})
	var lines strings.Builder
	w.Watch(func(e Event) { fmt.Fprintln(&lines, e) })
	names := []string{"a", "b", "c", "d"}
	var conns []fabric.Conn
	ring := func(name, next string) {
		h := w.Host(name)
		r := &recorder{}
		var forward fabric.Conn
		r.on = func(_ fabric.Conn, head fabric.Header) {
			head.Step++
			if head.Step < 3 {
				forward.Send(fabric.Priority(head.Step%2), head, make([]byte, 100*head.Step), nil)
			}
		}
		h.Listen("sim:"+name, r.accept)
		forward = h.Dial("sim:"+next, &recorder{})
		conns = append(conns, forward)
		var beat func()
		beat = func() {
			forward.Send(fabric.Control, fabric.Header{Epoch: uint64(name[0])}, nil, nil)
			h.AfterFunc(20*ms, beat)
		}
		beat()
	}
	for i, name := range names {
		ring(name, names[(i+1)%len(names)])
	}
	w.AfterFunc(300*ms, func() { w.Freeze("b") })
	w.AfterFunc(500*ms, func() { w.Partition([]string{"a", "b"}, []string{"c", "d"}) })
	w.AfterFunc(600*ms, func() { w.Thaw("b") })
	w.AfterFunc(900*ms, func() { w.Heal() })
	w.AfterFunc(1200*ms, func() { w.Kill("c") })
	w.AfterFunc(1250*ms, func() { w.Host("b").Dial("sim:c", &recorder{}) })
	w.AfterFunc(1300*ms, func() { ring("c", "d") })
	w.AfterFunc(2*time.Second, func() { conns[0].Close(nil) })
	w.Run(3 * time.Second)
	return lines.String(), w.Digest()
}

func TestSameSeedSameTrace(t *testing.T) {
	first, digest := trace(7)
	again, same := trace(7)
	other, differs := trace(8)
	if first != again || digest != same {
		t.Error("the same seed went another way")
	}
	if first == other || digest == differs {
		t.Error("another seed went the same way")
	}
	for _, kind := range []string{"dial", "open", "frame", "freeze", "thaw", "kill", "refuse", "close"} {
		if !strings.Contains(first, " "+kind+" ") {
			t.Errorf("the trace has no %q", kind)
		}
	}
	if n := strings.Count(first, "\n"); n < 200 {
		t.Errorf("the trace has %d events only", n)
	}
}

// TestThousandHosts passes a message round a ring of a thousand hosts.
func TestThousandHosts(t *testing.T) {
	const n, laps = 1000, 2
	w := New(1, Link{Min: ms, Max: 2 * ms})
	next := make([]fabric.Conn, n)
	came := 0
	for i := range n {
		r := &recorder{on: func(_ fabric.Conn, h fabric.Header) {
			if h.Type == 1 {
				return
			}
			if came++; came < laps*n {
				next[i].Send(fabric.Control, h, nil, nil)
			}
		}}
		if _, err := w.Host(fmt.Sprint(i)).Listen(fmt.Sprint("sim:", i), r.accept); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		h := w.Host(fmt.Sprint(i))
		next[i] = h.Dial(fmt.Sprint("sim:", (i+1)%n), &recorder{})
		var beat func()
		beat = func() { // every host has something to do all the time
			next[i].Send(fabric.Control, fabric.Header{Type: 1}, nil, nil)
			h.AfterFunc(50*ms, beat)
		}
		beat()
	}
	next[0].Send(fabric.Control, fabric.Header{}, nil, nil)
	if !w.RunUntil(func() bool { return came == laps*n }, time.Minute) {
		t.Errorf("%d of %d frames came", came, laps*n)
	}
}
