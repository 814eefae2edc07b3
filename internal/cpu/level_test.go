package cpu

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		value string
		best  Level
		want  Level
		err   string
	}{
		{"", AVX512, AVX512, ""},
		{"", Generic, Generic, ""},
		{"generic", AVX512, Generic, ""},
		{"avx2", AVX512, AVX2, ""},
		{"avx512", AVX512, AVX512, ""},
		{"avx512", AVX2, AVX2, "at most avx2"},
		{"avx2", Generic, Generic, "at most generic"},
		{"AVX2", AVX512, AVX512, "not one of"},
		{"sse", AVX2, AVX2, "not one of"},
	} {
		got, err := choose(tc.value, tc.best)
		if got != tc.want {
			t.Errorf("choose(%q, %v) = %v, want %v", tc.value, tc.best, got, tc.want)
		}
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("choose(%q, %v): error %v, want %q", tc.value, tc.best, err, tc.err)
		}
	}
}

func TestSetRestores(t *testing.T) {
	before := Current()
	restore := Set(Generic)
	if Current() != Generic {
		t.Errorf("after Set(Generic): %v", Current())
	}
	inner := Set(AVX512)
	if Current() != Best() && Current() != AVX512 {
		t.Errorf("after Set(AVX512): %v with best %v", Current(), Best())
	}
	inner()
	if Current() != Generic {
		t.Errorf("after inner restore: %v", Current())
	}
	restore()
	if Current() != before {
		t.Errorf("after restore: %v, want %v", Current(), before)
	}
	if n := len(Levels()); Levels()[n-1] != Best() || Levels()[0] != Generic {
		t.Errorf("Levels() = %v with best %v", Levels(), Best())
	}
}

func TestReadCaches(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	fsys := fstest.MapFS{
		"c/index0/level": file("1"), "c/index0/type": file("Data"), "c/index0/size": file("48K"),
		"c/index1/level": file("1"), "c/index1/type": file("Instruction"), "c/index1/size": file("64K"),
		"c/index2/level": file("2"), "c/index2/type": file("Unified"), "c/index2/size": file("2M"),
		"c/index3/level": file("3"), "c/index3/type": file("Unified"), "c/index3/size": file("lots"),
	}
	want := Caches{L1d: 48 << 10, L2: 2 << 20, L3: defaultCaches.L3}
	if got := readCaches(fsys, "c", defaultCaches); got != want {
		t.Errorf("readCaches = %+v, want %+v", got, want)
	}
	if got := readCaches(fsys, "absent", defaultCaches); got != defaultCaches {
		t.Errorf("absent folder: %+v, want the defaults %+v", got, defaultCaches)
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{"32K": 32 << 10, "1M": 1 << 20, "512": 512, "": 0, "K": 0, "-1K": 0, "99999999999999999M": 0} {
		got, ok := parseSize(s)
		if got != want || ok != (want > 0) {
			t.Errorf("parseSize(%q) = %d, %v", s, got, ok)
		}
	}
}
