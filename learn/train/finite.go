package train

import (
	"errors"
	"fmt"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/internal/vec"
)

// DivergedError says after which step, and in which layer, a number was no longer finite. In a
// training step, the weights are those of the step before.
type DivergedError struct {
	Step int // counted from 1
	Err  error
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("step %d: %v; try a lower learning rate or gradient clipping", e.Step, e.Err)
}

func (e *DivergedError) Unwrap() error { return e.Err }

// diverged makes a DivergedError of an error about a number that is not finite, and leaves
// others alone.
func diverged(step int, err error) error {
	var bad *engine.NonFiniteError
	if !errors.As(err, &bad) {
		return err
	}
	return &DivergedError{Step: step, Err: err}
}

// located names the layer behind a number that is not finite, in the run that gave the error.
func located(r engine.Replica, at engine.Step, err error) error {
	var bad *engine.NonFiniteError
	if !errors.As(err, &bad) {
		return err
	}
	if cause := r.Trace(at); cause != nil {
		return cause
	}
	return err
}

// finite names the first weight that is not finite.
func finite(v *engine.Vectors) error {
	for _, p := range v.Layout.Params {
		if err := finiteAt(p.Name, v.Param(p.Name)); err != nil {
			return err
		}
	}
	for _, s := range v.Layout.States {
		if err := finiteAt(s.Name, v.State(s.Name)); err != nil {
			return err
		}
	}
	return nil
}

func finiteAt(name string, x []float32) error {
	at := vec.Finite(x)
	if at < 0 {
		return nil
	}
	bad := &engine.NonFiniteError{What: fmt.Sprintf("weight %d", at), Value: float64(x[at])}
	return &engine.RunError{Path: name, Op: "param", Err: bad}
}
