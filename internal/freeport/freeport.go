// Package freeport finds ports for tests that must name them before anybody listens there.
//
// They lie below those that systems give to connections by themselves, so that no connection of another
// test takes one in the meantime.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports are looked for from first on.
const (
	first = 15000
	many  = 10000
	tries = 100
)

// Find returns the first of n ports that follow each other and on which nobody listens, on any address.
func Find(t testing.TB, n int) int {
	t.Helper()
	for range tries {
		if port := first + rand.IntN(many-n); free(port, n) {
			return port
		}
	}
	t.Fatalf("no %d ports that follow each other are free", n)
	return 0
}

// free tells whether nobody listens on n ports.
func free(port, n int) bool {
	for i := range n {
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port+i))
		if err != nil {
			return false
		}
		defer l.Close()
	}
	return true
}
