package host

import (
	"net"
	"net/netip"
)

// Loopback tells whether a name or an address of a host is that of this machine for itself: what listens or
// is dialed there stays within the machine.
func Loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// LoopbackPort tells the same of HOST:PORT.
func LoopbackPort(address string) bool {
	name, _, err := net.SplitHostPort(address)
	return err == nil && Loopback(name)
}
