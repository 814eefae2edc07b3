package survey

import (
	"io"
	"math"

	"millrace.dev/field"
)

// maxLinks bounds the number of links in a file.
const maxLinks = 1 << 27

// ReadLinksFile reads the measured links in the file at path between the sensors.
func ReadLinksFile(path string, sensors []field.Sensor) ([]field.Link, error) {
	return fromFile(path, func(r io.Reader) ([]field.Link, error) { return ReadLinks(r, path, sensors) })
}

// ReadLinks reads links from separated values with the columns a, b (ids of sensors) and optionally etx
// (expected transmissions per delivered packet, 1 when left out). A link that was measured in both
// directions counts once, with the larger ETX.
func ReadLinks(r io.Reader, file string, sensors []field.Sensor) ([]field.Link, error) {
	t, err := newTable(r, file)
	if err != nil {
		return nil, err
	}
	a, b, etx := t.column("a"), t.column("b"), t.column("etx")
	if a < 0 || b < 0 {
		return nil, t.fault(0, "the columns a and b (ids of sensors) are needed, and etx if it was measured")
	}
	byID := make(map[string]int32, len(sensors))
	for i := range sensors {
		byID[sensors[i].ID] = int32(i)
	}
	type seenAt struct{ index, line int32 }
	seen := map[[2]int32]seenAt{}
	links := []field.Link{}
	for {
		if err := t.next(); err == io.EOF {
			return links, nil
		} else if err != nil {
			return nil, err
		}
		var end [2]int32
		for k, column := range []int{a, b} {
			index, found := byID[t.text(column)]
			if !found {
				return nil, t.fault(t.cells[column].column, "no sensor has the id %q", t.text(column))
			}
			end[k] = index
		}
		cost := 1.0
		if etx >= 0 {
			if cost, err = t.number(etx, 1); err != nil {
				return nil, err
			}
		}
		switch earlier, back := seen[[2]int32{end[1], end[0]}]; {
		case end[0] == end[1]:
			return nil, t.fault(t.cells[b].column, "the link joins %q with itself", t.text(a))
		case cost < 1:
			return nil, t.fault(t.cells[etx].column, "etx: %g is below 1", cost)
		case len(links) == maxLinks:
			return nil, t.fault(0, "more than %d links", maxLinks)
		case seen[end].line > 0:
			return nil, t.fault(t.cells[a].column, "the link from %q to %q is already in line %d", t.text(a), t.text(b), seen[end].line)
		case back:
			seen[end] = seenAt{earlier.index, int32(t.line)}
			links[earlier.index].ETX = math.Max(links[earlier.index].ETX, cost)
		default:
			seen[end] = seenAt{int32(len(links)), int32(t.line)}
			links = append(links, field.Link{A: int(end[0]), B: int(end[1]), ETX: cost})
		}
	}
}
