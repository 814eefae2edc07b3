package crew

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// order is a line that a parent writes to a worker after the spec.
type order struct {
	Down   string `json:"down,omitempty"`   // the worker of this name has ended
	Finish bool   `json:"finish,omitempty"` // write what the run leaves behind
}

// word is a line that a worker writes to its parent: one of its fields is set. All workers say the
// same of the run; the parent shows what it hears first.
type word struct {
	Window  *train.Progress `json:"window,omitempty"`
	Epoch   *epochWord      `json:"epoch,omitempty"`
	Change  *Change         `json:"change,omitempty"`
	Skip    *skipWord       `json:"skip,omitempty"`
	Stalled string          `json:"stalled,omitempty"` // why no list of members can follow
	Trouble string          `json:"trouble,omitempty"` // what could not be written; training goes on
	Trained bool            `json:"trained,omitempty"` // the training has ended
	Result  *job.Result     `json:"result,omitempty"`
	Failed  *failure        `json:"failed,omitempty"`
	Left    string          `json:"left,omitempty"` // why it has left the group, in good order
}

type epochWord struct {
	train.Epoch
	Seconds float64 `json:"seconds"`
}

// epoch is what the worker's trainer told.
func (e *epochWord) epoch() train.Epoch {
	out := e.Epoch
	out.Duration = time.Duration(e.Seconds * float64(time.Second))
	return out
}

// skipWord says that a step has changed nothing.
type skipWord struct {
	Step    int    `json:"step"`
	Culprit string `json:"culprit"`
}

// failure carries an error to the parent with what decides about the exit code.
type failure struct {
	Text     string `json:"text"`
	BadInput bool   `json:"bad_input,omitempty"`
}

// Failure is why a worker has failed.
type Failure struct {
	Worker string
	failure
}

func (e *Failure) Error() string { return fmt.Sprintf("worker %s: %s", e.Worker, e.Text) }

// BadInput marks the error as the fault of the input where it was that in the worker.
func (e *Failure) BadInput() bool { return e.failure.BadInput }

func newFailure(err error) *failure {
	var bad interface{ BadInput() bool }
	return &failure{err.Error(), errors.As(err, &bad) && bad.BadInput()}
}

// maxLine bounds a line between parent and worker.
const maxLine = 4 << 20

// lines gives each line of r, decoded, to f until r ends.
func lines[T any](r io.Reader, f func(T)) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			return err
		}
		f(v)
	}
	return in.Err()
}
