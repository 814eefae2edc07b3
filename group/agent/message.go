package agent

import (
	"encoding/json"
	"fmt"
	"math"
)

// Version is that of the protocol.
const Version = 1

const (
	maxMessage  = 64 << 10 // bytes
	maxTensors  = 1 << 16
	maxElements = 1 << 34
	maxState    = 1 << 42 // bytes
)

// request is what a client says.
type request struct {
	Type string `json:"type"`

	// tensors
	Tensors []tensor `json:"tensors,omitempty"`

	// hello
	Version   int    `json:"version,omitempty"`
	Elements  int    `json:"elements,omitempty"`
	Epoch     uint64 `json:"epoch_samples,omitempty"` // samples of an epoch; 0: the client says at each step how many it had
	Batch     uint64 `json:"batch,omitempty"`
	PerWorker bool   `json:"per_worker,omitempty"`
	Base      uint64 `json:"base,omitempty"`
	State     bool   `json:"state,omitempty"` // it can save and restore its state

	// ready
	Lo int `json:"lo,omitempty"`
	Hi int `json:"hi,omitempty"`

	// ready, commit
	Samples uint64 `json:"samples,omitempty"`

	// commit
	Loss      float64 `json:"loss,omitempty"`
	Norm2     float64 `json:"norm2,omitempty"`
	Correct   uint64  `json:"correct,omitempty"`
	NonFinite bool    `json:"non_finite,omitempty"`
	Hash      uint64  `json:"hash,omitempty"`
	Rate      float64 `json:"rate,omitempty"`

	Size int64  `json:"size,omitempty"` // saved
	Text string `json:"text,omitempty"` // failed
}

// tensor names elements lo up to hi of the gradients.
type tensor struct {
	Name string `json:"name"`
	Lo   int    `json:"lo"`
	Hi   int    `json:"hi"`
}

// answer is what the agent says.
type answer struct {
	Type string `json:"type"`

	// started
	Version  int    `json:"version,omitempty"`
	Elements int    `json:"elements,omitempty"`
	Name     string `json:"name,omitempty"`

	// step, result, restore
	Step    uint64   `json:"step,omitempty"`
	Epoch   uint64   `json:"epoch"` // of the data
	View    uint64   `json:"view,omitempty"`
	Members []string `json:"members,omitempty"` // by rank

	// step
	Ranges    [][2]uint64 `json:"ranges,omitempty"` // positions of this worker's samples in the epoch's order
	Offset    uint64      `json:"offset,omitempty"`
	Batch     uint64      `json:"batch,omitempty"`
	RateScale float64     `json:"rate_scale,omitempty"`
	Leader    bool        `json:"leader,omitempty"`

	// step, result
	Weight uint64 `json:"weight"`

	// result
	Outcome    string  `json:"outcome,omitempty"`
	Loss       float64 `json:"loss,omitempty"` // mean over all samples
	Correct    uint64  `json:"correct,omitempty"`
	Culprit    string  `json:"culprit,omitempty"` // the worker whose numbers were not finite
	EpochEnded bool    `json:"epoch_ended,omitempty"`

	Size int64 `json:"size,omitempty"` // restore

	// status, error
	Text   string          `json:"text,omitempty"`
	Kind   string          `json:"kind,omitempty"`
	Status json.RawMessage `json:"status,omitempty"`
}

// ProtocolError says how a client broke the protocol.
type ProtocolError struct{ What string }

func (e *ProtocolError) Error() string { return "the client broke the protocol: " + e.What }

func broken(format string, v ...any) error { return &ProtocolError{fmt.Sprintf(format, v...)} }

// parse reads a client's message.
func parse(packet []byte) (*request, error) {
	var r request
	if err := json.Unmarshal(packet, &r); err != nil {
		return nil, broken("a message that cannot be read: %v", err)
	}
	return &r, nil
}

// plan checks what a client says of its gradients before anything is made of that size.
func (r *request) plan(tensors []tensor) error {
	switch {
	case r.Version != Version:
		return broken("its version is %d, this agent's %d", r.Version, Version)
	case r.Elements < 1 || r.Elements > maxElements:
		return broken("gradients of %d elements", r.Elements)
	case (r.Epoch == 0) != (r.Batch == 0):
		return broken("an epoch of %d samples and a batch of %d", r.Epoch, r.Batch)
	}
	for _, t := range tensors {
		if t.Lo < 0 || t.Lo > t.Hi || t.Hi > r.Elements {
			return broken("tensor %q has the elements %d to %d of %d", t.Name, t.Lo, t.Hi, r.Elements)
		}
	}
	return nil
}

// finite is x, or 0 where JSON has no number for it.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
