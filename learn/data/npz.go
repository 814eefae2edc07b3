package data

import (
	"archive/zip"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// NPZ is a file of named arrays as numpy.savez and savez_compressed write it: a zip archive
// of .npy files. Arrays are read when they are asked for.
type NPZ struct {
	name    string
	entries map[string]*zip.File
	limit   int64 // bytes still allowed, over all arrays read
}

// npzMaxDirectory bounds what listing an archive may read: it holds some 40,000 names.
const npzMaxDirectory = 4 << 20

// errDirectory says that listing an archive read too much.
var errDirectory = fmt.Errorf("the archive's directory is larger than %d bytes", npzMaxDirectory)

// bounded is a ReaderAt that fails once it has read its allowance; a negative one is endless.
type bounded struct {
	io.ReaderAt
	left int64
}

func (b *bounded) ReadAt(p []byte, off int64) (int, error) {
	if b.left >= 0 {
		if int64(len(p)) > b.left {
			return 0, errDirectory
		}
		b.left -= int64(len(p))
	}
	return b.ReaderAt.ReadAt(p, off)
}

// ReadNPZ lists the arrays of an archive of the given size. Name stands for the file in
// errors. All arrays that are read together may take limit bytes at most; 0 means
// DefaultLimit.
func ReadNPZ(r io.ReaderAt, size int64, name string, limit int64) (*NPZ, error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	src := &bounded{ReaderAt: r, left: npzMaxDirectory}
	z, err := zip.NewReader(src, size)
	if err != nil {
		return nil, wrongFile(name, "not a readable .npz archive: %w", err)
	}
	src.left = -1
	n := &NPZ{name: name, entries: map[string]*zip.File{}, limit: limit}
	for _, f := range z.File {
		key, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, wrongField(name, f.Name, "is not a .npy file")
		}
		if n.entries[key] != nil {
			return nil, wrongField(name, f.Name, "comes twice")
		}
		n.entries[key] = f
	}
	return n, nil
}

// Names lists the arrays in alphabetic order.
func (n *NPZ) Names() []string {
	names := make([]string, 0, len(n.entries))
	for k := range n.entries {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// label names an array in errors.
func (n *NPZ) label(key string) string { return n.name + ": " + key + ".npy" }

// Array reads the array with this name.
func (n *NPZ) Array(key string) (*Array, error) {
	f := n.entries[key]
	if f == nil {
		return nil, wrongField(n.name, key, "there is no such array; the archive holds %s", strings.Join(n.Names(), ", "))
	}
	r, err := f.Open()
	if err != nil {
		return nil, wrongFile(n.label(key), "%w", err)
	}
	defer r.Close()
	a, err := ReadNPY(r, n.label(key), max(n.limit, 1))
	if err != nil {
		return nil, err
	}
	n.limit -= int64(len(a.Data))
	return a, nil
}

// NamedArray is an array to be written under a name.
type NamedArray struct {
	Name  string
	Array *Array
}

// WriteNPZ writes arrays as a compressed .npz archive, in the order given.
func WriteNPZ(w io.Writer, arrays []NamedArray) error {
	z := zip.NewWriter(w)
	for _, a := range arrays {
		f, err := z.Create(a.Name + ".npy")
		if err != nil {
			return err
		}
		if err := WriteNPY(f, a.Array); err != nil {
			return err
		}
	}
	return z.Close()
}

// openNPZ reads a data set from an archive.
func openNPZ(path string, opt Options) (*Set, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n, err := ReadNPZ(f, info.Size(), filepath.ToSlash(path), opt.limit())
	if err != nil {
		return nil, err
	}
	for _, names := range splits {
		if n.has(names.train[0]) && n.has(names.train[1]) {
			return openSplits(n, names, opt)
		}
	}
	return nil, wrongFile(path, "holds %s; want x_train and y_train (with x_test and y_test), train_images and train_labels, x and y, or images and labels", strings.Join(n.Names(), ", "))
}

func (n *NPZ) has(key string) bool { return n.entries[key] != nil }
