package shm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sealed are the seals without which a peer's file is not mapped: with them its size is fixed for ever.
const sealed = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// create makes a file of memory and maps it for writing. All its pages exist afterwards. With own, nobody but
// this mapping can write it, where the kernel can promise that.
func create(name string, bytes int, own bool) (fd int, mem []byte, err error) {
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return -1, nil, unsupported("files of memory", err)
	}
	if mem, err = fill(fd, bytes, own); err != nil {
		unix.Close(fd) //nolint:errcheck // the first error counts
		return -1, nil, unsupported(fmt.Sprintf("%d bytes of shared memory", bytes), err)
	}
	return fd, mem, nil
}

func fill(fd, bytes int, own bool) ([]byte, error) {
	if err := unix.Fallocate(fd, 0, 0, int64(bytes)); err != nil {
		return nil, os.NewSyscallError("fallocate", err)
	}
	mem, err := unix.Mmap(fd, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	if own { // before Linux 5.1 there is no such seal
		unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE) //nolint:errcheck
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sealed|unix.F_SEAL_SEAL); err != nil {
		unmap(mem)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return mem, nil
}

// checkPeer finds out whether the first bytes of a peer's file can be mapped safely: whether it is sealed, and then
// whether it is large enough and has all its pages. It returns the file's number.
func checkPeer(fd, bytes int) (file uint64, err error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return 0, fmt.Errorf("not a file of memory: %w", err)
	}
	if seals&sealed != sealed {
		return 0, errors.New("the file of memory is not sealed")
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0, os.NewSyscallError("fstat", err)
	}
	if stat.Size < int64(bytes) {
		return 0, fmt.Errorf("the file of memory has %d bytes instead of %d", stat.Size, bytes)
	}
	if stat.Blocks*512 < stat.Size {
		return 0, errors.New("the file of memory has holes, which might not be filled when they are read")
	}
	return stat.Ino, nil
}

// mapPeer maps the first bytes of a peer's file, which has been checked, for reading.
func mapPeer(fd, bytes int) ([]byte, error) {
	mem, err := unix.Mmap(fd, 0, bytes, unix.PROT_READ, unix.MAP_SHARED)
	return mem, os.NewSyscallError("mmap", err)
}

// populate makes the first writes to memory of a file cheap, where the system can (since Linux 5.14).
func populate(mem []byte) {
	unix.Madvise(mem, unix.MADV_POPULATE_WRITE) //nolint:errcheck // only time is lost
}

// populateRead makes the first reads of memory of a file cheap, likewise.
func populateRead(mem []byte) {
	unix.Madvise(mem, unix.MADV_POPULATE_READ) //nolint:errcheck // only time is lost
}

// large asks for large pages behind fresh memory, whose first writes are many times faster then.
func large(mem []byte) {
	unix.Madvise(mem, unix.MADV_HUGEPAGE) //nolint:errcheck // only time is lost
}

// reserve makes writable memory of this process alone that other mappings can replace.
func reserve(bytes int) ([]byte, error) {
	return unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
}

// mapOver replaces mem by a part of a file, for reading; with fd -1 by fresh memory, for writing.
func mapOver(mem []byte, fd int, off int64) error {
	prot, flags := unix.PROT_READ, unix.MAP_FIXED|unix.MAP_SHARED
	if fd < 0 {
		prot, flags = unix.PROT_READ|unix.PROT_WRITE, unix.MAP_FIXED|unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE
	}
	_, err := unix.MmapPtr(fd, off, unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem)), prot, flags)
	return os.NewSyscallError("mmap", err)
}

// unmap removes mappings that create, mapPeer or reserve made.
func unmap(mem []byte) {
	if len(mem) > 0 {
		unix.Munmap(mem) //nolint:errcheck // fails for what was not mapped only
	}
}

// readOnly opens a file again for reading only, so that the peers who get it cannot map it for writing by mistake.
func readOnly(fd int) (int, error) {
	return unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func duplicate(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }
