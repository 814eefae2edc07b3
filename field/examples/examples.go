// Package examples holds real positions to plan for.
//
// stations.csv: 226 weather stations of the Upper Midwest of the United States (latitude 40 to 46, longitude
// -98 to -88), ids and coordinates only, extracted by extract.py from the station list of Debian's package weather-util-data
// (ISC, copyright 2006-2023 Jeremy Stanley), which was compiled from sources in the public domain: the NOAA National Weather
// Service's station list and OurAirports. See NOTICE.
package examples

import _ "embed"

// Stations is stations.csv: columns id, lat, lon.
//
//go:embed stations.csv
var Stations []byte
