// Command extract makes the embedded extract of Fashion-MNIST from the full data set: the
// first samples of each split, unchanged and in their order, as IDX files in Zstandard
// frames, which are read faster than gzip's.
//
//	go run ./learn/data/internal/extract FROM TO
//
// FROM is the folder with the four published files, for example the one that Debian's
// package dataset-fashion-mnist installs; TO is the folder to write.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"millrace.dev/learn/data"
)

// kept is how many samples of each file go into the extract.
var kept = map[string]int{
	"train-images-idx3-ubyte": 10_000,
	"train-labels-idx1-ubyte": 10_000,
	"t10k-images-idx3-ubyte":  2_000,
	"t10k-labels-idx1-ubyte":  2_000,
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: extract FROM TO")
		os.Exit(2)
	}
	for name, n := range kept {
		if err := extract(filepath.Join(os.Args[1], name+".gz"), filepath.Join(os.Args[2], name+".zst"), n); err != nil {
			fmt.Fprintln(os.Stderr, "extract:", err)
			os.Exit(1)
		}
	}
}

// extract writes the first n rows of one IDX file to another.
func extract(from, to string, n int) error {
	a, err := data.ReadIDXFile(from, 0)
	if err != nil {
		return err
	}
	if a.Shape[0] < n {
		return fmt.Errorf("%s holds %d samples, want at least %d", from, a.Shape[0], n)
	}
	var idx bytes.Buffer
	if err := data.WriteIDX(&idx, a.Rows(n)); err != nil {
		return err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	return os.WriteFile(to, z.EncodeAll(idx.Bytes(), nil), 0o644)
}
