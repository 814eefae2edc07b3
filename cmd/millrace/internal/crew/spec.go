package crew

import (
	"time"

	"millrace.dev/group"
	"millrace.dev/learn/job"
)

// Spec is all that a worker process needs to know: the first line on its standard input.
type Spec struct {
	Run      string       `json:"run"`  // directory of the run
	Home     string       `json:"home"` // the worker's own
	Name     string       `json:"name"`
	Settings job.Settings `json:"settings"` // its Threads are this worker's

	Group    string         `json:"group"` // name of the job
	Addr     string         `json:"addr"`  // where to listen
	ID       group.ID       `json:"id,omitempty"`
	Founders []group.Member `json:"founders,omitempty"`
	Join     []string       `json:"join,omitempty"`
	Terms    Terms          `json:"terms"`
	Keys     string         `json:"keys,omitempty"`   // for connections beyond this machine; see keys.Find
	Notice   string         `json:"notice,omitempty"` // see Launcher
	Began    time.Time      `json:"began"`            // when the launcher did
	Guest    bool           `json:"guest,omitempty"`  // the group was begun by another launcher
	Late     bool           `json:"late,omitempty"`   // others of this launcher were there before
	Scratch  string         `json:"scratch"`          // the launcher's, whose last user removes it
}

// Terms are what all members of a group have agreed on when it began.
type Terms struct {
	// PerWorker: Settings.Batch is that of each worker, else of all together.
	PerWorker bool `json:"per_worker,omitempty"`
	// Base is the batch, of all together, that the learning rate was chosen for.
	Base int `json:"base"`
	// Service is the URL of the cluster whose register decides about views; empty: a majority of the
	// members decides.
	Service string `json:"service,omitempty"`
}

// batch is the samples of a step that n workers share.
func (t Terms) batch(each, n int) int {
	if t.PerWorker {
		return each * n
	}
	return each
}

// About is what a newcomer learns of a group before it joins.
type About struct {
	Group    string       `json:"group"`
	Settings job.Settings `json:"settings"`
	Terms    Terms        `json:"terms"`
}
