package steplog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// DamageError says which line of a log cannot be read.
type DamageError struct {
	Path string
	Line int
	Err  error
}

func (e *DamageError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err) }

func (e *DamageError) Unwrap() error { return e.Err }

// BadInput marks the error as the fault of the file.
func (e *DamageError) BadInput() bool { return true }

// Read yields the records of the log in a directory, the oldest first, and ends with an error that is
// not nil where one cannot be read. A torn line at the end of the log is passed over.
func Read(dir string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		names, err := segments(dir)
		if err == nil && len(names) == 0 {
			err = fmt.Errorf("no step log in %s: %w", dir, os.ErrNotExist)
		}
		if err != nil {
			yield(Record{}, err)
			return
		}
		more := true
		for _, name := range names {
			_, err := scan(name, func(r Record) bool { more = yield(r, nil); return more })
			if !more {
				return
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
		}
	}
}

// scan reads one segment until yield returns false, and returns the length of its intact lines. Only
// what follows the last intact line may be torn.
func scan(path string, yield func(Record) bool) (size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 64<<10)
	var torn error
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if err == io.EOF {
			return size, nil
		}
		if err != nil && !errors.Is(err, errTorn) {
			return size, &DamageError{path, n, err}
		}
		if torn != nil {
			return size, torn
		}
		var r Record
		if err == nil {
			r, err = parseLine(line)
		}
		if err != nil {
			torn = &DamageError{path, n, err}
			continue
		}
		size += int64(len(line)) + 1
		if !yield(r) {
			return size, nil
		}
	}
}

var errTorn = errors.New("the line is torn")

// readLine returns a line without its line feed, io.EOF at the end, errTorn for a last line without
// a line feed.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("a line longer than %d bytes", maxLine)
		case err == nil:
			return line[:len(line)-1], nil
		case err == io.EOF && len(line) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, errTorn
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
