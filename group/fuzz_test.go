package group

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"

	"millrace.dev/fabric"
	"millrace.dev/group/protocol"
)

// sink is a connection whose other side is not there.
type sink struct {
	mu     sync.Mutex
	closed error
}

func (s *sink) Send(_ fabric.Priority, _ fabric.Header, _ []byte, done func(error)) {
	if done != nil {
		go done(nil)
	}
}
func (s *sink) Hold(int)    {}
func (s *sink) Release(int) {}
func (s *sink) Close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = fabric.ErrClosed
	}
	s.closed = err
}
func (s *sink) Remote() string      { return "nowhere" }
func (s *sink) Peer() string        { return "nobody" }
func (s *sink) Stats() fabric.Stats { return fabric.Stats{} }

// nets is a network on which nobody is.
type nets struct {
	accept func(fabric.Conn) (fabric.Handler, error)
}

func (n *nets) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	n.accept = accept
	return n, nil
}
func (n *nets) Dial(string, fabric.Handler) fabric.Conn { return &sink{} }
func (n *nets) Addr() string                            { return "unix:/nowhere" }
func (n *nets) Close() error                            { return nil }

// frames encodes frames as the fuzzer varies them: type, epoch, step, length, body.
func frames(list ...any) (b []byte) {
	for i := 0; i < len(list); i += 2 {
		kind := list[i].(uint8)
		body, ok := list[i+1].([]byte)
		if !ok {
			body, _ = json.Marshal(list[i+1])
		}
		b = append(b, kind, 1, 1)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(body)))
		b = append(b, body...)
	}
	return b
}

// feed gives a handler frames until it refuses one.
func feed(t *testing.T, h fabric.Handler, c fabric.Conn, text []byte) error {
	for len(text) >= 5 {
		head := fabric.Header{Type: text[0], Epoch: uint64(text[1]), Step: uint64(text[2])}
		n := min(int(binary.LittleEndian.Uint16(text[3:])), len(text)-5)
		head.Length = uint32(n)
		var body []byte
		if n > 0 {
			var err error
			if body, err = h.Body(c, head); err != nil {
				return err
			}
			if len(body) != n {
				t.Fatalf("room for %d of %d bytes", len(body), n)
			}
			copy(body, text[5:5+n])
		}
		if err := h.Frame(c, head, body); err != nil {
			return err
		}
		text = text[5+n:]
	}
	return nil
}

// FuzzLink throws frames at a worker, of strangers, members and joiners: it closes the connection or
// does what they say, and lives on.
func FuzzLink(f *testing.F) {
	peer := Member{ID: 8, Name: "peer", Addr: "unix:/peer", Host: "there"}
	plan := digest(16, nil)
	greeting := hello{Group: "fuzz", From: peer, Plan: plan}
	beat, err := protocol.Append(nil, &protocol.Beat{Epoch: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frames(typeHello, greeting, typeMessage, beat))
	f.Add(frames(typeHello, greeting, typeJoin, peer, typeWant, wantMessage{}, typeTake, takeMessage{Of: 1}))
	f.Add(frames(typeHello, hello{Visitor: true}, typeAsk, Question{Status: true}, typeAsk, Question{Drain: "self"}))
	f.Add(frames(typeHello, hello{Group: "fuzz", From: peer, Plan: 1}, typePlan, planMessage{Elements: 3}, typeMisfit, PlanError{Member: "x"}))
	f.Add(frames(typeHello, greeting, typeStripe, announcement{Size: 10, Hi: 10}, typePart, []byte("part"), typeHave, haveMessage{Complete: true}))
	f.Add(frames(typeHello, greeting, uint8(0x20), []byte("data"), uint8(0x30), []byte("call"), typeWelcome, welcome{}, typeRefuse, refusal{}))
	f.Add(frames(typeMessage, []byte("no hello")))
	ofNoEpoch := frames(typeHello, greeting, uint8(0x20), []byte{})
	ofNoEpoch[len(ofNoEpoch)-4] = 0
	f.Add(ofNoEpoch)
	third, again := Member{ID: 9, Name: "third", Addr: "unix:/third", Host: "here"}, Member{ID: 7, Name: "again", Addr: "unix:/self"}
	result := &protocol.Result{Step: 1, Epoch: 1, Facts: protocol.Facts{Weight: 2, Finite: true}, Records: []protocol.Entry{{ID: 7}, {ID: 8, Record: protocol.Record{Join: []Member{third}}}}}
	view := View{Epoch: 2, Members: []Member{peer, {ID: 7, Name: "self"}, third}}
	ballot := protocol.Ballot{Attempt: 1, Rank: 1}
	for _, change := range []*protocol.Change{
		{From: 1, Add: []Member{third}}, {From: 1, Add: []Member{again}}, {From: 1, Remove: []ID{8}}, {From: 1, Remove: []ID{7}}, {From: 1, Committed: 1, Result: result, Remove: []ID{8}},
	} {
		for _, msg := range []protocol.Message{
			&protocol.Accept{Epoch: 1, Ballot: ballot, Change: change, Chosen: true, Origin: 8},
			&protocol.Accept{Epoch: 1, Ballot: ballot, Change: change, Acks: []ID{8}, Origin: 8},
			&protocol.Installed{Change: change, View: &view},
			&protocol.Reconcile{Epoch: 1, Ballot: ballot, Votes: []protocol.Vote{{ID: 8, Committed: 1}}, Last: result, Proposal: change},
			&protocol.Reconcile{Epoch: 2, Ballot: ballot, Base: change, View: &view},
		} {
			text, err := protocol.Append(nil, msg)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(frames(typeHello, greeting, typeMessage, text, typeHello, hello{Group: "fuzz", From: third, Plan: plan}, uint8(0x20), []byte("data"), typeMessage, text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		self := Member{ID: 7, Name: "self", Addr: "unix:" + filepath.Join("/nowhere", "self"), Host: "here"}
		network := &nets{}
		w, err := Start(context.Background(), Config{
			Group: "fuzz", Self: self, Founders: []Member{self, peer}, Network: network, Elements: 16, State: newToy(16),
			Data: Data{Samples: 10, Batch: 2},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close() //nolint:errcheck // that it ends is what counts
		c := &sink{}
		h, err := network.accept(c)
		if err != nil {
			t.Fatal(err)
		}
		err = feed(t, h, c, text)
		w.Status() // the loop has handled everything
		h.Closed(c, err)
		w.Status()
	})
}
