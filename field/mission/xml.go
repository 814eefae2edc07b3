package mission

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// KML 2.2 (OGC 07-147r2), as far as it is used.
type (
	kmlFile struct {
		XMLName  xml.Name    `xml:"http://www.opengis.net/kml/2.2 kml"`
		Document kmlDocument `xml:"Document"`
	}
	kmlDocument struct {
		Name    string      `xml:"name"`
		Styles  []kmlStyle  `xml:"Style"`
		Folders []kmlFolder `xml:"Folder"`
	}
	kmlStyle struct {
		ID   string   `xml:"id,attr"`
		Icon *kmlIcon `xml:"IconStyle,omitempty"`
		Line *kmlLine `xml:"LineStyle,omitempty"`
	}
	kmlIcon struct {
		Color string  `xml:"color"`
		Scale float64 `xml:"scale"`
	}
	kmlLine struct {
		Color string  `xml:"color"` // aabbggrr
		Width float64 `xml:"width"`
	}
	kmlFolder struct {
		Name   string         `xml:"name"`
		Places []kmlPlacemark `xml:"Placemark"`
	}
	kmlPlacemark struct {
		Name        string    `xml:"name"`
		Description string    `xml:"description,omitempty"`
		Style       string    `xml:"styleUrl"`
		Point       *kmlCoord `xml:"Point,omitempty"`
		Line        *kmlCoord `xml:"LineString,omitempty"`
	}
	kmlCoord struct {
		Tessellate   int    `xml:"tessellate,omitempty"`
		AltitudeMode string `xml:"altitudeMode,omitempty"`
		Coordinates  string `xml:"coordinates"`
	}
)

// WriteKML writes stops, tours and sensors for Google Earth and the like.
func (m *Mission) WriteKML(w io.Writer) error {
	if m.Frame == nil {
		return ErrNoFrame
	}
	point := func(lat, lon float64) *kmlCoord { return &kmlCoord{Coordinates: lonLat(lat, lon)} }
	tours, stops, sensors := kmlFolder{Name: "Tours"}, kmlFolder{Name: "Stops"}, kmlFolder{Name: "Sensors"}
	for i := range m.Plan.Tours {
		t := &m.Plan.Tours[i]
		var line []string
		for _, p := range t.Path {
			at := m.rounded(p)
			line = append(line, lonLat(at.Lat, at.Lon))
		}
		tours.Places = append(tours.Places, kmlPlacemark{Name: fmt.Sprintf("Tour %d", i+1), Style: "#tour",
			Description: fmt.Sprintf("%.0f m, %v", t.Length, t.Total), Line: &kmlCoord{Tessellate: 1, Coordinates: strings.Join(line, " ")}})
	}
	for i := range m.Plan.Stops {
		s := &m.Plan.Stops[i]
		at := m.rounded(s.Pos)
		stops.Places = append(stops.Places, kmlPlacemark{Name: fmt.Sprintf("Stop %d", i+1), Style: "#stop",
			Description: fmt.Sprintf("%g packets in %v", s.Packets, s.Dwell), Point: point(at.Lat, at.Lon)})
	}
	for i := range m.Instance.Sensors {
		s := &m.Instance.Sensors[i]
		at := m.rounded(s.Pos)
		sensors.Places = append(sensors.Places, kmlPlacemark{Name: s.ID, Style: "#sensor",
			Description: fmt.Sprintf("sends %g packets a round", m.Plan.Load[i]), Point: point(at.Lat, at.Lon)})
	}
	return writeXML(w, kmlFile{Document: kmlDocument{Name: "millrace field plan",
		Styles: []kmlStyle{{ID: "tour", Line: &kmlLine{"ff0055ff", 3}}, {ID: "stop", Icon: &kmlIcon{"ff0055ff", 1}},
			{ID: "sensor", Icon: &kmlIcon{"ffb08000", 0.4}}},
		Folders: []kmlFolder{tours, stops, sensors}}})
}

// GPX 1.1 (Topografix), as far as it is used. The schema fixes the order: waypoints, then routes.
type (
	gpxFile struct {
		XMLName xml.Name   `xml:"http://www.topografix.com/GPX/1/1 gpx"`
		Version string     `xml:"version,attr"`
		Creator string     `xml:"creator,attr"`
		Points  []gpxPoint `xml:"wpt"`
		Routes  []gpxRoute `xml:"rte"`
	}
	gpxPoint struct {
		Lat  string `xml:"lat,attr"`
		Lon  string `xml:"lon,attr"`
		Ele  string `xml:"ele,omitempty"`
		Name string `xml:"name,omitempty"`
		Desc string `xml:"desc,omitempty"`
	}
	gpxRoute struct {
		Name   string     `xml:"name"`
		Points []gpxPoint `xml:"rtept"`
	}
)

// WriteGPX writes the stops as waypoints and each tour as a route.
func (m *Mission) WriteGPX(w io.Writer) error {
	if m.Frame == nil {
		return ErrNoFrame
	}
	file := gpxFile{Version: "1.1", Creator: "millrace"}
	for i := range m.Plan.Stops {
		s := &m.Plan.Stops[i]
		at := m.rounded(s.Pos)
		file.Points = append(file.Points, gpxPoint{Lat: degrees(at.Lat), Lon: degrees(at.Lon), Ele: degrees(s.Alt),
			Name: fmt.Sprintf("Stop %d", i+1), Desc: fmt.Sprintf("%g packets in %v", s.Packets, s.Dwell)})
	}
	for i := range m.Plan.Tours {
		route := gpxRoute{Name: fmt.Sprintf("Tour %d", i+1)}
		for _, p := range m.Plan.Tours[i].Path {
			at := m.rounded(p)
			route.Points = append(route.Points, gpxPoint{Lat: degrees(at.Lat), Lon: degrees(at.Lon)})
		}
		file.Routes = append(file.Routes, route)
	}
	return writeXML(w, file)
}

func writeXML(w io.Writer, file any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	if err := enc.Encode(file); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// degrees writes a number without an exponent, which XML's decimal type does not allow.
func degrees(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func lonLat(lat, lon float64) string { return degrees(lon) + "," + degrees(lat) }
