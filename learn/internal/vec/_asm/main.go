// Command _asm writes the assembly kernels of package vec, their Go declarations and the tables
// from which a kernel is picked.
package main

import (
	"flag"

	"millrace.dev/internal/avx"
)

func main() {
	dir := flag.String("dir", "..", "folder of package vec")
	flag.Parse()
	var names registry
	for _, wide := range []bool{false, true} {
		a := newAsm(wide)
		emitAll(a, &names)
		base := "kernels_avx2_amd64"
		if wide {
			base = "kernels_avx512_amd64"
		}
		a.Write(*dir, base, "vec")
	}
	avx.WriteFile(*dir, "tables_amd64.go", names.tables(true))
	avx.WriteFile(*dir, "tables_noasm.go", names.tables(false))
}
