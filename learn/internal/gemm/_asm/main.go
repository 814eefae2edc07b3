// Command _asm writes the assembly kernels of package gemm, their Go declarations and the switch that selects one.
package main

import (
	"flag"

	"millrace.dev/internal/avx"
)

func main() {
	dir := flag.String("dir", "..", "folder of package gemm")
	flag.Parse()
	generate(*dir)
}

// generate writes all files to dir.
func generate(dir string) {
	for _, isa := range []*isa{avx512, avx2} {
		var decl declarations
		ctx := avx.NewContext()
		isa.tables(ctx)
		for _, kind := range isa.tiles {
			for mr := 1; mr <= kind.rows; mr++ {
				t := &tile{Context: ctx, isa: isa, mr: mr, nv: kind.vectors, vector: kind.vector}
				t.emit()
				decl.add(t)
			}
		}
		for _, size := range isa.dots {
			d := &dots{Context: ctx, isa: isa, mr: size[0], nr: size[1]}
			d.emit()
			decl.addDots(d)
		}
		emitPeak(ctx, isa)
		base := "kernels_" + isa.name + "_amd64"
		avx.WriteFile(dir, base+".s", avx.Assemble(ctx, "gemm"))
		avx.WriteFile(dir, base+".go", decl.source(isa))
	}
	ctx := avx.NewContext()
	emitPackRows(ctx, false)
	emitPackRows(ctx, true)
	emitTranspose(ctx)
	avx.WriteFile(dir, "pack_amd64.s", avx.Assemble(ctx, "gemm"))
}
