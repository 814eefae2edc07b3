// Package ledger keeps account of which samples of an epoch are used, so that any sequence of members
// uses each of them exactly once. It is pure: no clock, no randomness, no I/O.
//
// The samples of an epoch are positions 0 to N-1 of an order that is made elsewhere from the seed and
// the epoch. A [Ledger] is how far the group has come in it and which positions were handed out to a
// member that then did not contribute. [Ledger.Assign] cuts the next step's samples into one share
// for each member, those that came back first; [Ledger.Commit] counts the shares of the
// contributors as used and takes back the others. An epoch ends when nothing is left.
//
// All members call both with the same arguments, since the members of a share and the contributors
// of a step are agreed on, and so have the same ledger after the same step.
//
// Invariant: at any time each position of the epoch is either used, returned, or not yet handed out,
// and no position is used twice. Steps that are tried again are assigned again from the ledger before
// them, which has not changed.
package ledger
