package protocol

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Generators of messages as they may come over the wire.

func genMember(t *rapid.T) Member {
	text := rapid.StringN(0, 8, maxString)
	return Member{ID: genID(t), Name: text.Draw(t, "name"), Addr: text.Draw(t, "addr"), Host: text.Draw(t, "host")}
}

func genID(t *rapid.T) ID { return ID(rapid.Uint64().Draw(t, "id")) }

func genList[T any](t *rapid.T, most int, element func(*rapid.T) T) []T {
	var l []T
	for range rapid.IntRange(0, most).Draw(t, "length") {
		l = append(l, element(t))
	}
	return l
}

func genFacts(t *rapid.T) Facts {
	return Facts{rapid.Uint64().Draw(t, "weight"), rapid.Bool().Draw(t, "finite")}
}

func genRecord(t *rapid.T) Record {
	float := rapid.Float64()
	return Record{
		Samples: rapid.Uint64().Draw(t, "samples"), Correct: rapid.Uint64().Draw(t, "correct"), InTop: rapid.Uint64().Draw(t, "in top"),
		Loss: float.Draw(t, "loss"), Norm2: float.Draw(t, "norm2"), Rate: float.Draw(t, "rate"), Hash: rapid.Uint64().Draw(t, "hash"),
		Finite: rapid.Bool().Draw(t, "finite"), Ready: rapid.Bool().Draw(t, "ready"), Leave: rapid.Bool().Draw(t, "leave"),
		Join: genList(t, 2, genMember),
	}
}

func genEntry(t *rapid.T) Entry { return Entry{genID(t), genRecord(t)} }

func genResult(t *rapid.T) *Result {
	return &Result{Step: rapid.Uint64().Draw(t, "step"), Epoch: rapid.Uint64().Draw(t, "epoch"), Facts: genFacts(t), Records: genList(t, 3, genEntry)}
}

func genVote(t *rapid.T) Vote {
	v := Vote{ID: genID(t), Committed: rapid.Uint64().Draw(t, "committed"), Ready: rapid.Bool().Draw(t, "ready")}
	if v.Prepared = rapid.Bool().Draw(t, "prepared"); v.Prepared {
		v.Facts, v.Record = genFacts(t), genRecord(t)
	}
	return v
}

func genChange(t *rapid.T) *Change {
	c := &Change{From: rapid.Uint64().Draw(t, "from"), Remove: genList(t, 3, genID), Add: genList(t, 3, genMember), Committed: rapid.Uint64().Draw(t, "committed")}
	if rapid.Bool().Draw(t, "result?") {
		c.Result = genResult(t)
	}
	return c
}

func genView(t *rapid.T) *View {
	return &View{Epoch: rapid.Uint64().Draw(t, "epoch"), Members: genList(t, 4, genMember)}
}

func genBallot(t *rapid.T) Ballot {
	return Ballot{rapid.Uint32().Draw(t, "attempt"), rapid.Uint32Range(0, MaxMembers-1).Draw(t, "rank")}
}

func genMessage(t *rapid.T) Message {
	epoch := rapid.Uint64().Draw(t, "epoch")
	switch kind(rapid.IntRange(1, int(kindFence)).Draw(t, "kind")) {
	case kindToken:
		return &Token{Epoch: epoch, Step: rapid.Uint64().Draw(t, "step"), Facts: genFacts(t), Records: genList(t, 3, genEntry)}
	case kindVerdict:
		return &Verdict{genResult(t)}
	case kindReconcile:
		m := &Reconcile{Epoch: epoch, Ballot: genBallot(t), Out: genList(t, 3, genID), Votes: genList(t, 3, genVote), Accepted: genBallot(t)}
		if rapid.Bool().Draw(t, "last?") {
			m.Last = genResult(t)
		}
		if rapid.Bool().Draw(t, "proposal?") {
			m.Proposal = genChange(t)
		}
		if rapid.Bool().Draw(t, "base?") {
			m.Base = genChange(t)
		}
		if rapid.Bool().Draw(t, "view?") {
			m.View = genView(t)
		}
		return m
	case kindAccept:
		return &Accept{Epoch: epoch, Ballot: genBallot(t), Change: genChange(t), Out: genList(t, 3, genID), Acks: genList(t, 3, genID),
			Chosen: rapid.Bool().Draw(t, "chosen"), Origin: genID(t)}
	case kindInstalled:
		m := &Installed{Change: genChange(t)}
		if rapid.Bool().Draw(t, "view?") {
			m.View = genView(t)
		}
		return m
	case kindBeat:
		return &Beat{epoch}
	}
	return &Fence{epoch}
}

func TestMessagesSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msg := genMessage(t)
		b, err := Append([]byte("before"), msg)
		if err != nil {
			t.Fatal(err)
		}
		b = b[len("before"):]
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("%v: %+v", err, msg)
		}
		if !reflect.DeepEqual(got, msg) {
			t.Fatalf("%+v is read as %+v", msg, got)
		}
		for _, n := range []int{0, len(b) / 3, len(b) - 1} {
			if _, err := Decode(b[:n]); err == nil {
				t.Fatalf("%d of %d bytes are read", n, len(b))
			}
		}
		if _, err := Decode(append(b, 0)); err == nil {
			t.Fatal("a byte too many is read")
		}
	})
}

func TestChangesSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genChange(t)
		got, err := DecodeChange(AppendChange(nil, c))
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("%+v is read as %+v, %v", c, got, err)
		}
	})
}

// TestLargestView has a view of the largest size with a step in flight pass in one message.
func TestLargestView(t *testing.T) {
	v := View{Epoch: 9}
	r := &Reconcile{Epoch: 9, Last: &Result{Step: 1 << 40, Epoch: 9}, Base: &Change{From: 8}}
	for i := range MaxMembers {
		id := ID(math.MaxUint64 - uint64(i))
		v.Members = append(v.Members, Member{ID: id, Name: "worker-123", Addr: "tcp:192.168.100.100:65535", Host: strings.Repeat("f", 36)})
		record := Record{Samples: 1 << 20, Correct: 1 << 20, InTop: 1 << 20, Loss: math.Pi, Norm2: math.Pi, Rate: math.Pi, Hash: math.MaxUint64}
		r.Votes = append(r.Votes, Vote{ID: id, Committed: 1 << 40, Prepared: true, Facts: Facts{Weight: 1 << 30}, Record: record})
		r.Last.Records = append(r.Last.Records, Entry{id, record})
	}
	b, err := Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(b); err != nil {
		t.Fatal(err)
	}
	w := &Installed{Change: r.Base, View: &v}
	if b, err = Append(nil, w); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(b); err != nil {
		t.Fatal(err)
	}
	r.View = &v
	if _, err := Append(nil, &Reconcile{Votes: r.Votes, Last: r.Last, View: &v, Base: &Change{Result: r.Last, Add: v.Members}}); err == nil {
		t.Error("a message longer than MaxMessage is sent")
	}
}

// TestDecodeAllocatesLittle has lengths that promise more than there is.
func TestDecodeAllocatesLittle(t *testing.T) {
	long := append([]byte{byte(kindFence)}, bytes.Repeat([]byte{0xff}, 9)...)
	for _, b := range [][]byte{
		{byte(kindToken), 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f},
		{byte(kindToken), 1, 1, 1, 1, 0x80, 0x08},
		{byte(kindReconcile), 1, 1, 1, 0xff, 0x07, 1},
		{byte(kindInstalled), 1, 0, 0xff, 0x07, 1, 2, 3},
		long,
		make([]byte, MaxMessage+1),
	} {
		if _, err := Decode(b); err == nil {
			t.Errorf("% x is read", b[:min(len(b), 16)])
		}
		if n := testing.AllocsPerRun(10, func() { _, _ = Decode(b) }); n > 8 {
			t.Errorf("% x takes %v allocations", b[:min(len(b), 16)], n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, msg := range []Message{
		&Token{Epoch: 1, Step: 2, Records: []Entry{{ID: 3, Record: Record{Join: []Member{{ID: 4, Name: "w4"}}}}}},
		&Verdict{&Result{Step: 3, Facts: Facts{5, true}}},
		&Reconcile{Epoch: 1, Votes: []Vote{{ID: 1, Prepared: true}}, Last: &Result{}, Proposal: &Change{}, Base: &Change{}, View: &View{}},
		&Accept{Change: &Change{Remove: []ID{7}}, Acks: []ID{1, 2}},
		&Installed{Change: &Change{}, View: &View{Members: []Member{{Name: "w"}}}},
		&Beat{1}, &Fence{2},
	} {
		b, err := Append(nil, msg)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		msg, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Append(nil, msg)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("% x is read as %+v, which is written as % x, %v", b, msg, again, err)
		}
		// Nothing that can be read makes a member panic.
		for _, authority := range []Authority{Service, Majority} {
			for _, m := range []*Machine{someMember(t, authority), someJoiner(t, authority)} {
				m.Handle(epoch0, Received{From: 2, Message: msg})
				m.Handle(epoch0, Suspect{ID: 3})
				m.Handle(epoch0.Add(1e9), Tick{})
				_ = m.Waiting()
			}
		}
	})
}

func someMember(t testing.TB, a Authority) *Machine {
	v := View{Epoch: 1, Members: []Member{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "c"}}}
	m, err := New(Config{Self: v.Members[0], Authority: a}, v)
	if err != nil {
		t.Fatal(err)
	}
	m.Handle(epoch0, Prepared{Epoch: 1, Step: 1, Facts: Facts{3, true}})
	return m
}

func someJoiner(t testing.TB, a Authority) *Machine {
	m, err := NewJoiner(Config{Self: Member{ID: 4, Name: "d"}, Authority: a})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
