package host

import "testing"

func TestLoopback(t *testing.T) {
	for name, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "example.org": false, "localhost.example.org": false,
		"127.0.0.1:80": false, "[::1]": false,
	} {
		if got := Loopback(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	for address, want := range map[string]bool{
		"localhost:1": true, "127.0.0.1:0": true, "[::1]:80": true, ":80": false, "[::]:80": false, "127.0.0.1": false, "10.0.0.1:80": false,
	} {
		if got := LoopbackPort(address); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}
