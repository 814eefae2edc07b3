package collective

import (
	"fmt"

	"millrace.dev/fabric"
)

// place checks the header of a segment's frame against where its segment stands, and returns its index.
func (s *Step) place(h fabric.Header) (int, error) {
	n := s.cfg.Size
	if int64(h.Chunk) >= int64(len(s.ready)) || int64(h.Bucket) >= int64(n) {
		return 0, s.strange(h, "there is no such segment")
	}
	i := int(h.Chunk)*n + int(h.Bucket)
	from, to := s.bounds(i)
	want := 4 * (to - from)
	if h.Flags&flagAbsent != 0 {
		want = 0
	}
	if from == to || int(h.Length) != want {
		return 0, s.strange(h, fmt.Sprintf("it has %d bytes, not %d: its vector differs", h.Length, want))
	}
	state, first, last := s.segments[i].state, int(h.Bucket+1)%n == s.cfg.Rank, int(h.Bucket) == s.cfg.Rank
	if final := h.Flags&flagFinal != 0; final && (state != passed || last) || !final && (state != expected || first) {
		return 0, s.strange(h, "it is not its turn")
	}
	return i, nil
}

// strange is the error of a frame that the left member should not have sent.
func (s *Step) strange(h fabric.Header, why string) error {
	return fmt.Errorf("collective: step %d: rank %d sent segment %d of chunk %d: %s", h.Step, s.left, h.Bucket, h.Chunk, why)
}

// current reports whether a frame is of the step that runs.
func (s *Step) current(h fabric.Header) bool {
	return s.running && !s.due && s.err == nil && h.Epoch == s.cfg.Epoch && h.Step == s.step
}

// coming reports whether a frame is of a step that is yet to begin.
func (s *Step) coming(h fabric.Header) bool {
	return s.err == nil && h.Epoch == s.cfg.Epoch && (!s.begun || h.Step > s.step || s.due && h.Step == s.step)
}

// Body says where the body of a frame goes: into the result, if its step runs.
func (s *Step) Body(from int, h fabric.Header) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, coming := s.current(h), s.coming(h); !current && !coming {
		return make([]byte, h.Length), nil
	} else if from != s.left || h.Type != stepData {
		return nil, fmt.Errorf("collective: rank %d sent rank %d a frame of type %#x with %d bytes", from, s.cfg.Rank, h.Type, h.Length)
	} else if coming {
		return s.keep(h)
	}
	i, err := s.place(h)
	if err != nil {
		return nil, err
	}
	s.granted = i
	lo, hi := s.bounds(i)
	return bytesOf(s.cfg.Result[lo:hi]), nil
}

// keep makes room for a frame of a step to come.
func (s *Step) keep(h fabric.Header) ([]byte, error) {
	s.keptBytes += int(h.Length) + fabric.HeaderSize
	if s.keptBytes > EarlyStep {
		return nil, s.strange(h, fmt.Sprintf("rank %d has not begun that step and keeps no more than %d bytes", s.cfg.Rank, EarlyStep))
	}
	return make([]byte, h.Length), nil
}

// Frame takes a frame.
func (s *Step) Frame(from int, h fabric.Header, body []byte) error {
	if h.Epoch != s.cfg.Epoch {
		return nil
	}
	s.mu.Lock()
	var err error
	switch h.Type {
	case stepBegun:
		err = s.rightHasBegun(from, h)
	case stepData:
		err = s.data(from, h, body)
	default:
		err = fmt.Errorf("collective: rank %d sent rank %d a frame of unknown type %#x", from, s.cfg.Rank, h.Type)
	}
	s.finish()
	return err
}

// rightHasBegun opens the way for the step's frames.
func (s *Step) rightHasBegun(from int, h fabric.Header) error {
	if s.err != nil {
		return nil
	}
	if from != s.right {
		return fmt.Errorf("collective: rank %d, not right of rank %d, says that it has begun step %d", from, s.cfg.Rank, h.Step)
	}
	if h.Aux != uint64(len(s.cfg.Gradients)) {
		s.fail(fmt.Errorf("collective: the gradient vector has %d elements on rank %d but %d on rank %d",
			h.Aux, from, len(s.cfg.Gradients), s.cfg.Rank))
		return nil
	}
	s.rightStep, s.rightRuns = h.Step, true
	s.out.pump() // also when the step is complete here: others may need what was held back
	return nil
}

// data takes a segment's frame.
func (s *Step) data(from int, h fabric.Header, body []byte) error {
	if i := s.granted; i >= 0 && from == s.left {
		s.granted = -1
		if s.err == nil { // else cancelled while it came
			s.take(i, h)
		}
		return nil
	}
	switch current := s.current(h); {
	case !current && !s.coming(h):
		return nil
	case from != s.left:
		return fmt.Errorf("collective: rank %d, not left of rank %d, sent a segment", from, s.cfg.Rank)
	case !current:
		return s.lay(h, body)
	}
	i, err := s.place(h)
	if err != nil {
		return err
	}
	if h.Length > 0 { // its step began while it came
		lo, hi := s.bounds(i)
		copy(bytesOf(s.cfg.Result[lo:hi]), body)
	}
	s.take(i, h)
	return nil
}

// lay keeps a frame of a step to come.
func (s *Step) lay(h fabric.Header, body []byte) error {
	if h.Length == 0 {
		if _, err := s.keep(h); err != nil {
			return err
		}
	}
	s.kept = append(s.kept, keptFrame{h, body})
	return nil
}

// take goes on with a segment whose frame is in its place.
func (s *Step) take(i int, h fabric.Header) {
	seg := &s.segments[i]
	if h.Flags&flagFinal != 0 {
		if h.Flags&flagAbsent != 0 {
			lo, hi := s.bounds(i)
			clear(s.cfg.Result[lo:hi])
		}
		s.final(i, h)
		return
	}
	seg.state, seg.flags, seg.weight = arrived, h.Flags, h.Aux
	if s.started[h.Chunk] {
		s.sum(i)
	}
}

// Closed says that no frame is being received from a member any more.
func (s *Step) Closed(from int) {
	s.mu.Lock()
	if from == s.left {
		if s.granted >= 0 {
			s.granted = -1
			s.fail(fmt.Errorf("collective: rank %d is gone", from))
		}
	}
	s.finish()
}

// Waiting says what the step waits for.
func (s *Step) Waiting() (rank int, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return -1, "nothing: no step is being reduced"
	}
	unready := 0
	for c := range s.ready {
		if int(s.ready[c]) < s.chunkLen(c) {
			unready++
		}
	}
	if unready > 0 {
		return -1, fmt.Sprintf("its own gradients: %d of %d chunks are not ready", unready, len(s.ready))
	}
	return s.left, fmt.Sprintf("%d of %d parts of the sum that it passes on", s.missing, s.total)
}
