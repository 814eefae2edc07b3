// Package lifeline tells at once when a process of the same machine dies.
//
// The connections of a process that is killed are closed only after its memory is torn down, which
// takes some 100 ms for a gigabyte. But each thread of it leaves its table of open files as it dies, and
// memory goes with the last thread only. So a worker keeps the write ends of two pipes in two threads that
// have tables of their own ([Open]), and shows the read ends to its peers: whichever of the two threads
// is not the last one closes its pipe within the first fraction of a millisecond, and the peers who
// watch it ([Watch]) see the end. Of the other files these threads keep only those of the Go runtime, which
// uses them from whatever thread it is on.
//
// The read ends are handed out over a socket in the abstract namespace: to processes of the same user (or root) in
// the same network namespace. Where that is not possible, as on another system than Linux, under
// a seccomp profile without unshare, or between containers, the error is errors.ErrUnsupported, and
// the end of the connections has to do.
//
// A line says nothing about a process that is stopped or slow.
package lifeline
