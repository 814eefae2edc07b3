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
// The root starts a wave: HELLO spreads and gives every node its rank (hops from the root) and a way at once. Then loads
// come back, deepest nodes first: a node whose deeper neighbours have all settled JOINs a neighbour of lower rank; LOAD tells
// the others. JOIN carries the load of the subtree and a histogram of its nodes' loads in 16 buckets, so the root can choose the smallest
// threshold B such that at most Budget nodes have a load above B: with links of at most r metres the sink can walk them all in
// 2 r Budget metres. THRESH spreads B; the nodes above it are the core and are visited.
//
// Parents are chosen by least load per energy left, but a node that is visited anyway is preferred: load costs nothing there. The tree with
// the smallest B so far is remembered; every other wave some nodes try what looks better than in it (join.go), and
// THRESH says whether the result is kept. So the tree improves from wave to wave, follows the energy left, and stays where it is when nothing changes.
//
// The first wave of all only looks for the middle of the load: MEDIAN_TOKEN goes there, REROOT turns the way around, and the new root
// starts the first real wave; later the root moves on by single hops (median.go, sides.go).
//
// The sink walks the core depth first: SINK_BEACON collects from a stop and those who hang from it (UPLOAD, ACK),
// NEXT_REQ and NEXT_REP name the next stop. It turns back in time whatever the core looks like.
//
// # Repair
//
// A unicast that is not acknowledged means that the neighbour is gone. A node without parent takes the least
// loaded neighbour of lower rank (REPAIR); when there is none it asks its neighbours to pass a request up to the root, which
// starts a new wave. When the root itself is gone, a node that had it as parent starts the wave.
//
// # Invariants
//
//   - No loop, ever: waves are ordered by (sequence, root), a node only moves to newer waves or, within a wave, to lower ranks, and
//     a parent is always strictly ahead of its child in that order. On a path that REROOT has turned nodes wait for the new wave.
//   - O(n) messages a wave: HELLO, JOIN, LOAD and THRESH are each sent a bounded number of times by each node.
//   - Membership of the core changes only beyond B(1+e) and below B(1-e), e = 0.1, unless the root says that B is a fresh start.
package node
