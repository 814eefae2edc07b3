package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"millrace.dev/internal/buildinfo"
	"millrace.dev/internal/durable"
)

const (
	manifestName = "run.json"
	maxManifest  = 4 << 20 // bytes read at most
)

// Manifest says what was asked of a run and by which build.
type Manifest struct {
	Verb     string          `json:"verb"`
	Args     []string        `json:"args,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"` // every setting in effect, defaults included
	Seed     uint64          `json:"seed"`
	Started  time.Time       `json:"started"`
	Build    buildinfo.Build `json:"build"`
}

// envelope is the file's form; the checksum covers Run without white space.
type envelope struct {
	CRC32C string          `json:"crc32c"`
	Run    json.RawMessage `json:"run"`
}

// WriteManifest writes run.json.
func (d Dir) WriteManifest(m Manifest) error {
	run, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("%s: %w", d.File(manifestName), err)
	}
	text, err := json.MarshalIndent(envelope{CRC32C: checksum(run), Run: run}, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", d.File(manifestName), err)
	}
	err = durable.WriteFile(d.File(manifestName), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fault(d.path, err)
	}
	return nil
}

// Manifest reads run.json and checks its checksum.
func (d Dir) Manifest() (Manifest, error) {
	file, err := os.Open(d.File(manifestName))
	if err != nil {
		return Manifest{}, fault(d.path, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err != nil {
		return Manifest{}, fault(d.path, err)
	}
	m, err := decodeManifest(text)
	if err != nil {
		return Manifest{}, fault(d.path, fmt.Errorf("%s: %w", manifestName, err))
	}
	return m, nil
}

func decodeManifest(text []byte) (m Manifest, err error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return m, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, e.Run); err != nil {
		return m, err
	}
	if e.CRC32C != checksum(compact.Bytes()) {
		return m, errors.New("its checksum does not match: it was damaged or edited")
	}
	err = json.Unmarshal(e.Run, &m)
	return m, err
}

func checksum(content []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}
