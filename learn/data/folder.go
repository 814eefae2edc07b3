package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// maxFirstSize bounds the size that images are scaled to when none is asked for.
const maxFirstSize = 64

// maxDecoders bounds the images that are decoded at once, and so the memory for it.
const maxDecoders = 4

// picture is one image file of a folder.
type picture struct {
	name  string // within the folder, with slashes
	label int32
	test  bool
}

// openFolder reads a folder of images, laid out as {train,test}/class/… or class/…. The first two
// may be written in capitals, and val stands for test. In the second case the test split is taken
// by a hash of each file's name, so that a file stays where it is when others come. Files that are
// no images by their ending, or hidden, are ignored. All images are decoded and kept as bytes:
// samples·height·width·channels.
func openFolder(dir string, opt Options) (*Set, error) {
	f := &imageFolder{fs: os.DirFS(dir), dir: filepath.ToSlash(dir), opt: opt}
	if err := f.list(); err != nil {
		return nil, err
	}
	shape, err := f.shape()
	if err != nil {
		return nil, err
	}
	pix, err := f.read(shape)
	if err != nil {
		return nil, err
	}
	labels := make([]int32, len(f.pictures))
	for i, p := range f.pictures {
		labels[i] = p.label
	}
	all, err := NewBytes(f.dir, pix, shape, labels, f.classes)
	if err != nil {
		return nil, err
	}
	set, err := f.split(all)
	if err != nil {
		return nil, err
	}
	set.Skipped = f.skipped
	return set, nil
}

// imageFolder is a folder while it is read.
type imageFolder struct {
	fs       fs.FS
	dir      string
	opt      Options
	classes  []string // sorted
	pictures []picture
	divided  bool     // into a training and a test folder
	skipped  []string // with SkipBad
}

// list finds the classes and the image files.
func (f *imageFolder) list() error {
	top, err := f.folders(".")
	if err != nil {
		return err
	}
	train, test := called(top, "train"), called(top, "test", "val")
	f.divided = train != "" && test != ""
	if !f.divided {
		f.classes = top
		return f.listClasses(".", top, false)
	}
	if f.classes, err = f.folders(train); err != nil {
		return err
	}
	if err := f.listClasses(train, f.classes, false); err != nil {
		return err
	}
	tested, err := f.folders(test)
	if err != nil {
		return err
	}
	return f.listClasses(test, tested, true)
}

// called finds the first of the names in a list, in upper or lower case; "" when none is there.
func called(list []string, names ...string) string {
	for _, name := range names {
		at := slices.IndexFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
		if at >= 0 {
			return list[at]
		}
	}
	return ""
}

// folders lists the folders in one, sorted, without hidden ones.
func (f *imageFolder) folders(in string) ([]string, error) {
	entries, err := fs.ReadDir(f.fs, in)
	if err != nil {
		return nil, f.wrong(in, plainCause(err))
	}
	var names []string
	for _, e := range entries {
		info, err := fs.Stat(f.fs, path.Join(in, e.Name())) // follows links
		if err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, f.wrong(in, withoutFolders(entries))
	}
	slices.Sort(names)
	return names, nil
}

// withoutFolders says what is missing in a folder, and what in it may have been meant.
func withoutFolders(entries []fs.DirEntry) error {
	for _, e := range entries {
		switch strings.ToLower(path.Ext(e.Name())) {
		case ".csv", ".tsv", ".npz", ".npy":
			return fmt.Errorf("holds no folder of images; name the file itself, such as %s, to read that", e.Name())
		}
	}
	return errors.New("holds no folder; want one folder of images per class, or train and test with one per class in each")
}

// listClasses finds the images of each class folder.
func (f *imageFolder) listClasses(in string, classes []string, test bool) error {
	for _, class := range classes {
		label, known := slices.BinarySearch(f.classes, class)
		if !known {
			return f.wrong(path.Join(in, class), errors.New("is a class that the training folder does not have"))
		}
		before := len(f.pictures)
		err := fs.WalkDir(f.fs, path.Join(in, class), func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return f.wrong(name, plainCause(err))
			}
			hidden := strings.HasPrefix(e.Name(), ".")
			if e.IsDir() && hidden {
				return fs.SkipDir
			}
			if !e.IsDir() && !hidden && imageExtensions[strings.ToLower(path.Ext(name))] {
				f.pictures = append(f.pictures, picture{name: name, label: int32(label), test: test})
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(f.pictures) == before {
			return f.wrong(path.Join(in, class), errors.New("holds no image; want .png, .jpg, .gif, .bmp, .tif or .webp files"))
		}
	}
	return nil
}

func (f *imageFolder) wrong(name string, err error) error {
	return &InputError{File: path.Join(f.dir, name), Offset: -1, Err: err}
}

// shape gives the samples' shape: as asked for, else that of the first readable image.
func (f *imageFolder) shape() ([]int, error) {
	channels := 1
	if f.opt.Color {
		channels = 3
	}
	height, width := f.opt.Height, f.opt.Width
	if height < 0 || width < 0 || (height == 0) != (width == 0) {
		return nil, wrongField(f.dir, "image size", "%d×%d is not a size", height, width)
	}
	for _, p := range f.pictures {
		if height > 0 {
			break
		}
		h, w, err := imageSize(f.fs, p.name, path.Join(f.dir, p.name))
		if err == nil {
			height, width = min(h, maxFirstSize), min(w, maxFirstSize)
		} else if !f.opt.SkipBad {
			return nil, err
		}
	}
	shape := []int{height, width, channels}
	if err := checkShape(f.dir, shape); err != nil {
		return nil, err
	}
	if n, ok := product([]int{len(f.pictures), height, width, channels}, 1); !ok || int64(n) > f.opt.limit() {
		return nil, wrongFile(f.dir, "%d images of shape %v take more than the limit of %d bytes", len(f.pictures), shape, f.opt.limit())
	}
	return shape, nil
}

// read decodes the images, several at once. The first unreadable one in the order of names
// is the error, or all of them are left out on request.
func (f *imageFolder) read(shape []int) ([]uint8, error) {
	size := elements(shape)
	pix := make([]uint8, len(f.pictures)*size)
	errs := make([]error, len(f.pictures))
	var next, firstBad atomic.Int64
	firstBad.Store(int64(len(f.pictures)))
	var decoders sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxDecoders) {
		decoders.Go(func() {
			for i := next.Add(1) - 1; i < firstBad.Load(); i = next.Add(1) - 1 {
				name := f.pictures[i].name
				errs[i] = readPixels(f.fs, name, path.Join(f.dir, name), pix[int(i)*size:int(i+1)*size], shape)
				if errs[i] != nil && !f.opt.SkipBad {
					lower(&firstBad, i)
				}
			}
		})
	}
	decoders.Wait()
	if at := firstBad.Load(); at < int64(len(errs)) {
		return nil, errs[at]
	}
	return f.compact(pix, errs, size), nil
}

// lower stores v when it is below what is there.
func lower(a *atomic.Int64, v int64) {
	for old := a.Load(); v < old; old = a.Load() {
		if a.CompareAndSwap(old, v) {
			return
		}
	}
}

// compact closes the gaps that unreadable images leave.
func (f *imageFolder) compact(pix []uint8, errs []error, size int) []uint8 {
	kept := 0
	for i, err := range errs {
		if err != nil {
			f.skipped = append(f.skipped, err.Error())
			continue
		}
		copy(pix[kept*size:(kept+1)*size], pix[i*size:(i+1)*size])
		f.pictures[kept] = f.pictures[i]
		kept++
	}
	f.pictures = f.pictures[:kept]
	return pix[:kept*size]
}

// split makes the two splits, by folder or by the hash of the name.
func (f *imageFolder) split(all Dataset) (*Set, error) {
	if !f.divided && f.opt.TestFraction == 1 {
		return &Set{Train: all, Test: all}, nil
	}
	if !f.divided {
		keys := make([]uint64, len(f.pictures))
		for i, p := range f.pictures {
			keys[i] = mix(purposeKey(p.name))
		}
		train, test, err := splitByKey(all, f.opt.testFraction(), keys)
		if err != nil {
			return nil, f.wrong(".", err)
		}
		return &Set{Train: train, Test: test}, nil
	}
	var parts [2][]int
	for i, p := range f.pictures {
		at := 0
		if p.test {
			at = 1
		}
		parts[at] = append(parts[at], i)
	}
	if len(parts[0]) == 0 || len(parts[1]) == 0 {
		return nil, f.wrong(".", errors.New("no readable image is left in the training or the test folder"))
	}
	return &Set{Train: &Subset{all, parts[0]}, Test: &Subset{all, parts[1]}}, nil
}
