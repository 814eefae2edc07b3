package shm

import (
	"encoding/binary"
	"fmt"
)

// offer is what a member tells another about the files that come along.
type offer struct {
	use      use
	epoch    uint64
	from, to uint64 // incarnations
	rank, n  uint32
	page     uint32 // bytes
	elements uint64 // of the vector; 0 for a comm
	plan     uint64
	refused  uint32 // 1: the member cannot share memory; no files come along
}

// use is what a view's memory is for.
type use uint32

const (
	useTeam use = iota + 1
	useComm
)

// files is the number of files that come along.
func (o *offer) files() int {
	switch {
	case o.refused != 0:
		return 0
	case o.use == useTeam:
		return 2 // vector, share
	}
	return 1
}

const (
	offerMagic = "mlshm\x00\x00\x01"
	offerSize  = 72
)

func (o *offer) encode() []byte {
	b := make([]byte, 0, offerSize)
	b = append(b, offerMagic...)
	for _, v := range []uint64{o.epoch, o.from, o.to, o.elements, o.plan} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, v := range []uint32{uint32(o.use), o.rank, o.n, o.page, o.refused} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return append(b, make([]byte, offerSize-len(b))...)
}

func parseOffer(b []byte) (offer, error) {
	if len(b) != offerSize || string(b[:8]) != offerMagic {
		return offer{}, fmt.Errorf("%d bytes that are no offer", len(b))
	}
	u64, u32 := binary.LittleEndian.Uint64, binary.LittleEndian.Uint32
	o := offer{
		epoch: u64(b[8:]), from: u64(b[16:]), to: u64(b[24:]), elements: u64(b[32:]), plan: u64(b[40:]),
		use: use(u32(b[48:])), rank: u32(b[52:]), n: u32(b[56:]), page: u32(b[60:]), refused: u32(b[64:]),
	}
	if o.use != useTeam && o.use != useComm {
		return offer{}, fmt.Errorf("an offer of unknown use %d", o.use)
	}
	return o, nil
}

// check compares a peer's offer with one's own.
func (o *offer) check(mine *offer, rank int) error {
	differs := func(what string, theirs, ours uint64) error {
		return &MismatchError{rank, fmt.Sprintf("has %s %d, this member %d", what, theirs, ours)}
	}
	switch {
	case o.rank != uint32(rank):
		return differs("the rank", uint64(o.rank), uint64(rank))
	case o.n != mine.n:
		return differs("a number of members of", uint64(o.n), uint64(mine.n))
	case o.page != mine.page:
		return differs("a page size in bytes of", uint64(o.page), uint64(mine.page))
	case o.elements != mine.elements:
		return differs("a vector with a number of elements of", o.elements, mine.elements)
	case o.plan != mine.plan:
		return &MismatchError{rank, "names the parts of its vector differently"}
	}
	return nil
}
