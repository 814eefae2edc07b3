// Package field plans where a mobile sink (drone, rover, boat) stops and drives so that a sensor
// network lives longest, and proves how near the plan is to the best possible.
//
// Source: RPS-LB and RPS-LB-D (MASS 2011), rendezvous selection with a load-balanced reference tree
// rooted at the weighted median; the baselines are the static sink, RP-CP and RP-UG (RTSS 2007),
// CB (cluster-based collection), WRP (weighted rendezvous planning), the MST walk and random stops.
//
// # The problem
//
// Sensors form a radio graph. In each round every sensor has Weight packets; it sends them, over
// other sensors or directly, to the sink at one of its stops. The sink drives one closed tour a round
// and must be back before its deadline, waiting at stops included. The plan minimises MaxLoad, the
// packets that the busiest sensor transmits in a round (scaled by its battery), because that sensor
// dies first; then total transmissions; then tour length. The problem is NP-hard in both upload models.
//
// # Main types
//
//   - [Instance]: sensors, radio graph (range or [Link]s), [Obstacle]s, depot, [Sink], [Upload] model, [Energy] model.
//   - [Plan]: stops, next hop and upload stop of every sensor, loads, tours, [Certificate], [Unserved] list.
//   - [Solve] makes a plan, [Replan] repairs one after a change, [Check] verifies one without using
//     any of the planner's code, [Baselines] are the planners that it is compared with.
//
// # The way through
//
// [NewGraph] builds the radio graph with a grid index; the weighted median becomes the root of a
// load-balanced reference tree; core(B) is the part of the tree that must hold stops for a maximal load
// B; the smallest B whose core can be walked within the limit gives the first stops. Stops then
// shift inside the discs that still reach their uploaders, a travelling-salesman tour joins them, the
// forest that hangs from the stops is balanced again, and B is lowered while the tour still fits. The certificate is
// computed from the instance alone.
//
// # Invariants
//
//   - A returned plan has passed [Check]: no tour exceeds the deadline with dwell, turns and climb
//     counted; each sensor reaches a stop without a loop or is listed as unserved with its reason.
//   - The certificate's bound never exceeds the optimum of the instance.
//   - The same instance, options and seed give the same plan.
//
// # Failure
//
// Bad input is an [InputError] that names the sensor and field at fault. A deadline that cannot be kept is an
// [InfeasibleError] that carries the nearest deadline known to be feasible.
package field
