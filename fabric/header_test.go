package fabric

import (
	"math/rand/v2"
	"testing"
)

func TestHeadersComeBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		want := Header{
			Type: uint8(random.Uint32()), Flags: uint8(random.Uint32()),
			Epoch: random.Uint64(), Step: random.Uint64(), Aux: random.Uint64(),
			Bucket: random.Uint32(), Chunk: random.Uint32(), Length: random.Uint32N(MaxBulk + 1),
		}
		sealed := random.Uint32()
		class, got, err := parseHeader(rawHeader(classBulk, want, sealed), sealed)
		if err != nil || class != classBulk || got != want {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
	}
}

func TestEachChangedBitIsFound(t *testing.T) {
	good := rawHeader(classControl, Header{Type: 1, Length: 2}, 77)
	for bit := range 8 * HeaderSize {
		bad := append([]byte(nil), good...)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := parseHeader(bad, 77); err == nil {
			t.Errorf("bit %d is not missed", bit)
		}
	}
}

func TestSealsOfAStreamDiffer(t *testing.T) {
	seen := map[uint32]bool{}
	for n := range uint64(100_000) {
		s := seal(12345, n)
		if seen[s] {
			t.Fatalf("frame %d has the seal of an earlier one", n)
		}
		seen[s] = true
	}
}
