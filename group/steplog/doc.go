// Package steplog writes and reads what a group did in each step, so that a serial program can do
// the same again and compare the parameters bit for bit.
//
// A log is a directory of segments, steps-NNNNNN.log, of bounded size; the oldest are removed once
// there are more than [Options].Keep. A segment is lines of JSON, each with the CRC-32C of its
// content:
//
//	{"crc32c":"89abcdef","step":{...}}
//
// Main types: [Record] is one committed step, [Part] what one member gave to it; [Writer] appends,
// [Read] yields what a directory holds, [Merge] joins the logs of several workers and checks that
// they tell the same; [Runs] does so where steps are missing.
//
// # Durability
//
// Each record is one write call, so what a killed process has logged stays. A segment is synced when
// the next one begins, on [Writer.Sync] (to be called before a checkpoint is written, which then
// never is ahead of its log) and on [Writer.Close]; a machine that loses power may lose the records
// after the last of these.
//
// # Failure
//
// A write that fails (a full disk) loses that record and is reported; the torn line is cut off before
// the next one, and readers see a gap in the steps. [Open] cuts off what a crash has torn at the end.
// Damage before intact lines is a [DamageError] with file and line.
package steplog
