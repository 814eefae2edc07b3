package shm

import (
	"sync"

	"millrace.dev/internal/unixsock"
)

// stock is what a door keeps from one view to the next, so that a view stands soon after a member has died: the
// mappings of peers' vectors, and a share whose pages exist already. What costs time and can wait, such as giving
// memory back, waits until the new view is at work.
type stock struct {
	mu      sync.Mutex
	closed  bool
	vectors map[uint64]*mapping // by incarnation
	spare   *share
	making  chan struct{} // closed when the spare one that is being made is there; nil for none
	waste   []remains     // of teams that are closed, the oldest first

	tending sync.Mutex // held by who populates mappings or frees waste
	filling sync.WaitGroup
}

// mapping is a peer's vector.
type mapping struct {
	file      uint64 // inode
	mem       []byte
	users     int  // teams
	kept      bool // its owner is in the latest view
	populated bool // under tending
}

// share is a file of memory for a view: a board and segments.
type share struct {
	fd  int
	mem []byte
}

func newShare(bytes int) (*share, error) {
	fd, mem, err := create("millrace-share", bytes, true)
	if err != nil {
		return nil, err
	}
	populate(mem)
	return &share{fd, mem}, nil
}

// free gives the memory back, except what others still map.
func (s *share) free() {
	if s != nil {
		unixsock.CloseFiles([]int{s.fd})
		unmap(s.mem)
	}
}

// remains are what a team leaves when it is closed.
type remains struct {
	fds     []int // peers' shares
	shown   [][]byte
	vectors []*mapping
	share   *share // nil: it has none, or has given it back
}

// leave takes what a team leaves. A share can serve another view where this member has completed no step: then none
// counts that anybody else has, and the words on its board mean nothing in another epoch. One that holds a result is
// never used again, as somebody who is cut off, or has left, may still read that.
func (s *stock) leave(r remains, again bool) {
	s.mu.Lock()
	if again && !s.closed && r.share != nil && (s.spare == nil || len(s.spare.mem) < len(r.share.mem)) {
		s.spare, r.share = r.share, s.spare
	}
	s.waste = append(s.waste, r)
	closed := s.closed
	if !closed && len(s.waste) > maxWaste {
		s.filling.Go(func() { s.sweep(maxWaste) })
	}
	s.mu.Unlock()
	if closed {
		s.sweep(0)
	}
}

// maxWaste is how many views' waste may pile up where views follow each other without a few steps between them.
const maxWaste = 2

// sweep frees waste but the newest of it.
func (s *stock) sweep(keep int) {
	s.tending.Lock()
	defer s.tending.Unlock()
	s.sweepLocked(keep)
}

// sweepLocked is sweep for who holds s.tending.
func (s *stock) sweepLocked(keep int) {
	s.mu.Lock()
	n := max(len(s.waste)-keep, 0)
	old := s.waste[:n:n]
	s.waste = append([]remains(nil), s.waste[n:]...)
	s.mu.Unlock()
	for _, r := range old {
		unixsock.CloseFiles(r.fds)
		for _, mem := range r.shown {
			unmap(mem)
		}
		for _, v := range r.vectors {
			s.giveBack(v)
		}
		r.share.free()
	}
}

// vector maps the vector of a peer, or takes the mapping there is of the same file. It must be given back.
func (s *stock) vector(id uint64, fd, bytes int) (*mapping, error) {
	file, err := checkPeer(fd, bytes)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.vectors[id]; v != nil && v.file == file && len(v.mem) == bytes {
		v.users++
		return v, nil
	}
	mem, err := mapPeer(fd, bytes)
	if err != nil {
		return nil, err
	}
	v := &mapping{file: file, mem: mem, users: 1}
	if s.vectors[id] == nil && !s.closed {
		s.vectors[id] = v
	}
	return v, nil
}

// giveBack ends a team's use of a vector.
func (s *stock) giveBack(v *mapping) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.users--
	s.tidy()
	if v.mem != nil && v.users == 0 && !v.kept {
		v.drop()
	}
}

// keep says who the members of the latest view are: only their vectors outlast the teams.
func (s *stock) keep(ids []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.vectors {
		v.kept = false
	}
	for _, id := range ids {
		if v := s.vectors[id]; v != nil && !s.closed {
			v.kept = true
		}
	}
	s.tidy()
}

// tidy unmaps what nobody needs. s.mu is held.
func (s *stock) tidy() {
	for id, v := range s.vectors {
		if v.users == 0 && !v.kept {
			v.drop()
			delete(s.vectors, id)
		}
	}
}

func (v *mapping) drop() {
	unmap(v.mem)
	v.mem = nil
}

// take gives a share of at least so many bytes in which no step was completed, the spare one if it will do.
func (s *stock) take(bytes int) (*share, error) {
	s.mu.Lock()
	if making := s.making; making != nil && s.spare == nil {
		s.mu.Unlock()
		<-making
		s.mu.Lock()
	}
	spare := s.spare
	if spare != nil && len(spare.mem) >= bytes {
		s.spare = nil
		s.mu.Unlock()
		return spare, nil
	}
	s.mu.Unlock()
	return newShare(bytes)
}

// prepare makes a spare share in the background.
func (s *stock) prepare(bytes int) {
	s.background(func() { s.refill(bytes) })
}

// tend does in the background what makes the next view stand soon and what was put off: it makes a spare share, populates
// the mappings of a team's vectors, and frees the waste.
func (s *stock) tend(bytes int, vectors []*mapping) {
	s.background(func() {
		s.refill(bytes)
		s.tending.Lock()
		defer s.tending.Unlock()
		for _, v := range vectors {
			s.populate(v)
		}
		s.sweepLocked(0)
	})
}

// populate makes reading a vector for the first time cheap, wherever the next view has this member read it. s.tending is
// held, so the vectors of a team whose remains are there stay mapped.
func (s *stock) populate(v *mapping) {
	s.mu.Lock()
	mem := v.mem
	s.mu.Unlock()
	if mem != nil && !v.populated {
		populateRead(mem)
		v.populated = true
	}
}

func (s *stock) background(task func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.filling.Go(task)
	}
}

// refill makes a spare share, unless there is one that will do. Without memory there is none.
func (s *stock) refill(bytes int) {
	s.mu.Lock()
	if s.closed || s.making != nil || s.spare != nil && len(s.spare.mem) >= bytes {
		s.mu.Unlock()
		return
	}
	made := make(chan struct{})
	s.making = made
	s.mu.Unlock()
	fresh, err := newShare(bytes)
	s.mu.Lock()
	s.making = nil
	old := s.spare
	switch {
	case err != nil:
		old = nil
	case s.closed || old != nil && len(old.mem) >= bytes:
		old = fresh
	default:
		s.spare = fresh
	}
	s.mu.Unlock()
	close(made)
	old.free()
}

// close frees all but what teams use.
func (s *stock) close() {
	s.keep(nil)
	s.mu.Lock()
	s.closed = true
	spare := s.spare
	s.spare = nil
	s.mu.Unlock()
	spare.free()
	s.filling.Wait()
	s.sweep(0)
}
