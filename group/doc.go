// Package group lets workers on machines that may vanish train as one. Each worker computes the
// gradient of its share of a batch; the group adds the gradients up, agrees that the step counts,
// and goes on without those that die in it. Nothing is lost, nothing is counted twice, and the
// step log proves it: a serial run over the same log ends with the same parameters, bit for bit.
//
// Source: SPOTNIK (Wagenländer, Mai, Li, Pietzuch, HotCloud'20): the ring that carries the
// gradients also repairs itself: bypass, reconcile, accept, restart. The commit token, the
// decision about a step in flight and the one authority over views are this package's own.
//
// # Use
//
//	w, err := group.Start(ctx, group.Config{...}) // over a Network such as fabric.NewSockets gives
//	g := w.Gradients()                       // the engine writes its gradient here
//	for {
//		step, err := w.Begin(ctx)            // a joiner's state is restored before it returns
//		if err != nil { ... }                // group.ErrLeft: this worker has left in good order
//		compute the mean gradient of step.Shares into g
//		step.Ready(lo, hi)                   // as parts are complete; what is left out is complete with Commit
//		result, err := step.Commit(ctx, group.Report{Loss: loss})
//		if result.Outcome == group.Apply { update the parameters with result.Mean }
//	}
//	w.Settle(ctx)                            // after the last step: others may need this worker's word on it
//	w.Close()
//
// A loss is no error: Commit returns the result of those that are left, and Result.View says who they are. Programs whose
// samples are not numbered leave [Config].Data empty and give each step its weight with [Step.Weigh].
//
// Beside steps the members can combine and exchange buffers of their own by name: [AllReduce], [Broadcast] and so on. Where all
// run on one machine long ones go through memory that they share. Calls between steps are made by the members that have
// committed the same step; they fail while the members change, and are not agreed on as steps are: see [Worker.Call].
//
// A [Worker] is one process's membership, a [Step] one turn of the loop, a [Result] what the whole
// group agreed on. [State] moves parameters to joiners. An [Authority] decides which view is next
// where a majority of the members cannot.
//
// # The way through
//
//	trainer ──Begin/Ready/Commit──▶ loop ◀──events── links, timers, authority, lifelines
//	   ▲                             │
//	   │ desk: next step, plane,     ├─▶ protocol.Machine   commit token, views        (pure)
//	   │ stripes to copy, verdict    ├─▶ ledger.Ledger      which samples              (pure)
//	   └─────────────────────────────┼─▶ plane              shm.Team or collective, and named calls
//	                                 └─▶ transfer, steplog, status
//
// One goroutine, the loop, owns all state; everything else posts events to it, and it leaves what the
// trainer's goroutine has to do on a desk: only that one begins reductions and copies stripes of the state,
// so neither happens while it updates parameters. Links form a mesh over fabric: the younger member of
// a pair dials, the first frame says who speaks. Frames of data go past the loop to the plane of their
// epoch; those that come before it is in force wait in their link, within its credit.
//
//   - A view: Cancel ends the plane; Install brings the next view; a link to each member; a new plane; the step is
//     begun again from what is in Gradients.
//   - A joiner: dials a member, which wishes for it; is in the view with the next step's commit; receives the
//     results of steps without giving any while its state comes, a stripe from each member; applies them;
//     takes a share. The first step waits a moment for the state, as to keep a result costs more. A worker that was cut
//     off does the same, as another incarnation.
//
// # Invariants
//
//   - The local gradient is never written by the group; the mean stands in another vector. So a step
//     whose reduction broke is reduced again from what the survivors have, with their own samples as
//     the denominator.
//   - A trainer hears of a step's end only when it is committed for good.
//   - What a joiner restores is the state after one and the same step from all: the members cannot commit
//     the next one before it has prepared that, and it does not before all have promised their stripes; what a member has not
//     read by then it copies before its trainer hears that the step is committed.
//   - Each sample of an epoch is used exactly once, whatever views come.
//   - A worker that was cut off (stopped, partitioned) commits nothing, and comes back as a new
//     incarnation with the members' state.
//
// # Failure
//
// A dead connection is suspected at once, as is a local process whose lifeline is cut (package lifeline);
// a silent member after [Config.Suspect] without heartbeats or data. Heartbeats come from the loop, never
// from the computation, so a slow worker is not a dead one. Errors that end a worker are typed:
// [DivergedError], [PlanError], [RefusedError]. A step log that cannot be written is told in
// [Status].Trouble, and training goes on. Without a majority, or while the [Authority] does not answer, no
// view can follow one in which a member has died, and [Status].Waiting says so.
//
// A joiner keeps the results of at most 64 steps, and of 512 MiB, but at least of two; while its state takes
// longer to come than that, the group waits for it. When all members with the whole state die, the state is lost: joiners end with an error.
// Members' clocks need not agree. Members that lie are out of scope.
package group
