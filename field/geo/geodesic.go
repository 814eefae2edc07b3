package geo

import "math"

// convergence is the change of longitude on the auxiliary sphere, in radians, at which the iterations end.
const convergence = 1e-14

// inverse is the geodesic from a to b: its length in metres and its azimuth at a in radians. It fails
// for places that are nearly antipodal (Vincenty 1975, section 4).
func inverse(a, b LatLon) (dist, azimuth float64, ok bool) {
	l := radians(wrap(b.Lon - a.Lon))
	sinU1, cosU1 := reduced(a.Lat)
	sinU2, cosU2 := reduced(b.Lat)
	lambda := l
	for range 100 {
		sinL, cosL := math.Sincos(lambda)
		east, north := cosU2*sinL, cosU1*sinU2-sinU1*cosU2*cosL
		sinS := math.Hypot(east, north)
		if sinS == 0 {
			return 0, 0, a == b || cosU1*cosU2*cosL+sinU1*sinU2 > 0
		}
		cosS := sinU1*sinU2 + cosU1*cosU2*cosL
		sigma := math.Atan2(sinS, cosS)
		sinA := cosU1 * cosU2 * sinL / sinS
		cosSqA := 1 - sinA*sinA
		cos2m := 0.0 // on the equator
		if cosSqA > 1e-15 {
			cos2m = cosS - 2*sinU1*sinU2/cosSqA
		}
		previous := lambda
		lambda = l + longitude(sinA, cosSqA, sigma, sinS, cosS, cos2m)
		if math.Abs(lambda-previous) < convergence {
			scaleA, scaleB := series(cosSqA)
			return semiMinor * scaleA * (sigma - correction(scaleB, sinS, cosS, cos2m)), math.Atan2(east, north), true
		}
	}
	return 0, 0, false
}

// direct is the place at the end of the geodesic that leaves a at the azimuth, dist metres long.
func direct(a LatLon, azimuth, dist float64) LatLon {
	sin1, cos1 := math.Sincos(azimuth)
	sinU, cosU := reduced(a.Lat)
	sigma1 := math.Atan2(sinU, cosU*cos1)
	sinA := cosU * sin1
	cosSqA := 1 - sinA*sinA
	scaleA, scaleB := series(cosSqA)
	plain := dist / (semiMinor * scaleA)
	sigma, sinS, cosS, cos2m := plain, 0.0, 0.0, 0.0
	for range 100 {
		cos2m = math.Cos(2*sigma1 + sigma)
		sinS, cosS = math.Sincos(sigma)
		next := plain + correction(scaleB, sinS, cosS, cos2m)
		done := math.Abs(next-sigma) < convergence
		if sigma = next; done {
			break
		}
	}
	sinS, cosS = math.Sincos(sigma)
	across := math.Hypot(sinA, sinU*sinS-cosU*cosS*cos1)
	lat := math.Atan2(sinU*cosS+cosU*sinS*cos1, (1-flattening)*across)
	lambda := math.Atan2(sinS*sin1, cosU*cosS-sinU*sinS*cos1)
	lon := a.Lon + degrees(lambda-longitude(sinA, cosSqA, sigma, sinS, cosS, cos2m))
	return LatLon{degrees(lat), wrap(lon)}
}

// reduced is the sine and cosine of the reduced latitude.
func reduced(lat float64) (sin, cos float64) {
	sin, cos = math.Sincos(radians(lat))
	sin *= 1 - flattening
	norm := math.Hypot(sin, cos)
	return sin / norm, cos / norm
}

// series is Vincenty's A and B (equations 3 and 4).
func series(cosSqA float64) (a, b float64) {
	u := cosSqA * (semiMajor*semiMajor - semiMinor*semiMinor) / (semiMinor * semiMinor)
	return 1 + u/16384*(4096+u*(-768+u*(320-175*u))), u / 1024 * (256 + u*(-128+u*(74-47*u)))
}

// correction is Vincenty's delta sigma (equation 6).
func correction(b, sinS, cosS, cos2m float64) float64 {
	return b * sinS * (cos2m + b/4*(cosS*(2*cos2m*cos2m-1)-b/6*cos2m*(4*sinS*sinS-3)*(4*cos2m*cos2m-3)))
}

// longitude is the difference between longitude on the auxiliary sphere and on the ellipsoid (equations 10 and 11).
func longitude(sinA, cosSqA, sigma, sinS, cosS, cos2m float64) float64 {
	c := flattening / 16 * cosSqA * (4 + flattening*(4-3*cosSqA))
	return (1 - c) * flattening * sinA * (sigma + c*sinS*(cos2m+c*cosS*(2*cos2m*cos2m-1)))
}

// wrap brings a longitude or a difference of two into [-180, 180].
func wrap(lon float64) float64 {
	if lon >= -180 && lon <= 180 {
		return lon
	}
	return math.Remainder(lon, 360)
}
