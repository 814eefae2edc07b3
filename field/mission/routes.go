package mission

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"millrace.dev/field"
)

// WriteRoutes writes every node's next hop as CSV: index, id, role ("relay" sends to the next node, "upload"
// to the sink at its stop, "none" is not served), next (id), stop (from 1) and load (packets sent a round).
func (m *Mission) WriteRoutes(w io.Writer) error {
	c := csv.NewWriter(w)
	c.Write([]string{"index", "id", "role", "next", "stop", "load"})
	stop := m.StopOf()
	for i := range m.Instance.Sensors {
		role, next, at := "none", "", ""
		switch parent := m.Plan.Parent[i]; {
		case parent >= 0:
			role, next = "relay", m.Instance.Sensors[parent].ID
		case parent == field.ToSink:
			role = "upload"
		}
		if stop[i] >= 0 {
			at = strconv.Itoa(int(stop[i]) + 1)
		}
		c.Write([]string{strconv.Itoa(i), m.Instance.Sensors[i].ID, role, next, at, strconv.FormatFloat(m.Plan.Load[i], 'g', -1, 64)})
	}
	c.Flush()
	return c.Error()
}

// WriteHeader writes the same as C arrays for firmware, indexed by node. C11 and C++ compile it.
func (m *Mission) WriteHeader(w io.Writer) error {
	n := len(m.Instance.Sensors)
	kind, none := "uint16_t", 0xFFFF
	if n >= 0xFFFE {
		kind, none = "uint32_t", 0xFFFFFFFF
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `/* Routing tables of a millrace field plan, indexed by node. */
#ifndef MILLRACE_ROUTES_H
#define MILLRACE_ROUTES_H
#include <stdint.h>
#define MILLRACE_NODES %du
#define MILLRACE_STOPS %du
#define MILLRACE_TO_SINK %#Xu  /* upload to the sink */
#define MILLRACE_NONE %#Xu     /* not served, no stop */
`, n, len(m.Plan.Stops), none-1, none)
	stop := m.StopOf()
	array(b, kind, "millrace_next", n, func(i int) string {
		switch parent := m.Plan.Parent[i]; parent {
		case field.ToSink:
			return "MILLRACE_TO_SINK"
		case field.NoRoute:
			return "MILLRACE_NONE"
		default:
			return strconv.Itoa(int(parent))
		}
	})
	array(b, kind, "millrace_stop", n, func(i int) string {
		if stop[i] < 0 {
			return "MILLRACE_NONE"
		}
		return strconv.Itoa(int(stop[i]))
	})
	array(b, "char *const", "millrace_id", n, func(i int) string { return cString(m.Instance.Sensors[i].ID) })
	b.WriteString("#endif\n")
	return b.Flush()
}

func array(b *bufio.Writer, kind, name string, n int, value func(i int) string) {
	fmt.Fprintf(b, "static const %s %s[MILLRACE_NODES] = {", kind, name)
	for i := range n {
		if i%8 == 0 {
			b.WriteString("\n ")
		}
		b.WriteString(" " + value(i) + ",")
	}
	b.WriteString("\n};\n")
}

// cString is a C string literal of the bytes of s; what is not plain ASCII is written in octal, which, unlike
// hexadecimal, ends after three digits.
func cString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '?': // ? could begin a trigraph
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "\\%03o", c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
