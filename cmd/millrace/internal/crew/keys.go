package crew

import (
	"millrace.dev/cluster"
	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
)

// network makes the network of a process: that of the machine's keys, or where there are none one that
// stays on this machine and whose process is called name.
func network(at keys.Place, name string) (*fabric.Sockets, error) {
	identity, err := at.Load()
	if err != nil {
		return nil, err
	}
	if identity != nil {
		name = identity.Name
	}
	return fabric.NewSockets(fabric.Options{Name: name, Keys: identity})
}

// tlsFiles are the keys for a membership service.
func tlsFiles(at keys.Place) (f cluster.TLSFiles) {
	f.CA, f.Cert, f.Key = at.Files()
	return f
}
