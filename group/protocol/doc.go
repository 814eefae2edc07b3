// Package protocol decides which steps of a group count, and who is in the group. It is a state
// machine without goroutines, clocks or connections: [Machine.Handle] takes an [Event] and returns the
// [Action]s that its driver carries out, so the same code runs over sockets and in a simulation of
// thousands of failures.
//
// Source: the ring that repairs itself (bypass, reconcile, accept, restart) is that of SPOTNIK
// (Wagenländer, Mai, Li, Pietzuch, HotCloud'20); agreement by majority is single-decree Paxos
// (Lamport, The Part-Time Parliament, 1998), one instance a view, as in §3 of Lamport, Malkhi, Zhou,
// Reconfiguring a State Machine, 2010.
//
// # The commit of a step
//
// A step is reduced over the members of the view ([Prepared] says that this member has the result),
// then committed: [Token] messages go up a binary tree over the ranks, each from a subtree that is
// prepared, and carry each member's [Record]; [Verdict] comes down with all of them. A step that is
// committed anywhere is prepared everywhere, which is all that a view change needs to know.
//
//	Prepared ─▶ Token up ─▶ (root) ─▶ Verdict down ─▶ Commit{Step, Facts, Records}
//
// What all must know even if the root dies with the records, the weight of the mean and whether it
// is finite, is in [Facts], which each prepared member has from the reduction itself.
//
// # The change of a view
//
//	Suspect, or wishes in the records of a committed step
//	  ─▶ Cancel, Reconcile round the ring, past the dead   each votes: last step, prepared or not; and
//	                                                       from then on does nothing more in this epoch
//	  ─▶ the authority                                     Service: Ask, a compare-and-swap outside
//	                                                       Majority: Accept, taken by more than half
//	  ─▶ Accept{Chosen} round the ring                     Commit if the step counts, Install
//
// The [Change] that was chosen holds the members and the decision about the step in flight: it is
// committed if anybody has committed it or all that stay are prepared, else it is reduced again over
// the new view from the gradients that each has kept. A change is chosen once for an epoch, and only
// with the votes of all members that it keeps.
//
// # Invariants
//
//   - One view for each epoch, one result for each step: the same weight, the same members that were
//     reduced, on all members, also on those that were cut off.
//   - A member that has voted neither prepares nor commits in that epoch, except by the change.
//   - All members of a view have committed the same step when they install it.
//   - A member is behind the others by one change at most; whoever notices sends it.
//
// # What the driver does
//
// It calls a step prepared only when each member of the view has given its part of it, if only with
// weight 0. It carries out actions in order. It delivers messages of one connection in order, reports a
// connection that is broken or cannot be made by [Suspect], sends a [Beat] now and then to all members of the
// view, suspected ones too, and suspects the silent. After [Cancel] it moves no data of that epoch, but keeps
// the result of a step that was prepared: a [Commit] may follow.
//
// # Failures
//
// A member that is no longer in the view gets [Fenced] and the machine ends; it may come back under
// another [ID]. Members that reduced different things, or whose states differ, are told so
// ([Failed], [Commit.Diverged]). Without a majority, or with an authority that does not answer, no step
// counts, and [Stalled] says in words what is waited for; so it is for a while where those that can be reached are all
// joiners without the state ([Restored]), which then begin anew. One that was cut off and comes back when all
// that it knew are gone, and only others go on, is told by nobody: it stays stalled, or its service
// tells it. Members that lie are out of scope.
package protocol
