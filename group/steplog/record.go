package steplog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// Record is one committed step.
type Record struct {
	Step      uint64  `json:"step"`
	View      uint64  `json:"view"`   // epoch of the view in which it was reduced
	DataEpoch uint64  `json:"epoch"`  // whose order the ranges are positions of
	Parts     []Part  `json:"parts"`  // of that view's members, in rank order
	Weight    uint64  `json:"weight"` // Σ samples of the parts
	Outcome   string  `json:"outcome"`
	Algorithm string  `json:"algorithm"` // which order of additions
	Elements  int     `json:"elements"`
	Chunk     int     `json:"chunk"` // elements
	Rate      float64 `json:"rate"`  // learning rate of the update
	// Hash is of the parameters before the step, 0 if unknown.
	Hash uint64 `json:"hash,omitempty"`
}

// Part is what one member gave.
type Part struct {
	Member  uint64  `json:"id"`
	Name    string  `json:"name"`
	Samples uint64  `json:"samples"`          // 0: it only received
	Offset  uint64  `json:"offset,omitempty"` // samples of the step's batch that were given out before them
	Ranges  []Range `json:"ranges,omitempty"`
}

// Range is the samples at positions from [0] up to, not including, [1].
type Range [2]uint64

// Equal says whether two workers tell the same of a step. A hash that one of them did not know is no
// difference.
func (r *Record) Equal(o *Record) bool {
	a, b := *r, *o
	if a.Hash == 0 || b.Hash == 0 {
		a.Hash, b.Hash = 0, 0
	}
	one, _ := json.Marshal(&a)
	other, _ := json.Marshal(&b)
	return bytes.Equal(one, other)
}

const (
	linePrefix = `{"crc32c":"`
	bodyStart  = len(linePrefix) + 8 + len(`",`)
	bodyKey    = `"step":`
	// maxLine bounds a line, its line feed included, on writing and reading.
	maxLine = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendLine appends the record's line.
func appendLine(b []byte, r *Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return b, fmt.Errorf("step log: step %d: %w", r.Step, err)
	}
	if len(text) > maxLine-64 {
		return b, fmt.Errorf("step log: step %d takes %d bytes, more than a line may have (%d)", r.Step, len(text), maxLine)
	}
	body := append([]byte(bodyKey), text...)
	b = fmt.Appendf(b, "%s%08x\",", linePrefix, crc32.Checksum(body, castagnoli))
	return append(append(b, body...), '}', '\n'), nil
}

// parseLine reads a line without its line feed.
func parseLine(line []byte) (r Record, err error) {
	if len(line) < bodyStart+len(bodyKey)+1 || !bytes.HasPrefix(line, []byte(linePrefix)) || line[len(line)-1] != '}' {
		return r, errors.New("not a line of a step log")
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], line[len(linePrefix):len(linePrefix)+8]); err != nil {
		return r, errors.New("the checksum is not a number")
	}
	body := line[bodyStart : len(line)-1]
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	if crc32.Checksum(body, castagnoli) != want {
		return r, errors.New("the checksum does not match")
	}
	text, ok := bytes.CutPrefix(body, []byte(bodyKey))
	if !ok {
		return r, errors.New("not a line of a step log")
	}
	return r, json.Unmarshal(text, &r)
}
