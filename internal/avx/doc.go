// Package avx is what the generators of assembly have in common: vectors of 16 lanes on AVX2 and on AVX-512, the
// loops over a range of them, and how assembly and its Go declarations are printed.
//
// A generator is the module _asm beside the package that it writes for; this is a module too, which those replace
// by this folder, so that avo is no dependency of the product. An [Asm] emits one instruction set: its functions are
// written once, in terms of [Vec] and [Mask], and emitted for each. A mistake of a generator ends it.
package avx
