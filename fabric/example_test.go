package fabric_test

import (
	"fmt"

	"millrace.dev/fabric"
)

// greeter answers each frame with one of its own.
type greeter struct{ greeted chan string }

func (g greeter) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}

func (g greeter) Frame(c fabric.Conn, h fabric.Header, body []byte) error {
	if h.Type == 1 {
		c.Send(fabric.Control, fabric.Header{Type: 2}, append([]byte("hello "), body...), nil)
		return nil
	}
	g.greeted <- fmt.Sprintf("%s says: %s", c.Peer(), body)
	return nil
}

func (g greeter) Closed(fabric.Conn, error) {}

func Example() {
	server, err := fabric.NewSockets(fabric.Options{Name: "server"})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	l, err := server.Listen("tcp:127.0.0.1:0", func(fabric.Conn) (fabric.Handler, error) { return greeter{}, nil })
	if err != nil {
		panic(err)
	}

	client, err := fabric.NewSockets(fabric.Options{Name: "client"})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	g := greeter{make(chan string, 1)}
	c := client.Dial(l.Addr(), g)
	c.Send(fabric.Control, fabric.Header{Type: 1}, []byte("world"), nil)
	fmt.Println(<-g.greeted)
	// Output: server says: hello world
}
