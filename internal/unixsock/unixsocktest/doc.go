// Package unixsocktest connects to Unix sockets as another user, for tests that such a one stays outside.
package unixsocktest
