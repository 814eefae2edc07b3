// Package house holds the rules of this repository as tests, so that they
// cannot rot: which folder may import which, that every package says what it
// is, and that no text names a place or a note that only its author has.
//
// The packages are those that go list finds in the module; the texts are the
// files that git tracks. See ARCHITECTURE.md for the rules in words.
package house
