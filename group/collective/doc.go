// Package collective lets the members of a view reduce and exchange vectors over connections.
//
// It has two parts. [NewReducer] gives what reduces the flat gradient vector of training steps: [Step], a ring whose
// chunks start as their gradients become ready, or, for a short vector, one call for all of it. [Engine] runs named
// calls on buffers of any type: all-reduce, reduce-scatter, all-gather, broadcast, barrier. Both are driven by what
// connections receive: a driver calls Body, Frame and Closed, and hands in a [Sender]. They start no goroutine and know
// no socket, so that they run over a simulated network too; the goroutine of shared memory belongs to it.
//
// # Algorithms
//
// S bytes, n members, hops that must follow each other, bytes sent by the busiest member:
//
//	all-reduce         hops                  bytes
//	Ring               2(n-1)                2S(n-1)/n, the least possible
//	HalvingDoubling    2·log₂n (+2)          2S(n-1)/n (+2S); + where n is no power of two
//	Tree               2·⌊log₂n⌋             3S
//	Star               2                     S(n-1)
//	Shared             3                     none: for members of one machine; all but barriers and weighted means
//
// [Choose] picks by size from the cost model α + β·bytes, which [Engine.Measure] fits to the view's own links. The rings are
// those of Patarasuk and Yuan (2009), halving and doubling that of Rabenseifner (2004).
//
// # The way of a call
//
//	Start ─▶ compile: a program of lanes, one a slice of at most 256 KiB (of each segment, for a ring)
//	      ─▶ each lane: send, merge, settle, accept, … as the peers' slices come; lanes do not wait for each other
//	      ─▶ outboxes: what others wait for goes before what starts something new; 1 MiB at a time is with the fabric
//	      ─▶ all lanes complete and no frame of ours on its way: Done and Released
//
// A call in shared memory ([Engine.Share]) has one lane, by which member 0 hears that all have started it. It then gives
// the call its turn, which all are told, and the [shm.Comm] does the rest, one call after the other. Turns hold whatever
// becomes of calls: where one has failed in the meantime, its member stands aside.
//
// Calls of one name match in the order of their starts; calls of different names need no order at all.
// Slices of a call that has not started here are kept, at most [EarlyBytes] of each member: a sender that
// would exceed them asks first, and sends when it hears that the call has started. So no call can be in the way of
// another, and memory is bounded. For a call under way at most what it receives is kept.
//
// # Invariants
//
//   - Each element is combined in the order that [Order] gives, by one member, and copied to the others: all end with
//     the same bits, those of [Serial], whatever the timing. (Which NaN comes of two is not defined, but it is the
//     same one everywhere.)
//   - A call completes on a member only when all have started it with the same operation, type and size. A
//     broadcast asks for its data first, from the leaves up, to be sure of that too.
//   - Products of weighted sums are rounded before they are added, on every machine.
//   - The frames of a call carry all that its members must agree on, in their headers.
//
// # Failures
//
// Members that call the same name differently all get an [*Error] that names the call and the ranks, as soon as a frame
// shows it; a call that waits for 250 ms tells the others what it expects, so that this takes no longer
// even where no frame would pass. Cancelling a call acts here at once and is told to the others; cancelling an
// engine is local, and final: a new view gets a new one. A frame that is being received into a buffer is not
// stopped by that: [Call.Released], or the done function of a step, says when buffers are free. A frame that
// no correct member would send is an error of Body or Frame, which closes the connection.
//
// Numbers travel as they lie in memory: all members are little-endian, as every platform of Go's that this
// module supports.
package collective
