package cpu

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Caches holds the sizes in bytes of the data caches that one core sees.
type Caches struct{ L1d, L2, L3 int }

// defaultCaches is assumed where the operating system does not tell.
var defaultCaches = Caches{L1d: 32 << 10, L2: 512 << 10, L3: 8 << 20}

// CacheSizes returns the data caches of the first processor.
var CacheSizes = sync.OnceValue(func() Caches {
	return readCaches(os.DirFS("/").(readFS), "sys/devices/system/cpu/cpu0/cache", defaultCaches)
})

type readFS interface {
	ReadFile(name string) ([]byte, error)
}

// readCaches reads a cache folder as Linux lays it out; sizes it does not tell are taken from def.
func readCaches(fsys readFS, dir string, def Caches) Caches {
	c := def
	for i := range 8 {
		index := filepath.Join(dir, "index"+strconv.Itoa(i))
		level, err := fsys.ReadFile(filepath.Join(index, "level"))
		if err != nil {
			break
		}
		kind, _ := fsys.ReadFile(filepath.Join(index, "type"))
		text, _ := fsys.ReadFile(filepath.Join(index, "size"))
		size, ok := parseSize(strings.TrimSpace(string(text)))
		if !ok || strings.TrimSpace(string(kind)) == "Instruction" {
			continue
		}
		switch strings.TrimSpace(string(level)) {
		case "1":
			c.L1d = size
		case "2":
			c.L2 = size
		case "3":
			c.L3 = size
		}
	}
	return c
}

// parseSize reads a size such as "32K" or "16M", in bytes.
func parseSize(s string) (int, bool) {
	shift := 0
	switch {
	case strings.HasSuffix(s, "K"):
		shift = 10
	case strings.HasSuffix(s, "M"):
		shift = 20
	}
	if shift > 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 || n > math.MaxInt>>shift {
		return 0, false
	}
	return n << shift, true
}
