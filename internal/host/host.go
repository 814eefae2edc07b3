// Package host says what the machine grants this process: memory, disk space,
// open files, a clock, and which addresses are its own. Limits set by control
// groups (version 1 and 2) count; a quantity that the system does not tell is
// an error, never a guess.
package host

import "golang.org/x/sys/unix"

// Space is the room on a file system.
type Space struct {
	Free  uint64 `json:"free"`  // bytes that this user may still write
	Total uint64 `json:"total"` // bytes
}

// DiskSpace returns the room on the file system that holds path.
func DiskSpace(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	block := uint64(s.Bsize)
	return Space{Free: s.Bavail * block, Total: s.Blocks * block}, nil
}

// OpenFiles returns how many files the process may have open, and how many it
// could allow itself.
func OpenFiles() (soft, hard uint64, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, 0, err
	}
	return limit.Cur, limit.Max, nil
}
