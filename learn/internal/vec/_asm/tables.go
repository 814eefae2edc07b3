package main

import (
	"bytes"
	"fmt"
	"strings"

	"millrace.dev/internal/avx"
)

// registry collects the kernels' names with the Go type of their table's entries.
type registry struct {
	names, types []string
	whole        map[string]int // levels whose assembly is called through a Go function that does the rest
}

// add notes a kernel; the second instruction set repeats the names of the first.
func (r *registry) add(name, typ string) {
	for _, n := range r.names {
		if n == name {
			return
		}
	}
	r.names, r.types = append(r.names, name), append(r.types, typ)
}

// addWhole notes a kernel that does only whole vectors on AVX2 (levels 1) or on both instruction sets
// (levels 2): its entry there is the Go function named "<name>Whole".
func (r *registry) addWhole(name, typ string, levels int) {
	if r.whole == nil {
		r.whole = map[string]int{}
	}
	r.whole[name] = levels
	r.add(name, typ)
}

// tables prints the table of each kernel, with assembly or without.
func (r *registry) tables(asm bool) []byte {
	var b bytes.Buffer
	b.WriteString(avx.Header)
	if !asm {
		b.WriteString("//go:build !amd64\n\n")
	}
	b.WriteString("package vec\n\n// The variants of each kernel.\nvar (\n")
	for i, n := range r.names {
		variants := []string{n + "Generic", n + "Generic", n + "Generic"}
		if asm {
			variants[1], variants[2] = n+"AVX2", n+"AVX512"
			for l := range r.whole[n] {
				variants[1+l] = n + "Whole"
			}
		}
		fmt.Fprintf(&b, "\t%sTab = table[%s]{%s}\n", n, r.types[i], strings.Join(variants, ", "))
	}
	b.WriteString(")\n")
	return avx.Format(b.Bytes())
}
