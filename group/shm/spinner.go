package shm

import "time"

// A spinner decides how long a member looks for the others' marks before it sleeps. To look is of use where every
// member has a CPU: a mark then comes within microseconds, a waking takes some 50 of them. As one that sleeps lets
// the others wait for so long that they sleep, too, only a look that outlasts a waking ends that: it is what
// follows one that was of use, and is tried once in a while after others.
type spinner struct {
	used bool // the last look was of use
	vain uint // looks since one was
}

const (
	shortLook = 20 * time.Microsecond
	longLook  = 100 * time.Microsecond
	// retry is after how many looks in vain a long one is tried.
	retry = 32
)

// look is how long to look now.
func (s *spinner) look() time.Duration {
	if s.used || s.vain%retry == retry-1 {
		return longLook
	}
	return shortLook
}

// spin looks until something is possible and reports whether it is.
func (s *spinner) spin(possible func() bool) bool {
	look := s.look()
	for start := time.Now(); time.Since(start) < look; {
		if possible() {
			s.used, s.vain = true, 0
			return true
		}
	}
	s.used = false
	s.vain++
	return false
}
