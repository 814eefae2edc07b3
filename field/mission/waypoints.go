package mission

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"millrace.dev/field/geo"
)

// WriteWaypoints writes the tour as "QGC WPL 110" text (MAVLink developer guide, "File formats"). Line 0 is
// home, as Mission Planner and ArduPilot read it; it is the current item.
func (m *Mission) WriteWaypoints(w io.Writer, tour int) error {
	t := &m.Plan.Tours[tour]
	items, err := m.items(t)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	b.WriteString("QGC WPL 110\n")
	line := func(seq, current, frame, command int, params [4]float64, place geo.LatLon, alt float64) {
		fmt.Fprintf(b, "%d\t%d\t%d\t%d", seq, current, frame, command)
		for _, v := range params {
			if math.IsNaN(v) {
				v = 0
			}
			b.WriteString("\t" + strconv.FormatFloat(v, 'f', -1, 64))
		}
		fmt.Fprintf(b, "\t%.7f\t%.7f\t%s\t1\n", place.Lat, place.Lon, strconv.FormatFloat(alt, 'f', -1, 64))
	}
	line(0, 1, frameGlobal, cmdWaypoint, [4]float64{}, m.home(t), m.startAlt(t))
	for i, it := range items {
		line(i+1, 0, it.frame, it.command, it.params, it.place, it.alt)
	}
	return b.Flush()
}
