package crew

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"millrace.dev/group"
	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// Spec is all that a worker process needs to know: the first line on its standard input.
type Spec struct {
	Run      string       `json:"run"` // directory of the run
	Name     string       `json:"name"`
	Settings job.Settings `json:"settings"`
	Threads  int          `json:"threads"`

	Group    string         `json:"group"` // name of the job
	Addr     string         `json:"addr"`  // where to listen
	ID       group.ID       `json:"id,omitempty"`
	Founders []group.Member `json:"founders,omitempty"`
	Join     []string       `json:"join,omitempty"`
	Terms    Terms          `json:"terms"`
	Base     int            `json:"base"`           // batch that the learning rate was chosen for
	Keys     string         `json:"keys,omitempty"` // directory of the keys for connections beyond loopback
	Notice   string         `json:"notice,omitempty"`
}

// Terms are what all members of a group have agreed on when it began.
type Terms struct {
	// PerWorker: Settings.Batch is that of each worker, else of all together.
	PerWorker bool `json:"per_worker,omitempty"`
	// Service is the URL of the cluster whose register decides about views; empty: a majority of the
	// members decides.
	Service string `json:"service,omitempty"`
}

// About is what a newcomer learns of a group before it joins.
type About struct {
	Group    string       `json:"group"`
	Settings job.Settings `json:"settings"`
	Terms    Terms        `json:"terms"`
	Base     int          `json:"base"`
}

// order is a line that a parent writes to a worker after the spec.
type order struct {
	Down   string `json:"down,omitempty"`   // the worker of this name has ended
	Finish bool   `json:"finish,omitempty"` // write what the run leaves behind
}

// word is a line that a worker writes to its parent: one of its fields is set.
type word struct {
	Window  *train.Progress `json:"window,omitempty"`
	Epoch   *epochWord      `json:"epoch,omitempty"`
	Trouble string          `json:"trouble,omitempty"` // what could not be written; training goes on
	Change  *Change         `json:"change,omitempty"`
	Trained *trainedWord    `json:"trained,omitempty"` // the training has ended
	Result  *job.Result     `json:"result,omitempty"`
	Failed  *failure        `json:"failed,omitempty"`
	Left    bool            `json:"left,omitempty"` // it has left the group in good order
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

type trainedWord struct {
	Step int    `json:"step"`
	Hash uint64 `json:"hash"`
}

// Change is a change of a group's members.
type Change struct {
	Step    int      `json:"step"` // the first that was decided after it
	Epoch   uint64   `json:"view"`
	Members []string `json:"members"`
	Reason  string   `json:"reason"`
	Seconds float64  `json:"seconds"` // between the last decided step before it and the first after it
	Batch   uint64   `json:"batch"`   // samples of that step
	Rate    float64  `json:"rate"`    // its learning rate
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
