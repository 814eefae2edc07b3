package control

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Record is one line of a journal. Exactly one of its fields is set; a Signal
// is set when its name is not empty.
type Record struct {
	Signal   Signal
	Mark     *Mark
	Setting  *Assignment
	Decision *Decision
	Outcome  *Outcome
	Rewind   *Mark
}

// Mark is a point at which something happened to the loop itself: policies
// were asked, or a resumed run went back to it.
type Mark struct {
	Point uint64    `json:"point"`
	Time  time.Time `json:"time"`
}

// Assignment is a setting as the run began.
type Assignment struct {
	Subject string    `json:"subject"`
	Value   Setting   `json:"value"`
	Point   uint64    `json:"point"`
	Time    time.Time `json:"time"`
}

// point returns where in the flow the record stands.
func (r *Record) point() uint64 {
	switch {
	case r.Mark != nil:
		return r.Mark.Point
	case r.Setting != nil:
		return r.Setting.Point
	case r.Decision != nil:
		return r.Decision.Point
	case r.Outcome != nil:
		return r.Outcome.Point
	case r.Rewind != nil:
		return r.Rewind.Point
	}
	return r.Signal.Point
}

// time returns when a signal was measured or policies were asked.
func (r *Record) time() time.Time {
	if r.Mark != nil {
		return r.Mark.Time
	}
	return r.Signal.Time
}

// A line is {"crc32c":"00000000",BODY} where BODY is "KIND":{…} and the
// checksum covers BODY.
const (
	linePrefix = `{"crc32c":"`
	bodyStart  = len(linePrefix) + 8 + len(`",`)
	// maxLine bounds a line, its line feed included, on writing and reading.
	maxLine = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errUnknownKind is an intact line of a kind that this version does not know.
var errUnknownKind = errors.New("unknown kind of record")

// appendRecord appends the record's line. It allocates nothing for a signal
// when b has room.
func appendRecord(b []byte, r *Record) ([]byte, error) {
	start := len(b)
	b = append(append(b, linePrefix...), `00000000",`...)
	kind, value := r.content()
	b = append(append(append(b, '"'), kind...), `":`...)
	if value == nil {
		b = appendSignal(b, r.Signal)
	} else {
		text, err := json.Marshal(value)
		if err != nil {
			return b[:start], fmt.Errorf("journal: %s: %w", kind, err)
		}
		b = append(b, text...)
	}
	if len(b)-start > maxLine-2 {
		return b[:start], fmt.Errorf("journal: a %s of %d bytes is longer than a line may be (%d)", kind, len(b)-start, maxLine)
	}
	sum := crcOf(b[start+bodyStart:])
	hexSum(b[start+len(linePrefix):], sum)
	return append(b, '}', '\n'), nil
}

// content returns the kind of the record and its value, nil for a signal.
func (r *Record) content() (kind string, value any) {
	switch {
	case r.Mark != nil:
		return "point", r.Mark
	case r.Setting != nil:
		return "setting", r.Setting
	case r.Decision != nil:
		return "decision", r.Decision
	case r.Outcome != nil:
		return "outcome", r.Outcome
	case r.Rewind != nil:
		return "rewind", r.Rewind
	}
	return "signal", nil
}

func crcOf(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

func hexSum(dst []byte, sum uint32) {
	hex.Encode(dst, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// parseRecord reads one line without its line feed.
func parseRecord(line []byte) (Record, error) {
	if err := checkLine(line); err != nil {
		return Record{}, err
	}
	var w struct {
		Signal   *Signal     `json:"signal"`
		Point    *Mark       `json:"point"`
		Setting  *Assignment `json:"setting"`
		Decision *Decision   `json:"decision"`
		Outcome  *Outcome    `json:"outcome"`
		Rewind   *Mark       `json:"rewind"`
	}
	if err := json.Unmarshal(line, &w); err != nil {
		return Record{}, err
	}
	r := Record{Mark: w.Point, Setting: w.Setting, Decision: w.Decision, Outcome: w.Outcome, Rewind: w.Rewind}
	if w.Signal != nil {
		r.Signal = *w.Signal
	}
	if kinds := r.kinds(); kinds == 0 {
		return Record{}, errUnknownKind
	} else if kinds > 1 {
		return Record{}, errors.New("more than one record in a line")
	}
	return r, nil
}

func checkLine(line []byte) error {
	if len(line) <= bodyStart || !bytes.HasPrefix(line, []byte(linePrefix)) || line[len(line)-1] != '}' {
		return errors.New("not a line of a journal")
	}
	var sum [8]byte
	hexSum(sum[:], crcOf(line[bodyStart:len(line)-1]))
	if !bytes.Equal(sum[:], line[len(linePrefix):len(linePrefix)+8]) {
		return errors.New("the checksum does not match")
	}
	return nil
}

func (r *Record) kinds() (n int) {
	for _, set := range []bool{r.Signal.Name != "", r.Mark != nil, r.Setting != nil, r.Decision != nil, r.Outcome != nil, r.Rewind != nil} {
		if set {
			n++
		}
	}
	return n
}
