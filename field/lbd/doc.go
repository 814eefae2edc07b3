// Package lbd runs RPS-LB-D, the localized protocol of package node, over a simulated radio.
//
// A [Network] holds one node.Node per sensor, a node.Sink, a seeded radio and a clock. What crosses the radio is the
// encoded frame and nothing else. Frames of a node queue up; each takes 1 to Options.Delay ticks to each receiver and is lost on
// each link with the probability that Options.Loss and the link's ETX give. A unicast is repeated up to three times until it is acknowledged
// (acknowledgements are lost as well), and then confirmed to its sender or given up; other nodes in reach overhear it. Packets are handed on at
// least once: a node that gives up although its parent has received them hands them to the next parent too.
//
// The tour of the sink is timed: driving and climbing at the speeds of the instance, a turn at each arrival, packets at its upload rate,
// half of the launch at each end, and the talk itself. The number of stops that the protocol may choose is what this leaves room for when every
// link is as long as the longest; the sink counts down by the same rule and turns back in time whatever happens, leaving packets in the
// field that there is no time for. With a depot the sensor nearest to it is the root and the tour begins there. [Run] charges batteries a round of
// data per epoch and tells the nodes what is left. Not modelled, and refused with an [*UnsupportedError]: no-fly zones, several vehicles, the Buffer
// model, broken packets. The sink is taken to hear whom the sensor beside it hears, whatever Instance.UploadRange says; it need not wait whole seconds.
//
// The Network sees what no node can: positions, who is alive, the whole graph. It uses that for the radio, for [Network.Tour], which
// drives the sink, and for checks. After every event at which a parent changes it follows that node's way: a loop ends
// the simulation with a [*LoopError].
//
// Determinism: the same instance, options and calls give the same events.
package lbd
