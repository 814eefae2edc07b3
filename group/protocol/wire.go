package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A message is its kind, one byte, and its fields: numbers as varints; ids, hashes and floats as 8
// bytes, little endian; strings and lists after their length; what may be absent after a byte 0 or 1.

// Append appends a message's encoding to b. An error says that it would be longer than [MaxMessage].
func Append(b []byte, msg Message) ([]byte, error) {
	w := writer{b}
	w.byte(byte(msg.kind()))
	switch m := msg.(type) {
	case *Token:
		w.uint(m.Epoch)
		w.uint(m.Step)
		w.facts(m.Facts)
		w.entries(m.Records)
	case *Verdict:
		w.result(m.Result)
	case *Reconcile:
		w.uint(m.Epoch)
		w.ballot(m.Ballot)
		w.ids(m.Out)
		w.votes(m.Votes)
		w.maybe(m.Last != nil, func() { w.result(m.Last) })
		w.ballot(m.Accepted)
		w.maybe(m.Proposal != nil, func() { w.change(m.Proposal) })
		w.maybe(m.Base != nil, func() { w.change(m.Base) })
		w.maybe(m.View != nil, func() { w.view(m.View) })
	case *Accept:
		w.uint(m.Epoch)
		w.ballot(m.Ballot)
		w.change(m.Change)
		w.ids(m.Out)
		w.ids(m.Acks)
		w.bool(m.Chosen)
		w.id(m.Origin)
	case *Installed:
		w.change(m.Change)
		w.maybe(m.View != nil, func() { w.view(m.View) })
	case *Beat:
		w.uint(m.Epoch)
	case *Fence:
		w.uint(m.Epoch)
	}
	if n := len(w.b) - len(b); n > MaxMessage {
		return b, fmt.Errorf("a message of %d bytes, %d are possible", n, MaxMessage)
	}
	return w.b, nil
}

// AppendChange appends the encoding of a change, for the authority's keeping.
func AppendChange(b []byte, c *Change) []byte {
	w := writer{b}
	w.change(c)
	return w.b
}

type writer struct{ b []byte }

func (w *writer) byte(v byte)     { w.b = append(w.b, v) }
func (w *writer) uint(v uint64)   { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) fixed(v uint64)  { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) id(v ID)         { w.fixed(uint64(v)) }
func (w *writer) float(v float64) { w.fixed(math.Float64bits(v)) }

func (w *writer) bool(v bool) {
	if v {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

func (w *writer) maybe(present bool, write func()) {
	w.bool(present)
	if present {
		write()
	}
}

func (w *writer) string(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) ids(ids []ID) {
	w.uint(uint64(len(ids)))
	for _, id := range ids {
		w.id(id)
	}
}

func (w *writer) members(members []Member) {
	w.uint(uint64(len(members)))
	for _, m := range members {
		w.id(m.ID)
		w.string(m.Name)
		w.string(m.Addr)
		w.string(m.Host)
	}
}

func (w *writer) view(v *View) {
	w.uint(v.Epoch)
	w.members(v.Members)
}

func (w *writer) facts(f Facts) {
	w.uint(f.Weight)
	w.bool(f.Finite)
}

func (w *writer) ballot(b Ballot) {
	w.uint(uint64(b.Attempt))
	w.uint(uint64(b.Rank))
}

// Bits of a record.
const (
	recordFinite = 1 << iota
	recordReady
	recordLeave
	recordBits
)

func (w *writer) record(r *Record) {
	bits := byte(0)
	for _, f := range []struct {
		set bool
		bit byte
	}{{r.Finite, recordFinite}, {r.Ready, recordReady}, {r.Leave, recordLeave}} {
		if f.set {
			bits |= f.bit
		}
	}
	w.byte(bits)
	w.uint(r.Samples)
	w.uint(r.Correct)
	w.uint(r.InTop)
	w.float(r.Loss)
	w.float(r.Norm2)
	w.float(r.Rate)
	w.fixed(r.Hash)
	w.members(r.Join)
}

func (w *writer) entries(entries []Entry) {
	w.uint(uint64(len(entries)))
	for i := range entries {
		w.id(entries[i].ID)
		w.record(&entries[i].Record)
	}
}

func (w *writer) result(r *Result) {
	w.uint(r.Step)
	w.uint(r.Epoch)
	w.facts(r.Facts)
	w.entries(r.Records)
}

func (w *writer) votes(votes []Vote) {
	w.uint(uint64(len(votes)))
	for i := range votes {
		v := &votes[i]
		w.id(v.ID)
		w.uint(v.Committed)
		w.bool(v.Ready)
		w.maybe(v.Prepared, func() {
			w.facts(v.Facts)
			w.record(&v.Record)
		})
	}
}

func (w *writer) change(c *Change) {
	w.uint(c.From)
	w.ids(c.Remove)
	w.members(c.Add)
	w.uint(c.Committed)
	w.maybe(c.Result != nil, func() { w.result(c.Result) })
}

var (
	errTorn    = errors.New("a message is torn")
	errTrailer = errors.New("a message has bytes behind its end")
	errKind    = errors.New("a message is of no known kind")
	errNumber  = errors.New("a message has a number out of its range")
	errLength  = errors.New("a message has a list or string longer than possible")
)

// Decode reads a message. It keeps nothing of b, and allocates in proportion to len(b).
func Decode(b []byte) (Message, error) {
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("a message of %d bytes, %d are possible", len(b), MaxMessage)
	}
	r := reader{b: b}
	msg := r.message()
	if err := r.end(); err != nil {
		return nil, err
	}
	return msg, nil
}

// DecodeChange reads what AppendChange wrote.
func DecodeChange(b []byte) (*Change, error) {
	r := reader{b: b}
	c := r.change()
	if err := r.end(); err != nil {
		return nil, err
	}
	return c, nil
}

// reader keeps the first error, after which all that it reads is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		return errTrailer
	}
	return r.err
}

func (r *reader) message() Message {
	switch kind(r.byte()) {
	case kindToken:
		return &Token{Epoch: r.uint(), Step: r.uint(), Facts: r.facts(), Records: r.entries()}
	case kindVerdict:
		return &Verdict{Result: r.result()}
	case kindReconcile:
		m := &Reconcile{Epoch: r.uint(), Ballot: r.ballot(), Out: r.ids(), Votes: r.votes()}
		if r.bool() {
			m.Last = r.result()
		}
		m.Accepted = r.ballot()
		if r.bool() {
			m.Proposal = r.change()
		}
		if r.bool() {
			m.Base = r.change()
		}
		if r.bool() {
			m.View = r.view()
		}
		return m
	case kindAccept:
		return &Accept{Epoch: r.uint(), Ballot: r.ballot(), Change: r.change(), Out: r.ids(), Acks: r.ids(), Chosen: r.bool(), Origin: r.id()}
	case kindInstalled:
		m := &Installed{Change: r.change()}
		if r.bool() {
			m.View = r.view()
		}
		return m
	case kindBeat:
		return &Beat{Epoch: r.uint()}
	case kindFence:
		return &Fence{Epoch: r.uint()}
	}
	r.fail(errKind)
	return nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail(errTorn)
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errTorn)
		return 0
	}
	if n > 1 && r.b[n-1] == 0 { // a longer form than needed
		r.fail(errNumber)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) fixed() uint64 {
	if len(r.b) < 8 {
		r.fail(errTorn)
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) id() ID         { return ID(r.fixed()) }
func (r *reader) float() float64 { return math.Float64frombits(r.fixed()) }

func (r *reader) bool() bool {
	v := r.byte()
	if v > 1 {
		r.fail(errNumber)
	}
	return v == 1
}

// count reads the length of a list whose elements take at least size bytes each.
func (r *reader) count(limit, size int) int {
	n := r.uint()
	if n > uint64(limit) || n > uint64(len(r.b)/size) {
		r.fail(errLength)
		return 0
	}
	return int(n)
}

func (r *reader) string() string {
	n := r.count(maxString, 1)
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// list reads the elements of a list; an empty one is nil.
func list[T any](r *reader, limit, size int, element func() T) []T {
	n := r.count(limit, size)
	if n == 0 {
		return nil
	}
	l := make([]T, n)
	for i := range l {
		if r.err != nil {
			return nil
		}
		l[i] = element()
	}
	return l
}

func (r *reader) ids() []ID { return list(r, MaxMembers, 8, r.id) }

func (r *reader) members(limit int) []Member {
	return list(r, limit, 11, func() Member {
		return Member{ID: r.id(), Name: r.string(), Addr: r.string(), Host: r.string()}
	})
}

func (r *reader) view() *View { return &View{Epoch: r.uint(), Members: r.members(MaxMembers)} }

func (r *reader) facts() Facts { return Facts{Weight: r.uint(), Finite: r.bool()} }

func (r *reader) ballot() Ballot {
	attempt, rank := r.uint(), r.uint()
	if attempt > math.MaxUint32 || rank >= MaxMembers {
		r.fail(errNumber)
	}
	return Ballot{Attempt: uint32(attempt), Rank: uint32(rank)}
}

// minRecord is the length of the shortest record.
const minRecord = 1 + 3 + 4*8 + 1

func (r *reader) record() Record {
	bits := r.byte()
	if bits >= recordBits {
		r.fail(errNumber)
	}
	return Record{
		Finite: bits&recordFinite != 0, Ready: bits&recordReady != 0, Leave: bits&recordLeave != 0,
		Samples: r.uint(), Correct: r.uint(), InTop: r.uint(),
		Loss: r.float(), Norm2: r.float(), Rate: r.float(), Hash: r.fixed(),
		Join: r.members(maxJoin),
	}
}

func (r *reader) entries() []Entry {
	return list(r, MaxMembers, 8+minRecord, func() Entry { return Entry{ID: r.id(), Record: r.record()} })
}

func (r *reader) result() *Result {
	return &Result{Step: r.uint(), Epoch: r.uint(), Facts: r.facts(), Records: r.entries()}
}

func (r *reader) votes() []Vote {
	return list(r, MaxMembers, 11, func() Vote {
		v := Vote{ID: r.id(), Committed: r.uint(), Ready: r.bool(), Prepared: r.bool()}
		if v.Prepared {
			v.Facts, v.Record = r.facts(), r.record()
		}
		return v
	})
}

func (r *reader) change() *Change {
	c := &Change{From: r.uint(), Remove: r.ids(), Add: r.members(MaxMembers), Committed: r.uint()}
	if r.bool() {
		c.Result = r.result()
	}
	return c
}
