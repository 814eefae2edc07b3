package main

import (
	"bytes"
	"fmt"

	"millrace.dev/internal/avx"
)

// declarations collects the Go side of generated kernels.
type declarations struct{ decls, tiles, dots bytes.Buffer }

func (d *declarations) add(t *tile) {
	fmt.Fprintf(&d.decls, "//go:noescape\nfunc %s(t *tile)\n\n", t.name())
	fmt.Fprintf(&d.tiles, "case %d:\n%s(t)\n", t.id(), t.name())
}

func (d *declarations) addDots(k *dots) {
	fmt.Fprintf(&d.decls, "//go:noescape\nfunc %s(d *dots)\n\n", k.name())
	fmt.Fprintf(&d.dots, "case %d:\n%s(d)\n", k.id(), k.name())
}

func (d *declarations) source(s *isa) []byte {
	var b bytes.Buffer
	b.WriteString(avx.Header)
	b.WriteString("package gemm\n\n")
	b.Write(d.decls.Bytes())
	fmt.Fprintf(&b, "//go:noescape\nfunc %sPeak(rounds int)\n\n", s.name)
	fmt.Fprintf(&b, selectTile, s.name, d.tiles.String())
	fmt.Fprintf(&b, selectDots, s.name, d.dots.String())
	return avx.Format(b.Bytes())
}

const selectTile = `// %sTile runs the kernel whose number is id (see tileID).
func %[1]sTile(id int, t *tile) {
	switch id {
	%sdefault:
		panic("gemm: no such tile")
	}
}
`

const selectDots = `
// %sDots runs the kernel whose number is id (see dotsID).
func %[1]sDots(id int, d *dots) {
	switch id {
	%sdefault:
		panic("gemm: no such tile of dot products")
	}
}
`
