package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

// state is a client's parameters and optimiser, as the group asks for and gives them.
type state struct {
	s   *Session
	ctx context.Context // of the session

	saved *os.File // the client's state after the last committed step, once it was asked for
	size  int64
	err   error // why it could not be saved

	mu       sync.Mutex
	incoming *os.File // a newcomer's, as it comes
	total    int64
}

// forget makes the next question for the state go to the client: it has changed.
func (s *state) forget() {
	closeFile(s.saved)
	s.saved, s.size, s.err = nil, 0, nil
}

func (s *state) close() {
	s.forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	closeFile(s.incoming)
	s.incoming = nil
}

// Size asks the client for its state. What goes wrong is told by ReadAt.
func (s *state) Size() int64 {
	if s.saved == nil && s.err == nil {
		s.saved, s.size, s.err = s.s.save(s.ctx)
	}
	return s.size
}

// ReadAt implements group.State.
func (s *state) ReadAt(p []byte, off int64) error {
	if s.err != nil {
		return s.err
	}
	if s.saved == nil {
		return errors.New("the client's state was not asked for")
	}
	if _, err := s.saved.ReadAt(p, off); err != nil {
		return fmt.Errorf("the memory of the client's state: %w", err)
	}
	return nil
}

// Restore implements group.State.
func (s *state) Restore(size int64) error {
	if size < 0 || size > maxState {
		return fmt.Errorf("a state of %d bytes", size)
	}
	f, err := newMemory(size)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	closeFile(s.incoming)
	s.incoming, s.total = f, size
	return nil
}

// WriteAt implements group.State.
func (s *state) WriteAt(p []byte, off int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.incoming == nil {
		return errors.New("a state that was not announced")
	}
	_, err := s.incoming.WriteAt(p, off)
	return err
}

// Restored gives the state to the client.
func (s *state) Restored(step uint64) error {
	s.mu.Lock()
	f, size := s.incoming, s.total
	s.incoming = nil
	s.mu.Unlock()
	if f == nil {
		return errors.New("a state that was not announced")
	}
	defer closeFile(f)
	s.forget()
	return s.s.restore(s.ctx, f, step, size)
}

// checkSaved checks the memory that a client says holds its state.
func checkSaved(f *os.File, size int64) error {
	if f == nil {
		return broken("its state came without memory")
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size < 0 || size > maxState || !info.Mode().IsRegular() || info.Size() < size {
		return broken("a state of %d bytes in memory of %d", size, info.Size())
	}
	return nil
}
