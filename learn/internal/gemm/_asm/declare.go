package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
)

// declarations collects the Go side of generated kernels.
type declarations struct{ decls, cases bytes.Buffer }

func (d *declarations) add(t *tile) {
	fmt.Fprintf(&d.decls, "//go:noescape\nfunc %s(t *tile)\n\n", t.name())
	fmt.Fprintf(&d.cases, "case %d:\n%s(t)\n", t.id(), t.name())
}

func (d *declarations) source(s *isa) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("package gemm\n\n")
	b.Write(d.decls.Bytes())
	fmt.Fprintf(&b, "//go:noescape\nfunc %sPeak(rounds int)\n\n", s.name)
	fmt.Fprintf(&b, "// %sTile runs the kernel whose number is id (see tileID).\nfunc %[1]sTile(id int, t *tile) {\nswitch id {\n%sdefault: panic(\"gemm: no such tile\")\n}\n}\n", s.name, d.cases.String())
	out, err := format.Source(b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	return out
}
