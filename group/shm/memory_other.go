//go:build !linux

package shm

import (
	"errors"
	"runtime"
)

// Only Linux has files of memory that can be sealed.
var errSystem = unsupported("shared memory on "+runtime.GOOS, nil)

func create(string, int, bool) (int, []byte, error) { return -1, nil, errSystem }

func mapPeer(int, int) ([]byte, error) { return nil, errSystem }

func checkPeer(int, int) (uint64, error) { return 0, errSystem }

func populate([]byte) {}

func populateRead([]byte) {}

func large([]byte) {}

func mapOver([]byte, int, int64) error { return errSystem }

func reserve(int) ([]byte, error) { return nil, errSystem }

func unmap([]byte) {}

func readOnly(int) (int, error) { return -1, errors.ErrUnsupported }

func duplicate(int) (int, error) { return -1, errors.ErrUnsupported }
