// Package geo maps latitude and longitude to the local plane of a field plan and back.
//
// A [Frame] is the azimuthal equidistant projection of the WGS 84 ellipsoid about an origin: a place
// at geodesic distance s and azimuth a from the origin lies at (s sin a, s cos a), metres east and north.
// Near the origin that is the usual east-north plane of a survey. Geodesics are computed as
// in T. Vincenty, "Direct and inverse solutions of geodesics on the ellipsoid", Survey Review 23 (1975).
//
// Why this projection: on a surface of positive curvature it never shortens a line (the metric grows
// tangentially by s/sin s and is exact radially), so a tour that keeps its deadline on the map keeps it on
// the ground, and sensors in range on the map are in range. At 100 km from the origin
// lengths grow by at most 0.005 %, at 1,000 km by 0.5 %.
//
// Invariants: Global(Local(x)) is x to better than a millimetre within [MaxExtent]; longitudes in and
// out are in [-180, 180], and a frame may lie across the antimeridian. A place that is not on the Earth, or
// farther from the origin than MaxExtent, is a [RangeError].
package geo
