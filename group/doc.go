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
//	w, err := group.Start(ctx, group.Config{...})
//	g := w.Gradients()                       // the engine writes its gradient here
//	for {
//		step, err := w.Begin(ctx)            // a joiner's state is restored before it returns
//		if err != nil { ... }                // group.ErrLeft: this worker has left in good order
//		compute the mean gradient of step.Shares into g; step.Ready(lo, hi) as parts are complete
//		result, err := step.Commit(ctx, group.Report{Loss: loss})
//		if result.Outcome == group.Apply { update the parameters with result.Mean }
//	}
//
// A [Worker] is one process's membership, a [Step] one turn of the loop, a [Result] what the whole
// group agreed on. [State] moves parameters to joiners. An [Authority] decides which view is next
// where a majority of the members cannot.
//
// # The way through
//
//	trainer ──Begin/Ready/Commit──▶ loop ◀──events── connections, timers, authority
//	                                 │
//	                                 ├─▶ protocol.Machine   commit token, views   (pure)
//	                                 ├─▶ ledger.Ledger      which samples         (pure)
//	                                 ├─▶ reducer            shared memory or ring
//	                                 └─▶ transfer, steplog, status
//
// One goroutine, the loop, owns all state; everything else posts events to it. Connections form a
// mesh over fabric: the younger member of a pair dials, the first frame says who speaks.
//
// # Invariants
//
//   - The local gradient is never written by the group; the mean stands in another vector. So a step
//     whose reduction broke is reduced again from what the survivors have, with their own samples as
//     the denominator.
//   - A member tells the trainer of a step's end only when it is committed everywhere it can be.
//   - A vector's mapping changes only while the trainer is not using it.
//   - Each sample of an epoch is used exactly once, whatever views come.
//   - A worker that was cut off (stopped, partitioned) commits nothing, and comes back as a new
//     incarnation with the members' state.
//
// # Failure
//
// A dead connection is suspected at once, a silent one after [Config.Suspect] without heartbeats or
// data; heartbeats come from the loop, never from the computation, so a slow worker is not a dead one.
// Errors that end a worker are typed: [DivergedError], [PlanError], [StalledError]...
// Members' clocks need not agree. Byzantine members are out of scope.
package group
