package node

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ID names a node on the air.
type ID uint16

const (
	// Nobody stands for no node; as a destination it means everybody in reach.
	Nobody ID = 0xFFFF
	// SinkID is the mobile sink's.
	SinkID ID = 0xFFFE
	// MaxID is the largest that a node may have.
	MaxID ID = 0xFFFD
)

// Time is in ticks of the network's clock.
type Time int64

// Wave identifies one spreading of HELLO. Newer waves replace older ones.
type Wave struct {
	Seq  uint32
	Root ID
}

// newer is the total order that keeps routes free of loops.
func (w Wave) newer(v Wave) bool { return w.Seq > v.Seq || w.Seq == v.Seq && w.Root > v.Root }

// Kind is the type of a message.
type Kind uint8

// Kinds of messages.
const (
	Hello Kind = iota
	Join
	Load
	MedianToken
	Reroot
	Thresh
	SinkBeacon
	NextReq
	NextRep
	Upload
	Ack
	Repair
	kinds
)

var kindNames = [kinds]string{"HELLO", "JOIN", "LOAD", "MEDIAN_TOKEN", "REROOT", "THRESH", "SINK_BEACON", "NEXT_REQ", "NEXT_REP", "UPLOAD", "ACK", "REPAIR"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Control tells whether messages of the kind maintain the structure, rather than carry data or guide the sink.
func (k Kind) Control() bool { return k <= Thresh || k == Repair }

// Flags of messages.
const (
	flagScout   = 1 << iota // the first wave, whose tree is not the next one's
	flagHurry               // somebody is gone, and so may be others: do not wait long for parents
	flagAgain               // the frame was given up once
	flagCore                // the sender belongs to the core
	flagSettled             // the sender has joined its parent in this wave
	flagAsk                 // HELLO: answer me
	flagRequest             // REPAIR: a wave is wanted, no parent
	flagUp                  // NEXT_REQ: name your parent
	flagReady               // the sender has received THRESH in this wave
)

// Buckets is the number of buckets of a histogram.
const Buckets = 32

// Message is a frame of the protocol. Fields that a kind does not use are zero.
type Message struct {
	Kind     Kind
	From, To ID
	Flags    uint16
	Energy   uint8  // level left, 0 to 255
	Wave     Wave   //
	Rank     uint16 // of the sender
	Load     uint32 // of the sender's subtree, packets a round; MEDIAN_TOKEN: of the whole tree
	Peer     ID     // JOIN, LOAD, HELLO: the sender's parent; NEXT_REP: the next stop; SINK_BEACON: the stop
	Lo, Hi   uint32 // range of the histogram; UPLOAD, ACK: sequence numbers; THRESH, Lo: bit k tells whether the k-th listed child belongs to the core
	B        uint32 // THRESH: threshold
	Gate     ID     // gate, top and weak of the sender, see gate.go
	Top      uint32
	Weak     uint8
	Call     uint8           // THRESH: its number, see call.go
	Heard    uint8           // number of the last one that the sender has received
	Hist     [Buckets]uint16 // loads of the nodes of the subtree; THRESH: whom it is for
}

func (m *Message) has(flag uint16) bool { return m.Flags&flag != 0 }

// carriesHist tells whether messages of the kind end with Hist.
func (k Kind) carriesHist() bool { return k == Join || k == Load || k == Repair || k == Thresh }

const (
	headSize = 1 + 2 + 2 + 2 + 1 + 4 + 2 + 2 + 4 + 2 + 4 + 4 + 4 + 2 + 4 + 1 + 1 + 1
	// MaxSize is the longest frame in bytes; IEEE 802.15.4 allows 127 with 11 for its own header and checksum.
	MaxSize = headSize + 2*Buckets
)

// Append encodes the message behind b.
func (m *Message) Append(b []byte) []byte {
	b = append(b, byte(m.Kind))
	b = binary.LittleEndian.AppendUint16(b, uint16(m.From))
	b = binary.LittleEndian.AppendUint16(b, uint16(m.To))
	b = binary.LittleEndian.AppendUint16(b, m.Flags)
	b = append(b, m.Energy)
	b = binary.LittleEndian.AppendUint32(b, m.Wave.Seq)
	b = binary.LittleEndian.AppendUint16(b, uint16(m.Wave.Root))
	b = binary.LittleEndian.AppendUint16(b, m.Rank)
	b = binary.LittleEndian.AppendUint32(b, m.Load)
	b = binary.LittleEndian.AppendUint16(b, uint16(m.Peer))
	b = binary.LittleEndian.AppendUint32(b, m.Lo)
	b = binary.LittleEndian.AppendUint32(b, m.Hi)
	b = binary.LittleEndian.AppendUint32(b, m.B)
	b = binary.LittleEndian.AppendUint16(b, uint16(m.Gate))
	b = binary.LittleEndian.AppendUint32(b, m.Top)
	b = append(b, m.Weak, m.Call, m.Heard)
	if m.Kind.carriesHist() {
		for _, count := range m.Hist {
			b = binary.LittleEndian.AppendUint16(b, count)
		}
	}
	return b
}

// ErrFrame is returned for bytes that are not a message.
var ErrFrame = errors.New("not a frame of the protocol")

// Decode reads what Append wrote.
func Decode(b []byte) (m Message, err error) {
	if len(b) < headSize || Kind(b[0]) >= kinds {
		return m, ErrFrame
	}
	u16, u32 := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32
	m = Message{Kind: Kind(b[0]), From: ID(u16(b[1:])), To: ID(u16(b[3:])), Flags: u16(b[5:]), Energy: b[7],
		Wave: Wave{u32(b[8:]), ID(u16(b[12:]))}, Rank: u16(b[14:]), Load: u32(b[16:]), Peer: ID(u16(b[20:])),
		Lo: u32(b[22:]), Hi: u32(b[26:]), B: u32(b[30:]), Gate: ID(u16(b[34:])), Top: u32(b[36:]), Weak: b[40], Call: b[41], Heard: b[42]}
	rest := b[headSize:]
	if !m.Kind.carriesHist() {
		if len(rest) != 0 {
			return m, ErrFrame
		}
		return m, nil
	}
	if len(rest) != 2*Buckets {
		return m, ErrFrame
	}
	for k := range m.Hist {
		m.Hist[k] = binary.LittleEndian.Uint16(rest[2*k:])
	}
	return m, nil
}
