package control

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Summary is what reading a journal found.
type Summary struct {
	Records int         // records read
	Unknown int         // intact lines of kinds this version does not know
	Damaged int         // lines that are broken though intact lines follow them
	First   DamageError // the first of them
	Size    int64       // bytes up to the end of the last intact line
	Torn    int64       // bytes after it: a tail that a crash tore
}

// DamageError is a broken line in the middle of a journal: not a tail torn by
// a crash but damage to what was already written.
type DamageError struct {
	Path   string
	Line   int   // counted from 1
	Offset int64 // of the line's first byte
	Cause  error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s:%d: damaged at byte %d: %v", e.Path, e.Line, e.Offset, e.Cause)
}
func (e *DamageError) Unwrap() error  { return e.Cause }
func (e *DamageError) BadInput() bool { return true }

// scan reads the lines of a journal and yields the records of the intact
// ones. A broken line is damage if an intact line follows and a torn tail if
// none does. It returns an error only of reading or of yield.
func scan(r io.Reader, path string, yield func(Record) error) (Summary, error) {
	var (
		s       Summary
		offset  int64
		pending []DamageError // only the first is kept
		broken  int
	)
	lines := bufio.NewReaderSize(r, maxLine)
	for number := 1; ; number++ {
		line, length, err := readLine(lines)
		if err != nil && err != io.EOF {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		if length == 0 {
			break
		}
		record, fault := parseLine(line, length)
		if fault != nil && !errors.Is(fault, errUnknownKind) {
			if broken++; broken == 1 {
				pending = append(pending[:0], DamageError{path, number, offset, fault})
			}
			offset += length
			continue
		}
		if broken > 0 {
			if s.Damaged == 0 {
				s.First = pending[0]
			}
			s.Damaged, broken = s.Damaged+broken, 0
		}
		offset += length
		s.Size = offset
		if fault != nil {
			s.Unknown++
			continue
		}
		s.Records++
		if err := yield(record); err != nil {
			return s, err
		}
	}
	s.Torn = offset - s.Size
	return s, nil
}

// readLine returns the next line with its line feed and its length. A line
// longer than the reader's buffer is consumed but only its start returned.
func readLine(r *bufio.Reader) (line []byte, length int64, err error) {
	line, err = r.ReadSlice('\n')
	length = int64(len(line))
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = r.ReadSlice('\n')
		length += int64(len(more))
	}
	return line, length, err
}

func parseLine(line []byte, length int64) (Record, error) {
	switch {
	case length > int64(len(line)):
		return Record{}, fmt.Errorf("a line of %d bytes is longer than a line may be (%d)", length, maxLine)
	case line[len(line)-1] != '\n':
		return Record{}, errors.New("the line does not end")
	}
	return parseRecord(line[:len(line)-1])
}

// ReadJournal yields the records of the journal at path in their order, those
// undone by a later rewind included. It reads past damaged lines and counts
// them in the summary; it changes nothing, so it may read a journal that is
// being written.
func ReadJournal(path string, yield func(Record) error) (Summary, error) {
	file, err := os.Open(path)
	if err != nil {
		return Summary{}, err
	}
	defer file.Close()
	return scan(file, path, yield)
}
