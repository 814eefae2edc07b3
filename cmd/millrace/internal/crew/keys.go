package crew

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace.dev/cluster"
	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
)

// Keys are a machine's keys for connections beyond it, that all its workers use. A zero value is none.
type Keys struct{ dir, name string }

// FindKeys finds the keys at a path: DIR/NAME where a directory holds those of several machines, or
// DIR where it holds one machine's only.
func FindKeys(path string) (Keys, error) {
	if path == "" {
		return Keys{}, nil
	}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		dir, name := filepath.Split(filepath.Clean(path))
		return loadable(Keys{filepath.Clean(dir + "."), name})
	} else if err != nil {
		return Keys{}, err
	} else if !info.IsDir() {
		return Keys{}, fmt.Errorf("%s is a file: give the directory of the keys, and the name of this machine's after a slash", path)
	}
	found, _ := filepath.Glob(filepath.Join(path, "*.crt"))
	var names []string
	for _, f := range found {
		if name := strings.TrimSuffix(filepath.Base(f), ".crt"); name != "ca" {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return Keys{}, fmt.Errorf("%s holds the keys of %d machines: say which are this one's, as in %s", path, len(names), filepath.Join(path, "NAME"))
	}
	return loadable(Keys{path, names[0]})
}

func loadable(k Keys) (Keys, error) {
	_, err := keys.Load(k.dir, k.name)
	return k, err
}

// path is what FindKeys was given, with the name.
func (k Keys) path() string {
	if k == (Keys{}) {
		return ""
	}
	return filepath.Join(k.dir, k.name)
}

// network makes the network of a process that is called name where there are no keys.
func (k Keys) network(name string) (*fabric.Sockets, error) {
	opt := fabric.Options{Name: name}
	if k != (Keys{}) {
		identity, err := keys.Load(k.dir, k.name)
		if err != nil {
			return nil, err
		}
		opt.Name, opt.Keys = identity.Name, identity
	}
	return fabric.NewSockets(opt)
}

// files are the keys' for a membership service.
func (k Keys) files() cluster.TLSFiles {
	if k == (Keys{}) {
		return cluster.TLSFiles{}
	}
	return cluster.TLSFiles{
		CA: filepath.Join(k.dir, "ca.crt"), Cert: filepath.Join(k.dir, k.name+".crt"), Key: filepath.Join(k.dir, k.name+".key"),
	}
}
