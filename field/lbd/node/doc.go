// Package node is RPS-LB-D: the program that each sensor and the mobile sink run so that rendezvous collection
// needs neither positions nor a planner. Source: the localized protocol of RPS-LB (MASS 2011).
//
// A [Node] and a [Sink] are deterministic state machines. They see messages, confirmations of their own
// unicasts and a clock; they emit messages and the time at which they want to be woken. They know nothing else: this
// package imports only the standard library, and a [Message] is a flat value that fits one IEEE 802.15.4 frame ([Message.Append],
// [Decode]). Radio, loss, delay and places belong to package lbd, which also checks what no node can see.
//
// # What happens
//
// In each epoch the root starts a wave. HELLO spreads along the tree of the last wave: a node enters the wave, one rank below, when it
// hears its parent, and tells that parent, while the others overhear it. In the first two waves, and where the parent is lost, it takes whom it hears.
// Then loads come back: a node JOINs its parent when all that hang from it have joined. JOIN carries the load of the subtree and a
// histogram of its nodes' loads, so the root can choose the smallest threshold B such that at most Budget nodes have a
// load above B: with links of at most r metres the sink can walk them all in 2 r Budget metres. THRESH
// spreads B; the nodes above it are the core and are visited. One THRESH is for all children in reach, who confirm it (call.go). LOAD corrects
// a load within the wave.
//
// Loads come out even by moves (gate.go): all that hangs from a node at the edge of the core shares that gate, and before a wave a few nodes turn to a
// neighbour behind a gate that has clearly less to send for the energy left, or to one that is visited. A gate's nodes
// may leave in one wave and may be joined in the next, so that moves do not undo each other. So the tree improves from wave to wave,
// follows the energy left, and stays where it is when no move helps; on fields of 300 sensors most of that takes 30 to 40 epochs.
//
// When more than half of the load lies behind a child of the root, MEDIAN_TOKEN goes there and on, REROOT turns the way
// around, and where it ends the next wave starts (median.go).
//
// The sink walks the core depth first: SINK_BEACON collects from a stop and those who hang from it (UPLOAD, ACK),
// NEXT_REQ and NEXT_REP name the next stop. It turns back in time whatever the core looks like.
//
// # Repair
//
// A unicast that is given up twice means that the neighbour is gone; a node whose packets wait for the sink greets its parent
// instead of sending them, to find out as well. A node without parent takes the neighbour of lower rank below which the largest cost is least
// (REPAIR); when there is none it asks its neighbours to pass a request up to the root, which
// starts a new wave. When the root itself is gone, a node that had it as parent starts the wave.
//
// # Invariants
//
//   - No loop, ever: waves are ordered by (sequence, root), a node only moves to newer waves or, within a wave, to lower ranks, and
//     a parent is always strictly ahead of its child in that order. On a path that REROOT has turned nodes wait for the new wave.
//   - O(n) messages a wave, and few of each node: HELLO, JOIN and LOAD are each sent a bounded number of times, THRESH as often for each 32 children
//     that a node has. With 5 % loss none sends more than about a dozen frames, repetitions included.
//   - A node enters the core at a load above B and leaves it below B(1-e), e = 0.1; within a wave, in which B stays, it enters beyond
//     B(1+e). The core has at most Budget nodes when B is chosen; repairs within the wave can make it a little larger,
//     and the sink turns back in time all the same.
package node
