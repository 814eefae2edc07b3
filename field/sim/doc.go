// Package sim runs a field plan packet by packet and watches batteries.
//
// [Run] simulates rounds of a mission: sensors make packets evenly over the round (each with its own phase), pass them
// along the plan's routes, hold them where the plan uploads, and send them when a vehicle waits at their stop.
// It reports when sensors die, how the energy was spent, what was delivered and how old it was.
//
// # Model
//
// Time is in integer nanoseconds, energy in integer nanojoules. A radio is always in one of four states (transmitting,
// receiving, idle, asleep), and each nanojoule is booked under one of them, so that the states' sums and what is
// left in the battery add up to what was in it, exactly. A node sends one packet at a time; receivers are awake when they are
// sent to; frames do not collide (the schedule is the link layer's matter). Each attempt fails with the
// probability that the link's ETX and Options.Loss give, and is repeated up to Options.Retries times; failed
// attempts cost the sender. A battery that cannot pay kills its node with what it holds. Routes are
// not repaired: package lbd does that.
//
// # Steady rounds
//
// When nothing is random (no loss, ETX 1) and two rounds in a row cost every node the same, so will the next
// ones: they are booked at once until the round before the first battery ends. The result is the same to the nanojoule.
//
// # Invariants
//
// made = delivered + dropped + held, and per node tx + rx + idle + sleep + left = battery: Result has passed both. The same
// mission, options and seed give the same result.
package sim
