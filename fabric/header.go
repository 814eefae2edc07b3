package fabric

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Header is the fixed part of a frame. The fabric itself uses Length only; the
// others belong to the protocols above it.
type Header struct {
	Type   uint8  // kind of message
	Flags  uint8  // bits of the protocol's own
	Epoch  uint64 // number of the view
	Step   uint64
	Aux    uint64 // whatever the type says
	Bucket uint32
	Chunk  uint32
	Length uint32 // bytes of the body; Send sets it
}

// HeaderSize is the length of a header on the wire in bytes.
const HeaderSize = 48

const (
	magic   = "mlrc"
	version = 1
)

// class is the priority byte of the wire: that of a user's frame or one of the
// fabric's own kinds.
type class uint8

const (
	classControl = class(Control)
	classBulk    = class(Bulk)
	classHello   = class(16) // first frame of a stream
	classCredit  = class(17) // Aux more bytes of bulk may come
)

// limit returns the largest body of a frame of this class.
func (c class) limit() (bytes uint32, known bool) {
	switch c {
	case classControl:
		return MaxControl, true
	case classBulk:
		return MaxBulk, true
	case classHello:
		return maxName, true
	case classCredit:
		return 0, true
	}
	return 0, false
}

// crcAt is where the CRC of a header lies, behind all that it covers.
const crcAt = HeaderSize - 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal is the state from which the CRC of a header begins: that of frame n of
// a stream, counted from 0, to the receiver who chose the nonce. Different
// states give different checksums of the same header.
func seal(nonce uint32, n uint64) uint32 { return nonce + uint32(n)*0x9e3779b1 }

// putHeader writes a header into b.
func putHeader(b []byte, c class, h *Header, sealed uint32) {
	_ = b[HeaderSize-1]
	copy(b, magic)
	b[4] = version
	b[5] = byte(c)
	b[6] = h.Type
	b[7] = h.Flags
	binary.LittleEndian.PutUint64(b[8:], h.Epoch)
	binary.LittleEndian.PutUint64(b[16:], h.Step)
	binary.LittleEndian.PutUint64(b[24:], h.Aux)
	binary.LittleEndian.PutUint32(b[32:], h.Bucket)
	binary.LittleEndian.PutUint32(b[36:], h.Chunk)
	binary.LittleEndian.PutUint32(b[40:], h.Length)
	binary.LittleEndian.PutUint32(b[crcAt:], crc32.Update(sealed, castagnoli, b[:crcAt]))
}

// parseHeader reads a header from the first HeaderSize bytes of b. Errors lack
// the peer's address.
func parseHeader(b []byte, sealed uint32) (class, Header, error) {
	_ = b[HeaderSize-1]
	if string(b[:4]) != magic {
		return 0, Header{}, &ProtocolError{Reason: fmt.Sprintf("a frame begins with % x", b[:4])}
	}
	if b[4] != version {
		return 0, Header{}, &VersionError{Ours: version, Theirs: b[4]}
	}
	if binary.LittleEndian.Uint32(b[crcAt:]) != crc32.Update(sealed, castagnoli, b[:crcAt]) {
		return 0, Header{}, &ProtocolError{Reason: "the checksum of a header is wrong: it is damaged, repeated, or of another stream"}
	}
	h := Header{
		Type:   b[6],
		Flags:  b[7],
		Epoch:  binary.LittleEndian.Uint64(b[8:]),
		Step:   binary.LittleEndian.Uint64(b[16:]),
		Aux:    binary.LittleEndian.Uint64(b[24:]),
		Bucket: binary.LittleEndian.Uint32(b[32:]),
		Chunk:  binary.LittleEndian.Uint32(b[36:]),
		Length: binary.LittleEndian.Uint32(b[40:]),
	}
	c := class(b[5])
	limit, known := c.limit()
	if !known {
		return 0, Header{}, &ProtocolError{Reason: fmt.Sprintf("a frame of unknown class %d", c)}
	}
	if h.Length > limit {
		return 0, Header{}, &ProtocolError{Reason: fmt.Sprintf("a frame of class %d announces %d bytes, the limit is %d", c, h.Length, limit)}
	}
	return c, h, nil
}
