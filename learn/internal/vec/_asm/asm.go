package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"millrace.dev/internal/avx"
)

// asm emits instructions on vectors of 16 logical lanes for one instruction set.
type asm struct {
	*avx.Asm
	consts  map[uint32]operand.Mem
	odd     reg.OpmaskVirtual // AVX-512: the odd lanes, where a kernel sets it
	numbers *operand.Mem      // 0, 1, … 15
	unfused bool              // multiply and add are rounded apart, as plain Go does
	saved   operand.Mem
}

type (
	vec  = avx.Vec
	mask = avx.Mask
)

// src is a vec or a constant's address.
type src any

func newAsm(wide bool) *asm {
	return &asm{Asm: avx.New(wide), consts: map[uint32]operand.Mem{}}
}

// constant is a float32 in eight lanes of read-only memory.
func (a *asm) constant(f float64) operand.Mem { return a.constBits(math.Float32bits(float32(f))) }

func (a *asm) constBits(b uint32) operand.Mem {
	if m, ok := a.consts[b]; ok {
		return m
	}
	m := a.StaticGlobal(fmt.Sprintf("c%08x", b))
	a.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		a.AddDatum(4*i, operand.U32(b))
	}
	a.consts[b] = m
	return m
}

// begin opens a function and flushes denormals from here to end.
func (a *asm) begin(name, signature string) {
	a.Begin(name, signature)
	a.saved = a.AllocLocal(8)
	mode := a.GP32()
	a.VSTMXCSR(a.saved)
	a.MOVL(a.saved, mode)
	a.ORL(operand.U32(0x8040), mode) // flush to zero, denormals are zero
	a.MOVL(mode, a.saved.Offset(4))
	a.VLDMXCSR(a.saved.Offset(4))
}

func (a *asm) end() {
	a.VLDMXCSR(a.saved)
	a.VZEROUPPER()
	a.RET()
}

// integer loads an int parameter.
func (a *asm) integer(name string) reg.GPVirtual {
	return a.Load(a.Param(name), a.GP64()).(reg.GPVirtual)
}

// copyOf is v in registers of its own.
func (a *asm) copyOf(v src) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		if c, ok := v.(operand.Mem); ok {
			a.VBROADCASTSS(c, d[h])
		} else {
			a.VMOVAPS(v.(vec)[h], d[h])
		}
	}
	return d
}
