package group

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/protocol"
)

// noted is a connection that notes what is sent.
type noted struct {
	sink
	sent []fabric.Header
}

func (n *noted) Send(p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	n.sent = append(n.sent, h)
	n.sink.Send(p, h, body, done)
}

// kinds are those of the frames that were sent, but beats.
func (n *noted) kinds() (all []uint8) {
	for _, h := range n.sent {
		if h.Type != typeMessage {
			all = append(all, h.Type)
		}
	}
	return all
}

// peer is the other member in tests of what happens when a connection to it ends, and it is back.
var peer = Member{ID: 8, Name: "peer", Addr: "unix:/peer"}

// follower is a joiner in a view with peer; do runs on its loop.
func follower(t *testing.T) (w *Worker, do func(func(lp *loop))) {
	t.Helper()
	w, err := Start(context.Background(), Config{
		Group: t.Name(), Self: Member{ID: 7, Name: "self", Addr: "unix:/self"}, Join: []string{"unix:/nobody"}, Network: &nets{},
		Elements: 16, State: newToy(16), Suspect: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() }) //nolint:errcheck // the test is over
	do = func(f func(lp *loop)) { w.hand(f) }
	do(func(lp *loop) {
		if lp.machine, err = protocol.NewJoiner(lp.protocol()); err != nil {
			t.Error(err)
		}
		lp.mesh.view = View{Epoch: 2, Members: []Member{peer, lp.self}}
		lp.mesh.joined[peer.ID] = time.Now()
		lp.account.Step = 1
	})
	return w, do
}

// meet makes a connection over which peer has said who it is.
func (lp *loop) meet() (*link, *noted) {
	n := &noted{}
	l := &link{w: lp.w, conn: n, introduced: lp.incarnation, made: time.Now()}
	l.hear(l.made)
	h := &hello{From: peer, Plan: lp.w.plan}
	l.peer.Store(h)
	lp.mesh.all[l] = true
	lp.greeted(l, h)
	return l, n
}

// TestStripeOfALostConnection: what is missing of a stripe is asked for again once its connection is lost, of the same
// member if that stays, and what is still on its way of the stripe asked for first does not count.
func TestStripeOfALostConnection(t *testing.T) {
	w, do := follower(t)
	var in *intake
	do(func(lp *loop) {
		_, n := lp.meet()
		lp.seek()
		lp.have(peer.ID, haveMessage{wantMessage{1, 2}, true})
		if !slices.Equal(n.kinds(), []uint8{typeWant, typeTake}) {
			t.Errorf("frames %v were sent", n.kinds())
		}
		in = w.intake.Load()
	})
	state := newToy(16)
	state.step = 1
	size := state.Size()
	bytes := make([]byte, size)
	state.ReadAt(bytes, 0) //nolint:errcheck // never fails
	give := func(epoch uint64, lo, hi int64, announced bool) {
		t.Helper()
		if !announced {
			body, err := json.Marshal(announcement{Size: size, Lo: lo, Hi: size, Ledger: (&loop{}).account.Ledger.Append(nil)})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.announce(peer.ID, fabric.Header{Epoch: epoch, Step: 1}, body); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.part(peer.ID, fabric.Header{Epoch: epoch, Step: 1, Aux: uint64(lo)}, bytes[lo:hi]); err != nil {
			t.Fatal(err)
		}
	}
	half := size / 2
	give(2, 0, half, false)
	do(func(lp *loop) {
		lp.suspect(peer.ID, "cut")
		_, n := lp.meet()
		lp.mesh.view.Epoch = 3
		lp.seek()
		if !slices.Equal(n.kinds(), []uint8{typeTake}) || n.sent[0].Epoch != 3 {
			t.Errorf("frames %v were sent after the connection was lost", n.sent)
		}
		if !lp.accounted() || lp.seeking.announced {
			t.Errorf("the ledger is known: %t; all of the state is promised: %t", lp.accounted(), lp.seeking.announced)
		}
	})
	give(2, half, size, true) // on its way since before
	if _, came := in.progress(); came != half {
		t.Errorf("%d bytes have come, %d of them count", came, half)
	}
	give(3, half, size, false)
	if _, came := in.progress(); came != size {
		t.Errorf("%d of %d bytes have come", came, size)
	}
}

// TestStripeIsGivenOnce: a joiner that asks again gets the stripe by its new connection alone.
func TestStripeIsGivenOnce(t *testing.T) {
	w, do := follower(t)
	do(func(lp *loop) {
		lp.restored = true
		a, _ := lp.meet()
		b, _ := lp.meet()
		lp.take(a, 2, takeMessage{Step: 1, Of: 2})
		lp.take(a, 2, takeMessage{Step: 1, Of: 2, Index: 1})
		lp.take(b, 3, takeMessage{Step: 1, Of: 2})
		if s := w.desk.stripes; len(s) != 2 || s[0].takeMessage.Index != 1 || s[1].to != b || s[1].asked != 3 {
			t.Errorf("stripes %v", s)
		}
	})
}

// TestQuestionOfALostConnection: who has the state is asked again of a member whose connection never stood.
func TestQuestionOfALostConnection(t *testing.T) {
	_, do := follower(t)
	do(func(lp *loop) {
		lp.seek() // dials
		lp.unlinked(lp.mesh.links[peer.ID][0], io.EOF)
		if lp.mesh.suspected[peer.ID] {
			t.Error("one that was never there is suspected")
		}
		_, n := lp.meet()
		if !slices.Equal(n.kinds(), []uint8{typeWant}) {
			t.Errorf("frames %v were sent", n.kinds())
		}
		lp.have(peer.ID, haveMessage{wantMessage{1, 2}, true})
		lp.meet()
		if !slices.Equal(n.kinds(), []uint8{typeWant, typeTake}) {
			t.Errorf("frames %v were sent, with the answer there", n.kinds())
		}
	})
}

// TestSuspectThatIsBack: a member that was suspected and is back is suspected again when it is silent again, but not for
// the end of the connections that were closed.
func TestSuspectThatIsBack(t *testing.T) {
	_, do := follower(t)
	do(func(lp *loop) {
		old, _ := lp.meet()
		old.used.Store(true)
		lp.broken = errors.New("the step is not reduced")
		lp.suspect(peer.ID, "silent")
		if !lp.mesh.suspected[peer.ID] {
			t.Error("it is not suspected")
		}
		l, n := lp.meet()
		lp.unlinked(old, io.EOF)
		if lp.mesh.suspected[peer.ID] || n.closed != nil {
			t.Error("it is suspected though it is back")
		}
		lp.mesh.joined[peer.ID] = time.Time{}
		l.hear(time.Now().Add(-2 * time.Hour))
		lp.checkSilence(peer, time.Now())
		if !lp.mesh.suspected[peer.ID] || n.closed == nil {
			t.Error("it is not suspected again")
		}
		lp.dismantle(errCutOff)
		if lp.broken != nil {
			t.Error("a view that is left ends the worker")
		}
	})
}

// TestReasonOfAView says why a view follows in which nobody is lost.
func TestReasonOfAView(t *testing.T) {
	_, do := follower(t)
	do(func(lp *loop) {
		if reason := lp.describe(protocol.Install{Change: &protocol.Change{}}); reason != "all whose loss was suspected are there" {
			t.Error(reason)
		}
		lost := protocol.Install{Change: &protocol.Change{Remove: []ID{peer.ID}, Add: []Member{{Name: "late"}}}}
		if reason := lp.describe(lost); reason != "peer was lost, late has joined" {
			t.Error(reason)
		}
	})
}

// TestBrokenStep ends a worker whose step cannot be reduced for long, but not where it stood still itself and the others could
// not tell it why.
func TestBrokenStep(t *testing.T) {
	_, do := follower(t)
	do(func(lp *loop) {
		long := time.Now().Add(-3 * lp.config.Suspect)
		lp.broken, lp.brokenSince, lp.mesh.lastBeat = errors.New("no reason"), long, long
		lp.beat()
		if lp.err != nil {
			t.Errorf("it ends after it stood still: %v", lp.err)
		}
		lp.brokenSince = long
		lp.beat()
		if lp.err != lp.broken {
			t.Errorf("it ends with %v", lp.err)
		}
	})
}
