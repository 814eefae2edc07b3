package fabric

import (
	"net"
	"net/netip"
	"strings"
)

// maxUnixPath is what the name of a Unix socket may be long on every system
// that we run on, in bytes.
const maxUnixPath = 103

// splitAddr divides an address, "tcp:host:port" or "unix:/path", into the
// network and the address that package net knows.
func splitAddr(addr string) (network, address string, err error) {
	network, address, _ = strings.Cut(addr, ":")
	switch network {
	case "tcp":
		if _, _, err := net.SplitHostPort(address); err != nil {
			return "", "", &AddressError{addr, "it must be tcp:HOST:PORT, with an IPv6 host in brackets"}
		}
	case "unix":
		if address == "" || address[0] == '@' || strings.ContainsRune(address, 0) {
			return "", "", &AddressError{addr, "it must be unix:PATH"}
		}
		if len(address) > maxUnixPath {
			return "", "", &AddressError{addr, "the path of a Unix socket is too long: the system takes 103 bytes"}
		}
	default:
		return "", "", &AddressError{addr, "it must begin with tcp: or unix:"}
	}
	return network, address, nil
}

// isLoopback tells whether a resolved host and port stays on this machine.
func isLoopback(hostPort string) bool {
	at, err := netip.ParseAddrPort(hostPort)
	return err == nil && at.Addr().Unmap().IsLoopback()
}
