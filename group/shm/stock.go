package shm

import "sync"

// stock is what a door keeps from one view to the next, so that a view stands soon after a member has died: the
// mappings of peers' vectors, and a share whose pages exist already. A share is never used twice: somebody who is cut
// off may still read that of an old view.
type stock struct {
	mu      sync.Mutex
	closed  bool
	vectors map[uint64]*mapping // by incarnation
	spare   *share
	filling sync.WaitGroup
}

// mapping is a peer's vector.
type mapping struct {
	file  uint64 // inode
	mem   []byte
	users int  // teams
	kept  bool // its owner is in the latest view
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
	return &share{fd, mem}, nil
}

// free gives the memory back, except what others still map.
func (s *share) free() {
	closeFiles([]int{s.fd})
	unmap(s.mem)
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

// take gives a fresh share of at least so many bytes, the spare one if it will do.
func (s *stock) take(bytes int) (*share, error) {
	s.mu.Lock()
	spare := s.spare
	s.spare = nil
	s.mu.Unlock()
	if spare != nil && len(spare.mem) >= bytes {
		return spare, nil
	}
	if spare != nil {
		spare.free()
	}
	return newShare(bytes)
}

// refill makes a spare share in the background, unless there is one that will do. Without memory there is none.
func (s *stock) refill(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.spare != nil && len(s.spare.mem) >= bytes {
		return
	}
	s.filling.Go(func() {
		fresh, err := newShare(bytes)
		if err != nil {
			return
		}
		populate(fresh.mem)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed || s.spare != nil {
			fresh.free()
			return
		}
		s.spare = fresh
	})
}

// close frees all but what teams use.
func (s *stock) close() {
	s.keep(nil)
	s.mu.Lock()
	s.closed = true
	spare := s.spare
	s.spare = nil
	s.mu.Unlock()
	if spare != nil {
		spare.free()
	}
	s.filling.Wait()
}
