package control

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Signal is one measurement.
type Signal struct {
	Name  string    // what was measured, such as "validation loss"
	Unit  string    // its unit, such as "images/s"; empty for a plain number
	Time  time.Time // when it was measured
	Point uint64    // where in the data's flow it was measured
	Value float64   // may be NaN or infinite: a measurement is recorded as it is
}

// String formats the signal for people, as in "throughput 812 images/s".
func (s Signal) String() string {
	text := s.Name + " " + formatNumber(s.Value)
	if s.Unit != "" {
		text += " " + s.Unit
	}
	return text
}

// formatNumber writes a number with at most five significant digits.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// MarshalJSON writes the signal as an object; a value that is not finite is
// written as a string.
func (s Signal) MarshalJSON() ([]byte, error) { return appendSignal(nil, s), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Signal) UnmarshalJSON(text []byte) error {
	var w struct {
		Name  string    `json:"name"`
		Unit  string    `json:"unit"`
		Time  time.Time `json:"time"`
		Point uint64    `json:"point"`
		Value number    `json:"value"`
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*s = Signal{Name: w.Name, Unit: w.Unit, Time: w.Time, Point: w.Point, Value: float64(w.Value)}
	return nil
}

// appendSignal is written by hand because it runs for every measurement and
// must not allocate.
func appendSignal(b []byte, s Signal) []byte {
	b = appendString(append(b, `{"name":`...), s.Name)
	if s.Unit != "" {
		b = appendString(append(b, `,"unit":`...), s.Unit)
	}
	b = s.Time.UTC().AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano)
	b = strconv.AppendUint(append(b, `","point":`...), s.Point, 10)
	b = appendNumber(append(b, `,"value":`...), s.Value)
	return append(b, '}')
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become the
// replacement character, as in encoding/json.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(strconv.AppendFloat(append(b, '"'), v, 'g', -1, 64), '"')
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// number is a float64 that JSON can carry also when it is not finite.
type number float64

func (n number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }

func (n *number) UnmarshalJSON(text []byte) error {
	if len(text) > 1 && text[0] == '"' {
		switch string(text[1 : len(text)-1]) {
		case "NaN":
			*n = number(math.NaN())
		case "+Inf":
			*n = number(math.Inf(1))
		case "-Inf":
			*n = number(math.Inf(-1))
		default:
			return fmt.Errorf("%s is not a number", text)
		}
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}
