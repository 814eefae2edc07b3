package mission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"millrace.dev/field"
	"millrace.dev/internal/durable"
)

// What a plan file says of itself.
const (
	fileFormat  = "millrace field plan"
	fileVersion = 1
	maxFile     = 4 << 30 // bytes
)

// envelope is the plan file: the mission and a checksum of it.
type envelope struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"` // of the mission, in hexadecimal, as it would be without blanks
	Mission json.RawMessage `json:"mission"`
}

// FileError is a plan file that cannot be used.
type FileError struct {
	File  string
	Cause error
}

func (e *FileError) Error() string { return e.File + ": " + e.Cause.Error() }
func (e *FileError) Unwrap() error { return e.Cause }

// BadInput marks the error as a fault of the data rather than of the program.
func (e *FileError) BadInput() bool { return true }

// Write writes the mission so that Read gives it back without loss.
func (m *Mission) Write(w io.Writer) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	text, err := json.Marshal(envelope{fileFormat, fileVersion, hex.EncodeToString(sum[:]), body})
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Open reads the plan file at path.
func Open(path string) (*Mission, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &FileError{path, errors.Unwrap(err)}
	}
	defer file.Close()
	return Read(file, path)
}

// Read reads a plan file, verifies its checksum and checks the plan against the instance; file is the name
// used in errors, which are of type *FileError.
func Read(r io.Reader, file string) (*Mission, error) {
	m, err := read(r)
	if err != nil {
		return nil, &FileError{file, err}
	}
	return m, nil
}

func read(r io.Reader) (*Mission, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("longer than %d GiB", maxFile>>30)
	}
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil || e.Format != fileFormat {
		return nil, errors.New("not a plan file of millrace")
	}
	if e.Version != fileVersion {
		return nil, fmt.Errorf("version %d of the plan file is not known here, only %d", e.Version, fileVersion)
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, e.Mission); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(plain.Bytes()); hex.EncodeToString(sum[:]) != e.SHA256 {
		return nil, errors.New("the checksum does not match: the file was damaged or edited")
	}
	var m Mission
	if err := json.Unmarshal(plain.Bytes(), &m); err != nil {
		return nil, err
	}
	return &m, m.verify()
}

// verify checks what a file claims.
func (m *Mission) verify() error {
	if m.Instance == nil || m.Plan == nil {
		return errors.New("the instance or the plan is missing")
	}
	if !slices.Contains(Vehicles, m.Vehicle) {
		return fmt.Errorf("vehicle %q is none of %s", m.Vehicle, kinds())
	}
	if err := m.Instance.Validate(); err != nil {
		return err
	}
	return field.Check(m.Instance, m.Plan)
}

// output is one file that WriteDir writes.
type output struct {
	name  string
	write func(io.Writer) error
}

// outputs lists all files of the mission; without a frame those that need places on the Earth are left out.
func (m *Mission) outputs() []output {
	list := []output{{"plan.json", m.Write}, {"routes.csv", m.WriteRoutes}, {"routes.h", m.WriteHeader}, {"collection.jsonl", m.WriteEvents}}
	if m.Frame == nil {
		return list
	}
	list = append(list, output{"plan.geojson", m.WriteGeoJSON}, output{"plan.kml", m.WriteKML}, output{"plan.gpx", m.WriteGPX})
	for tour := range m.Plan.Tours {
		name := "mission"
		if len(m.Plan.Tours) > 1 {
			name = fmt.Sprintf("mission-%d", tour+1)
		}
		list = append(list, output{name + ".plan", func(w io.Writer) error { return m.WritePlanFile(w, tour) }},
			output{name + ".waypoints", func(w io.Writer) error { return m.WriteWaypoints(w, tour) }})
	}
	return list
}

// WriteDir writes all files into the directory, which must exist, and returns their names. Without a frame those that
// need places on the Earth are left out.
func (m *Mission) WriteDir(dir string) ([]string, error) {
	var names []string
	for _, o := range m.outputs() {
		if err := durable.WriteFile(filepath.Join(dir, o.name), o.write); err != nil {
			return names, fmt.Errorf("writing %s: %w", o.name, err)
		}
		names = append(names, o.name)
	}
	return names, nil
}
