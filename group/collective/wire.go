package collective

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"unicode/utf8"

	"millrace.dev/fabric"
)

// Types of frames that belong to named calls. A driver hands those to its Engine and none other.
const (
	FirstType uint8 = 0x30
	LastType  uint8 = 0x3f
)

const (
	frameData  = FirstType + iota // bulk: a slice
	frameAsk                      // the sender holds data of the call back until it knows that it has started
	frameGo                       // the call has started
	frameProbe                    // the sender has waited long; says what it expects
	frameTurn                     // all have started the call: its turn in shared memory is Aux
	frameAbort                    // the call has failed; Chunk says how, Aux who is at fault, the body why
)

// identity is what the members must agree on in a call. It stands in the header of each of its frames:
//
//	Flags   absent (1 bit), kind
//	Step    number of the call of this name (32 bits), elements (32)
//	Bucket  hash of the name
//	Chunk   lane (20 bits), type (4), reduction (3), algorithm (3), number of the frame in the lane (2)
//	Aux     weight so far for a weighted mean, else the root
type identity struct {
	kind      Kind
	typ       Type
	op        Op
	algorithm Algorithm
	count     uint32
	root      uint64
}

const (
	wireAbsent = 1
	laneBits   = 20
	maxLanes   = 1 << laneBits
	maxCount   = math.MaxUint32
)

// header makes a header of a frame of a call but for its lane and weight.
func (id identity) header(kind uint8, epoch uint64, hash, seq uint32) fabric.Header {
	return fabric.Header{
		Type: kind, Flags: uint8(id.kind) << 1, Epoch: epoch, Step: uint64(seq)<<32 | uint64(id.count), Bucket: hash,
		Chunk: uint32(id.typ)<<laneBits | uint32(id.op)<<(laneBits+4) | uint32(id.algorithm)<<(laneBits+7),
		Aux:   id.root,
	}
}

// identityOf reads what a header says of its call.
func identityOf(h fabric.Header) identity {
	id := identity{
		kind: Kind(h.Flags >> 1), typ: Type(h.Chunk >> laneBits & 15), op: Op(h.Chunk >> (laneBits + 4) & 7),
		algorithm: Algorithm(h.Chunk >> (laneBits + 7) & 7), count: uint32(h.Step), root: h.Aux,
	}
	if id.op == WeightedMean {
		id.root = 0
	}
	return id
}

func seqOf(h fabric.Header) uint32 { return uint32(h.Step >> 32) }
func laneOf(h fabric.Header) int   { return int(h.Chunk & (maxLanes - 1)) }
func nthOf(h fabric.Header) int    { return int(h.Chunk >> (laneBits + 10)) }

func hashOf(name string) uint32 {
	f := fnv.New32a()
	f.Write([]byte(name))
	return f.Sum32()
}

func (id identity) String() string {
	var b strings.Builder
	b.WriteString(id.kind.String())
	if id.op > 0 {
		fmt.Fprintf(&b, ", %v", id.op)
	}
	if id.kind != Barrier {
		fmt.Fprintf(&b, " of %d × %v", id.count, id.typ)
	}
	if id.kind == Broadcast {
		fmt.Fprintf(&b, " from rank %d", id.root)
	}
	fmt.Fprintf(&b, ", %v", id.algorithm)
	return b.String()
}

// maxText bounds the words of a frameAbort in bytes.
const maxText = 1024

// causes are the kinds of failure by their numbers on the wire.
var causes = []error{ErrMismatch, ErrCancelled, ErrInvalid}

// abortHeader and abortText make the frame that tells others of a failure; failureOf reads it.
func abortHeader(epoch uint64, hash, seq uint32, e *Error) fabric.Header {
	h := fabric.Header{Type: frameAbort, Epoch: epoch, Step: uint64(seq) << 32, Bucket: hash, Aux: uint64(e.Rank)}
	for i, c := range causes {
		if e.Err == c {
			h.Chunk = uint32(i)
		}
	}
	return h
}

func abortText(e *Error) []byte {
	text := e.Text
	for len(text) > maxText {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return []byte(text)
}

func failureOf(name string, h fabric.Header, body []byte) *Error {
	e := &Error{Name: name, Rank: int(h.Aux & math.MaxInt32), Text: strings.ToValidUTF8(string(body), "?"), Err: ErrCancelled}
	if int(h.Chunk) < len(causes) {
		e.Err = causes[h.Chunk]
	}
	return e
}
