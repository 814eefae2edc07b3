// Command _asm writes the assembly kernels of package vec and their Go declarations.
package main

import (
	"flag"

	"millrace.dev/internal/avx"
)

func main() {
	dir := flag.String("dir", "..", "folder of package vec")
	flag.Parse()
	for name, wide := range map[string]bool{"avx2": false, "avx512": true} {
		a := &asm{avx.New(wide)}
		for _, k := range kernels {
			a.emit(k)
		}
		a.emitStream()
		a.Write(*dir, "kernels_"+name+"_amd64", "vec")
	}
}
