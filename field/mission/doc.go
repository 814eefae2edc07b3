// Package mission turns a field plan into files: what an autopilot flies, what a map shows, what every
// node is flashed with, and what happens when.
//
//	plan.json        instance and plan, read back without loss (Write, Read)
//	mission.plan     QGroundControl plan of one vehicle, simple items only (WritePlanFile)
//	mission.waypoints  "QGC WPL 110" text of one vehicle (WriteWaypoints)
//	plan.geojson, .kml, .gpx  sensors, links, stops and tours on the Earth (WriteGeoJSON, WriteKML, WriteGPX)
//	routes.csv, .h   next hop of every node (WriteRoutes, WriteHeader)
//	collection.jsonl     the collection as timed events (Replay, WriteEvents)
//
// # Coordinates and altitudes
//
// Everything on the Earth needs the [geo.Frame] of the plan. Degrees are rounded to 1e-7 (1 cm), which is what
// MAVLink carries. A mission's altitudes are relative to home, that is to the depot's
// ground: Height above the ground of the stop. At a corner of a detour the vehicle is as high as at
// the higher one of the stops beside it.
//
// # The missions
//
// A mission is TAKEOFF, DO_CHANGE_SPEED, one WAYPOINT for each stop and corner, and RTL. Rovers and boats have
// no TAKEOFF; a plane circles (LOITER_TIME) where others hold. Home is not an item. Autopilots hold for whole seconds,
// so the plan has to be made with a Sink.Hold of one second; a mission of a plan with broken seconds is refused.
// In a .plan the yaw of TAKEOFF and WAYPOINT is null: MAVLink's "keep the heading", the only parameter that is not a
// number; WPL text cannot say that and has 0 there.
//
// # Invariants
//
// What Read returns has passed [field.Check]. Sequence numbers and doJumpIds rise without a gap.
// Replay's last event of a tour is at the tour's Total.
package mission
