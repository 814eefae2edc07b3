package job

import (
	"errors"
	"strings"
	"testing"

	"millrace.dev/internal/host"
)

// TestMemory compares what is refused with what a trainer says that it takes.
func TestMemory(t *testing.T) {
	s := Defaults()
	s.EarlyStop = 2
	j, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.checkMemory(host.Memory{Limit: 1 << 40}, nil); err != nil {
		t.Error(err)
	}
	err = j.checkMemory(host.Memory{Limit: 20 << 20, Source: "/some/memory.max"}, nil)
	var short *MemoryError
	if !errors.As(err, &short) || !short.BadInput() || !strings.Contains(err.Error(), "20.0 MiB may be used by /some/memory.max: a smaller --batch") {
		t.Fatalf("got %v", err)
	}
	// Of a lenet: weights, gradients, two slots and the best weights; the pixels that its second
	// convolution reads and what that gives are kept for the backward pass.
	least := int64(4 * (5*j.Net.NumParams() + 64*14*14*(32+64)))
	if short.Needed < least || short.Needed > 2*least {
		t.Errorf("%d bytes are needed, at least %d", short.Needed, least)
	}
	if err := j.checkMemory(host.Memory{Limit: uint64(short.Needed)}, nil); err != nil {
		t.Error(err)
	}
	if err := j.checkMemory(host.Memory{Limit: uint64(short.Needed) - 1}, nil); err == nil {
		t.Error("a byte too few is enough")
	}
	if err := j.checkMemory(host.Memory{}, errors.ErrUnsupported); err != nil {
		t.Errorf("where the memory cannot be told: %v", err)
	}
}
