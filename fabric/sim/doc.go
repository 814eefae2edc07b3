// Package sim is a fabric.Network without sockets: hosts in one process, joined
// by simulated connections, with a clock of their own. A run of thousands of
// hosts over minutes of virtual time takes seconds, and the same seed gives the
// same run, frame by frame.
//
//	w := sim.New(seed, sim.Link{Min: time.Millisecond, Max: 5 * time.Millisecond})
//	a, b := w.Host("a"), w.Host("b")      // each a fabric.Network and a fabric.Clock
//	b.Listen("sim:b", accept)
//	a.Dial("sim:b", handler)
//	w.Run(time.Second)                    // all callbacks come from here
//	w.Kill("b")
//
// # Model
//
// A [World] is a queue of events in virtual time. Connections behave like TCP:
// frames of one direction never overtake each other on the way, and none is
// lost in mid-stream. A [Link] delays each frame by a random time; a frame that
// it loses comes after a retransmission; now and then it resets the connection.
// With a bandwidth, frames take their time and control frames overtake those
// that still wait.
//
// Faults, all of which may be made in the middle of a run:
//
//   - [World.Kill]: the process dies; its peers get what was under way, then
//     io.EOF or a reset; dials to it are refused. Host makes a new one of the same name.
//   - [World.Vanish]: the machine goes without a word; peers that send to it
//     get a timeout after [UserTimeout], others notice nothing.
//   - [World.Freeze] and [World.Thaw]: the process stops; its timers and what
//     came for it wait until it goes on.
//   - [World.Partition] and [World.Heal]: nothing passes between groups; what
//     was sent comes after healing, unless its sender has given up by then.
//
// # Invariants
//
// Those of package fabric. Callbacks of all hosts come one at a time from Run.
// Runs repeat exactly if all calls come from callbacks or between runs; calls
// from other goroutines are safe, but come at a time of their own.
package sim
