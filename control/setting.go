package control

import (
	"encoding/json"
	"errors"
	"math"
)

// Setting is a value that a decision can change: a finite number, such as a
// learning rate or a thread count, or a word, such as the name of a strategy.
// Settings are comparable with ==. The zero Setting is the number 0.
type Setting struct {
	number float64
	word   string
}

// Number makes a setting of a number.
func Number(v float64) Setting { return Setting{number: v} }

// Word makes a setting of a non-empty word.
func Word(w string) Setting { return Setting{word: w} }

// Number returns the number, 0 for a word.
func (s Setting) Number() float64 { return s.number }

// Word returns the word, empty for a number.
func (s Setting) Word() string { return s.word }

// String formats the setting for people.
func (s Setting) String() string {
	if s.word != "" {
		return s.word
	}
	return formatNumber(s.number)
}

func (s Setting) finite() bool { return !math.IsNaN(s.number) && !math.IsInf(s.number, 0) }

// MarshalJSON writes a number or a string.
func (s Setting) MarshalJSON() ([]byte, error) {
	if s.word != "" {
		return json.Marshal(s.word)
	}
	return json.Marshal(s.number)
}

// UnmarshalJSON reads a number or a non-empty string.
func (s *Setting) UnmarshalJSON(text []byte) error {
	*s = Setting{}
	if len(text) == 0 || text[0] != '"' {
		return json.Unmarshal(text, &s.number)
	}
	if err := json.Unmarshal(text, &s.word); err != nil {
		return err
	}
	if s.word == "" {
		return errors.New("a setting is a number or a word, not an empty string")
	}
	return nil
}
