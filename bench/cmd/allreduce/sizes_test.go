package main

import "testing"

func TestSizes(t *testing.T) {
	if sizes := resNet50(); len(sizes) != 161 || sizes[0] != 9408 || sizes[160] != 1000 {
		t.Errorf("a ResNet-50 has %d tensors: %v", len(sizes), sizes)
	}
	for what, want := range map[string]int{"resnet50-fused": 25_557_032, "1KiB": 256, "3MiB": 3 << 18} {
		if sizes, err := sizesOf(what); err != nil || len(sizes) != 1 || sizes[0] != want {
			t.Errorf("%s: %v, %v", what, sizes, err)
		}
	}
	for _, what := range []string{"", "KiB", "-1KiB", "1GiB", "99999999MiB"} {
		if sizes, err := sizesOf(what); err == nil {
			t.Errorf("%q: %v", what, sizes)
		}
	}
}
