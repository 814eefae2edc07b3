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
//     the planner, [Baselines] are the planners that it is compared with,
//     and [NewReference] is its reference tree alone, for protocols that know no positions.
//
// # The way through
//
// [NewGraph] builds the radio graph with a grid index. The cheapest tour through all unconnected parts is the skeleton;
// without one in time the instance is infeasible. A load-balanced reference tree hangs from the weighted median. Its core(B),
// the nodes whose subtree holds a load above B, must hold stops if no sensor may send more than B; the smallest B whose core can be toured
// within the limit is the first starting route. Two more go through the tops of clusters of equal load and through hubs
// spread evenly over the field; where stops cost time, more of them lie on the way from one to the next. The tour is a travelling-salesman tour whose stops slide inside the discs that still
// reach their uploaders. Who can upload on a route are the sources of a routing forest, in which trees grow evenly and
// then exchange subtrees. Starting from these routes a search moves, adds and drops places while the tour fits,
// towards overloaded sensors, and lowers B step by step until the certificate's bound is reached or its steps are used up.
// The certificate is computed from the instance alone, by cuts and by linear-programming duality.
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
