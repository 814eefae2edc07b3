package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestFind(t *testing.T) {
	const n = 3
	port := Find(t, n)
	if !free(port, n) {
		t.Fatalf("somebody listens at port %d or behind it", port)
	}
	for i := range n { // one that is taken is found out, whichever it is
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+i))
		if err != nil {
			t.Fatal(err)
		}
		if free(port, n) {
			t.Errorf("port %d counts as free", port+i)
		}
		l.Close()
	}
}
