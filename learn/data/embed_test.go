package data

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
)

// The committed files are the ones that internal/extract made, and what they hold are the
// first samples of the published files: the sums of the elements were taken from those.
func TestExtractIsUnchanged(t *testing.T) {
	for name, want := range map[string][2]string{ // of the file, of its elements
		trainImages: {"64c028849ceedea2e3be1813087e663b0947deb86c884275d781ad38d273db4a", "2929ae1c7b89e0ee6587bbe4911fd5f0a5dafe21ae6ed9b737173cbfe20c12c9"},
		trainLabels: {"39f856cae25b7ceb2ad4cea9a9e13913c5e67497e941c4dbb252d0e45efa088f", "1022e4632874e71bb84d924c475e6a3428a2deeb8c5a0f612a015c97e4fce7f0"},
		testImages:  {"6aa292aea384ecc12a8c89abf8c54041795e235236d7bcdc08c9d0df9f842771", "09bbac78738f0229a68f7ca74e62665d7fb34f45ea7a3509ab5c4a202c1370de"},
		testLabels:  {"2b74aa0005a00b58d15df8f509d22761d1a7235f0463abe79152c5195e16b049", "a86243d2b2400909bc0a82f5fd5c9df83bf827852a1543e3dc70af890035a9d4"},
	} {
		b, err := extract.ReadFile("embedded/" + name + ".zst")
		if err != nil {
			t.Fatal(err)
		}
		a, err := readExtract(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, content := range [][]byte{b, a.Data} {
			if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want[i] {
				t.Errorf("%s: sum %d is %x", name, i, sum)
			}
		}
	}
}

func TestOpenExtract(t *testing.T) {
	set, err := Open(DefaultName, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Train.Len() != 10_000 || set.Test.Len() != 2_000 {
		t.Errorf("%d training and %d test samples", set.Train.Len(), set.Test.Len())
	}
	for _, ds := range []Dataset{set.Train, set.Test} {
		if !slices.Equal(ds.Shape(), []int{28, 28, 1}) || len(ds.Classes()) != 10 || ds.Storage() != Uint8 {
			t.Errorf("shape %v, %d classes, %v", ds.Shape(), len(ds.Classes()), ds.Storage())
		}
	}
	// The first training image of Fashion-MNIST is an ankle boot, the first test image too.
	label := make([]int32, 1)
	for _, ds := range []Dataset{set.Train, set.Test} {
		if err := ds.Batch(nil, label, []int{0}); err != nil {
			t.Fatal(err)
		}
		if got := ds.Classes()[label[0]]; got != "Ankle boot" {
			t.Errorf("first sample is %q", got)
		}
	}
}
