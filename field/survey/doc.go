// Package survey reads what is known about a field: sensors, measured links and zones.
//
// Sensors come from CSV ([ReadCSV]) or GeoJSON points ([ReadGeoJSON]), in metres or in latitude and
// longitude; measured links from CSV ([ReadLinks]); no-fly zones and obstacles from GeoJSON polygons
// ([ReadZones]). [Generate] makes a field of a given shape instead. All give the types of package field, in the
// local plane of a [geo.Frame] when the input had latitude and longitude.
//
// A CSV file has a header that names its columns, in any order and case: id, and x,y (metres) or lat,lon
// (degrees), then optionally weight (packets a round), energy (joules) and alt (metres). Cells are separated by
// commas, semicolons or tabs; with semicolons the decimal sign may be a comma. A byte order mark, CRLF
// line ends, quotes and blank lines are accepted.
//
// Every fault is an [Error] with file, line and column. The first one ends the reading: nothing is
// guessed or left out. Things that are legal but probably meant otherwise (columns without a meaning, sensors at one
// and the same place) are kept as [Survey.Notes].
//
// Bounds: lines of 64 KiB, 16 million sensors, 256 MiB of GeoJSON. CSV is read as a stream.
package survey
