package data

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
)

// The committed files are the ones that internal/extract made.
func TestExtractIsUnchanged(t *testing.T) {
	for name, want := range map[string]string{
		"train-images-idx3-ubyte.gz": "2e20e459cef635eed9b1389b56d5170a19e653da024f694f5efef3adfbdb7e74",
		"train-labels-idx1-ubyte.gz": "a5d324db6c7b523fc6df4dbb89c958a8cbd15099b68c13f283905ab3a3b03928",
		"t10k-images-idx3-ubyte.gz":  "782f9587bb127058f7ffc23f4860c6fc50df0fc09d46bb5b9c5dfbadf63c6bc8",
		"t10k-labels-idx1-ubyte.gz":  "2b0ef2287f4e2b012dff951ea8af007ca8ca7d062e72ad5e9c5506edba3975b5",
	} {
		b, err := extract.ReadFile("embedded/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has SHA-256 %x", name, sum)
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
