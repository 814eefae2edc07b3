package collective

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace.dev/fabric"
)

func TestHeadersCarryTheIdentity(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		id := identity{
			kind: Kind(rapid.IntRange(1, 5).Draw(rt, "kind")), typ: Type(rapid.IntRange(0, 12).Draw(rt, "type")),
			op: Op(rapid.IntRange(0, 5).Draw(rt, "op")), algorithm: Algorithm(rapid.IntRange(1, 4).Draw(rt, "algorithm")),
			count: rapid.Uint32().Draw(rt, "count"),
		}
		if id.kind == Broadcast {
			id.op, id.root = 0, uint64(rapid.IntRange(0, 9999).Draw(rt, "root"))
		}
		seq, lane := rapid.Uint32().Draw(rt, "seq"), rapid.IntRange(0, maxLanes-1).Draw(rt, "lane")
		h := id.header(frameData, 9, 77, seq)
		nth := rapid.IntRange(0, 3).Draw(rt, "nth")
		h.Chunk |= uint32(lane) | uint32(nth)<<(laneBits+10)
		h.Flags |= uint8(rapid.IntRange(0, 1).Draw(rt, "absent"))
		if id.op == WeightedMean {
			h.Aux = 12345
		}
		if identityOf(h) != id || seqOf(h) != seq || laneOf(h) != lane || nthOf(h) != nth || h.Bucket != 77 {
			rt.Fatalf("%+v becomes %+v", id, identityOf(h))
		}
	})
}

func TestFailuresOnTheWire(t *testing.T) {
	for _, kind := range causes {
		e := &Error{Name: "x", Rank: 5, Err: kind, Text: "rank 5 did it — " + strings.Repeat("ü", maxText)}
		text := abortText(e)
		got := failureOf("x", abortHeader(1, 2, 3, e), text)
		if len(text) > maxText || !strings.HasPrefix(e.Text, got.Text) || got.Rank != 5 || !errors.Is(got, kind) {
			t.Errorf("%+v", got)
		}
	}
	if got := failureOf("x", fabric.Header{Aux: 1 << 63, Chunk: 99}, []byte("\xff")); got.Err != ErrCancelled || got.Text != "?" || got.Rank < 0 {
		t.Errorf("%+v", got)
	}
}

// Frames that make no sense are errors and nothing else: no panic, no more memory than is stated.
func FuzzEngineFrames(f *testing.F) {
	id := identity{kind: AllReduce, typ: Float32, op: Sum, algorithm: Ring, count: 100}
	seed := func(h fabric.Header, length uint32) []byte {
		var b []byte
		b = append(b, h.Type, h.Flags, 1)
		b = binary.LittleEndian.AppendUint64(b, h.Step)
		b = binary.LittleEndian.AppendUint64(b, h.Aux)
		b = binary.LittleEndian.AppendUint32(b, h.Bucket)
		b = binary.LittleEndian.AppendUint32(b, h.Chunk)
		return binary.LittleEndian.AppendUint32(b, length)
	}
	hash := hashOf("x")
	f.Add(uint8(AllReduce), seed(id.header(frameData, 3, hash, 0), 132))
	f.Add(uint8(AllReduce), append(seed(id.header(frameProbe, 3, hash, 0), 0), seed(id.header(frameData, 3, hash, 1), 132)...))
	id.op = WeightedMean
	f.Add(uint8(AllReduce), seed(id.header(frameData, 3, hash, 0), 0))
	f.Add(uint8(Barrier), seed(fabric.Header{Type: frameAbort, Bucket: hash}, 10))
	f.Add(uint8(Broadcast), seed(fabric.Header{Type: frameAsk, Bucket: hash}, 0))
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		e, err := New(Config{Epoch: 3, Rank: 0, Size: 3, Clock: fabric.System,
			Send: func(int, fabric.Priority, fabric.Header, []byte, func(error)) {}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Cancel(errEnough)
		start := func() {
			n := 100
			dst := Of(make([]float32, n))
			r := Request{Name: "x", Kind: Kind(kind%5 + 1), Op: Op(kind/5%5 + 1), Algorithm: Ring, Src: Of(make([]float32, n)), Dst: dst, Root: 1}
			if r.Kind == Barrier {
				r.Algorithm = Tree
			}
			if r.Kind == ReduceScatter {
				r.Dst = Of(make([]float32, 33))
			}
			if r.Kind == AllGather {
				r.Src = Of(make([]float32, 33))
				r.Dst = Of(make([]float32, 99))
			}
			if _, err := e.Start(r); err != nil {
				t.Fatal(err)
			}
		}
		start()
		const size = 31
		for i := 0; len(data) >= size; i, data = i+1, data[size:] {
			h := fabric.Header{Type: data[0], Flags: data[1], Epoch: 3, Step: binary.LittleEndian.Uint64(data[3:]), Aux: binary.LittleEndian.Uint64(data[11:]),
				Bucket: binary.LittleEndian.Uint32(data[19:]), Chunk: binary.LittleEndian.Uint32(data[23:]), Length: binary.LittleEndian.Uint32(data[27:]) % fabric.MaxBulk}
			from := 1 + int(data[2]%2)
			if i == 3 {
				start()
			}
			var body []byte
			if h.Length > 0 {
				if body, err = e.Body(from, h); err != nil {
					e.Closed(from)
					return
				}
				if len(body) != int(h.Length) {
					t.Fatalf("%d bytes for a body of %d", len(body), h.Length)
				}
			}
			if err := e.Frame(from, h, body); err != nil {
				e.Closed(from)
				return
			}
			for p := range e.peers {
				if e.peers[p].early > EarlyBytes {
					t.Fatal("too much is kept")
				}
			}
		}
	})
}
