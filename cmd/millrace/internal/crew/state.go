package crew

import (
	"fmt"

	"millrace.dev/group"
	"millrace.dev/learn/tensor"
	"millrace.dev/learn/train"
)

// maxDescription bounds what a newcomer takes besides the vectors.
const maxDescription = 64 << 20

// state is a trainer's numbers as a sequence of bytes: its vectors, one after the other, and then
// its description.
type state struct {
	transfer    train.Transfer
	vectors     [][]byte
	size        int64 // of the vectors
	description []byte
}

var _ group.State = (*state)(nil)

// refresh looks at the trainer as it is now.
func (s *state) refresh() {
	s.vectors, s.size = s.vectors[:0], 0
	for _, v := range s.transfer.Vectors() {
		b := tensor.BytesF32(v)
		s.vectors = append(s.vectors, b)
		s.size += int64(len(b))
	}
}

// Size implements group.State. It fixes the description that ReadAt gives until the next call.
func (s *state) Size() int64 {
	s.refresh()
	text, err := s.transfer.Describe()
	if err != nil {
		text = nil // a newcomer cannot read it and says so
	}
	s.description = text
	return s.size + int64(len(text))
}

// ReadAt implements group.State.
func (s *state) ReadAt(p []byte, off int64) error {
	return s.each(p, off, func(part, mine []byte) { copy(part, mine) })
}

// Restore implements group.State.
func (s *state) Restore(size int64) error {
	s.refresh()
	n := size - s.size
	if n < 2 || n > maxDescription {
		return fmt.Errorf("the group's state has %d bytes, this worker's vectors have %d: it trains something else", size, s.size)
	}
	s.description = make([]byte, n)
	return nil
}

// WriteAt implements group.State.
func (s *state) WriteAt(p []byte, off int64) error {
	return s.each(p, off, func(part, mine []byte) { copy(mine, part) })
}

// Restored implements group.State.
func (s *state) Restored(uint64) error {
	text := s.description
	s.description = nil
	return s.transfer.Adopt(text)
}

// each gives do the parts of p, which stands at off, with what belongs there.
func (s *state) each(p []byte, off int64, do func(part, mine []byte)) error {
	at := int64(0)
	whole := p
	for _, v := range append(s.vectors[:len(s.vectors):len(s.vectors)], s.description) {
		if rel := off - at; len(p) > 0 && rel >= 0 && rel < int64(len(v)) {
			n := min(int64(len(p)), int64(len(v))-rel)
			do(p[:n], v[rel:rel+n])
			p, off = p[n:], off+n
		}
		at += int64(len(v))
	}
	if len(p) > 0 {
		return fmt.Errorf("%d bytes from %d on are not within a state of %d bytes", len(whole), off, at)
	}
	return nil
}
