package crew

import (
	"bytes"
	"errors"
	"testing"
)

// numbers is a trainer's state of two vectors and some words.
type numbers struct {
	vectors [][]float32
	words   string
}

func (n *numbers) Vectors() [][]float32      { return n.vectors }
func (n *numbers) Describe() ([]byte, error) { return []byte(n.words), nil }
func (n *numbers) Adopt(text []byte) error   { n.words = string(text); return nil }

// TestState moves a state in parts of every size, which do not end where its vectors do.
func TestState(t *testing.T) {
	from := &numbers{[][]float32{{1, 2, 3}, {}, {4, 5}}, `{"step":7}`}
	for part := 1; part < 40; part++ {
		to := &numbers{vectors: [][]float32{make([]float32, 3), {}, make([]float32, 2)}}
		give, take := &state{transfer: from}, &state{transfer: to}
		size := give.Size()
		if err := take.Restore(size); err != nil {
			t.Fatal(err)
		}
		for off := size - 1; off >= 0; { // in any order: from the end
			lo := max(off-int64(part)+1, 0)
			p := make([]byte, off+1-lo)
			if err := errors.Join(give.ReadAt(p, lo), take.WriteAt(p, lo)); err != nil {
				t.Fatal(err)
			}
			off = lo - 1
		}
		if err := take.Restored(7); err != nil {
			t.Fatal(err)
		}
		if to.words != from.words || to.vectors[0][2] != 3 || to.vectors[2][1] != 5 {
			t.Fatalf("in parts of %d: %+v", part, to)
		}
	}
	other := &state{transfer: &numbers{vectors: [][]float32{make([]float32, 30)}}}
	if err := other.Restore(20); err == nil {
		t.Error("a state that is smaller than the vectors is taken")
	}
	if err := other.Restore(1 << 40); err == nil {
		t.Error("a state of a tebibyte is taken")
	}
	give := &state{transfer: from}
	if err := give.ReadAt(make([]byte, 8), give.Size()-4); err == nil {
		t.Error("it reads beyond its end")
	}
	if !bytes.Equal(give.description, []byte(from.words)) {
		t.Errorf("the description is %q", give.description)
	}
}
