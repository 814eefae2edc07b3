package group

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"github.com/zeebo/xxh3"
)

// NewID draws an ID that no other incarnation has.
func NewID() ID {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return ID(binary.LittleEndian.Uint64(b[:]) | 1)
}

// ThisHost names this machine as it runs now: a Member.Host.
func ThisHost() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// digest of what a gradient vector consists of; members must have the same.
func digest(elements int, tensors []Tensor) uint64 {
	h := xxh3.New()
	fmt.Fprintf(h, "%d\n", elements)
	for _, t := range tensors {
		fmt.Fprintf(h, "%q %d %d\n", t.Name, t.Lo, t.Hi)
	}
	return h.Sum64()
}
