// Command _asm writes the assembly kernels of package vec, their Go declarations and the tables
// from which a kernel is picked.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
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
		code, decl := a.finish(base + ".s")
		write(*dir, base+".s", code)
		write(*dir, base+".go", decl)
	}
	write(*dir, "tables_amd64.go", names.tables(true))
	write(*dir, "tables_noasm.go", names.tables(false))
}

func write(dir, name string, data []byte) {
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		log.Fatal(err)
	}
}
