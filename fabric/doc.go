// Package fabric moves frames between processes: over TCP, over mutual TLS,
// over Unix sockets, and, with package sim, over a simulated network with a
// clock of its own, all behind one interface, [Network].
//
// A frame is a fixed [Header] and a body of known length. Protocols are written
// as callbacks ([Handler]), so that the same code runs on sockets and in a
// simulation that replays thousands of schedules in seconds.
//
// # The way of a frame
//
//	Send ─→ queue of its priority ─→ writer: header + body, several frames a call (writev)
//	     ─→ socket ─→ reader: header, checked ─→ Handler.Body says where the body goes
//	     ─→ read straight into it (readv) ─→ Handler.Frame ─→ credit goes back to the sender
//
// A small frame that finds the queue empty is written by Send itself, without
// a switch to the writer. A connection has two goroutines: the reader, which
// makes all callbacks of the handler, one at a time, and the writer, which
// makes those of done functions.
//
// # Priorities and credits
//
// [Control] frames overtake [Bulk] frames between two frames and never wait for
// credit. Bulk frames of one direction wait while the window that the receiver
// granted is used up; the receiver gives credit back when Handler.Frame has
// returned, or later if the handler takes a [Conn.Hold] on it. So a receiver
// that falls behind stops its sender instead of filling memory, and little bulk
// data lies in the sockets ahead of a control frame.
//
// # Time limits
//
// No call waits, so none takes a context: who waits for frames does so with a
// context of its own, and closes the connection when that ends. To make a
// connection, hello included, takes at most [Options] DialTimeout; on Linux a
// peer's machine that is gone is noticed within UserTimeout, if there is
// something to send.
//
// # The wire
//
// All numbers are little endian. Each side first sends a hello: a header whose
// fields carry its window and a random number, with its name as body. A header
// is 48 bytes: magic "mlrc", version, priority, type, flags, epoch, step, aux,
// bucket, chunk, length, and CRC-32C of what comes before. The CRC begins from
// the random number of the receiver and the number of the frame, neither of
// which is on the wire: a frame that was recorded earlier, repeated, left out
// or reordered does not pass. That finds mistakes and stale streams; only TLS
// stops an adversary.
//
// # Invariants
//
//   - Frames of one priority arrive in the order of Send, each once, or the
//     connection closes. Nothing is lost in mid-stream.
//   - Closed is the last callback of a connection, and comes once: by then
//     each done function has been called and no buffer is touched any more.
//   - done is called once for each Send, never from within Send.
//   - Before a valid header nothing above 64 KiB is allocated for a peer, and
//     never more than the limit of the frame's priority.
//   - Queues are bounded in bytes; a connection whose queue is full closes
//     with [ErrQueueFull].
//   - In the steady state a frame allocates nothing; what TLS allocates is its own.
//
// # Security
//
// With keys (package keys) every TCP connection is mutual TLS 1.3 and the
// peer's name is the one in its certificate. Without keys TCP stays on loopback
// and anything else is an [*InsecureError]. A Unix socket is open to its owner
// and root alone, which is checked by the kernel's credentials on Linux.
//
// # Failures
//
// The error that [Handler] Closed gets says why: io.EOF (the peer closed
// between two frames), io.ErrUnexpectedEOF or a reset (it died), a
// *net.OpError (nobody there, or a time limit), [*ProtocolError] (what came is
// not a valid stream), [*LimitError], [*VersionError], [ErrQueueFull],
// [ErrClosed] (closed here), or the error that the handler returned.
package fabric
