package data

import (
	"slices"
	"testing"
)

func TestRelabel(t *testing.T) {
	ds, err := NewBytes("set", []uint8{10, 20, 30}, []int{1}, []int32{1, 0, 1}, []string{"b", "d"})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Relabel(ds, []string{"b", "d"}); err != nil || same != Dataset(ds) {
		t.Errorf("the same classes make %v, %v", same, err)
	}
	wider := []string{"a", "b", "c", "d"}
	got, err := Relabel(ds, wider)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Classes(), wider) || !slices.Equal(labelsOf(t, got), []int32{3, 1, 3}) {
		t.Errorf("classes %v, labels %v", got.Classes(), labelsOf(t, got))
	}
	if !slices.Equal(all(t, got), all(t, ds)) || !slices.Equal(labelsOf(t, ds), []int32{1, 0, 1}) {
		t.Error("the samples changed")
	}
	normal, err := Normalize(ds, Norm{Mean: []float32{0.5}, Std: []float32{0.25}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err = Relabel(normal, wider); err != nil || !slices.Equal(blank(got), []float32{-2}) {
		t.Errorf("blank is %v, %v", blank(got), err)
	}
	if _, err := Relabel(ds, []string{"a", "b", "c"}); err == nil || err.Error() != `relabel: there is no class "d"` {
		t.Errorf("got %v", err)
	}
	values, labels, indices := make([]float32, 2), make([]int32, 2), []int{2, 0}
	if n := testing.AllocsPerRun(20, func() {
		if err := got.Batch(values, labels, indices); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a batch allocates %v times", n)
	}
}
