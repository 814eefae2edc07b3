// Package control is the one shape in which every part of millrace adapts
// itself: it measures, decides, applies, and looks back.
//
//   - A [Signal] is a measured number with a name, a unit, a time and a point.
//   - A [Policy] is a pure function from the [History] of signals to a
//     [Proposal] and its reason. It reads no clock, no file and no random
//     source, so a table of histories tests it and a journal replays it.
//   - A [Decision] is a proposal that was accepted: old and new [Setting], the
//     reason in words, the signals it rests on and the [Expectation]. Its
//     [Outcome], recorded later, says what was then observed.
//   - A [Loop] drives policies: Observe takes signals, Decide runs the policies
//     at a consistent point of the data's own flow and applies what they
//     propose.
//   - A [Journal] keeps all of it, in the file events.jsonl of a run's directory
//     and in a bounded ring for live readers ([Follower]).
//
// The measure-decide-apply shape is that of feedback control; an early
// published account for computer systems is Kephart and Chess, "The Vision of
// Autonomic Computing", IEEE Computer 36(1), 2003 (monitor, analyse, plan,
// execute over shared knowledge).
//
// # Points
//
// A point is a position in the data's flow that every worker agrees on: the
// number of a training step, of a batch, of a control message. Signals and
// decisions carry the point at which they were taken. A decision taken at
// point p rests on signals with points up to p and is in force from the first
// item after p. A run that resumes from a checkpoint of point p rewinds the
// journal to p ([Loop.Resume]): later records stay in the file, marked as
// undone by the rewind record.
//
// # The way through
//
//	Observe ─→ history, journal (buffered), ring
//	Decide  ─→ look back at due decisions ─→ policies, in order
//	        ─→ journal the decision and fsync ─→ Apply
//
// A decision is on disk before it is applied. Signals reach the file when the
// buffer fills, once per second of signal time, and with every decision.
//
// # Invariants
//
//   - At one point each subject changes at most once: the first policy wins.
//   - The same signals, points and first settings give the same decisions;
//     [Replay] checks that for a journal.
//   - Observe allocates nothing in the steady state. The history keeps a bounded
//     number of samples per signal, the ring a bounded number of records; a
//     follower that is too slow loses the oldest and is told how many.
//   - A journal line carries the CRC-32C of its content. A tail torn by a crash
//     is cut off when the journal is opened for appending; damage before intact
//     lines is an error that names the line, a [DamageError].
//
// # Failure
//
// An error of Apply ends the loop: it is recorded as the decision's outcome and
// every later Decide returns it. A failure to write is returned by the call
// that wrote; the decision is then not applied, and what was buffered is
// written again by the next call.
package control
