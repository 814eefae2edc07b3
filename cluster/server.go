package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"
)

const (
	maxStore     = 1 << 30 // bytes that the embedded server may keep on disk
	startTimeout = 30 * time.Second
)

// embedded is a NATS server in this process and the lock of its directory.
type embedded struct {
	*server.Server
	lock  *os.File
	token string // without which nobody is let in, as its port is open to all users of the machine; empty with TLS
}

// startServer starts a server that keeps its records in c.Dir and answers a
// write after fsync.
func startServer(c Config) (*embedded, error) {
	files, err := c.TLS.load()
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(c.Dir)
	if err != nil {
		return nil, err
	}
	token := ""
	if files == nil {
		if token, err = secret(filepath.Join(c.Dir, "token")); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	options := &server.Options{
		ServerName:         "millrace",
		DontListen:         c.Listen == "",
		JetStream:          true,
		StoreDir:           c.Dir,
		SyncAlways:         true,
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  maxStore,
		NoLog:              c.Log == nil,
		NoSigs:             true,
		TLSConfig:          files,
		TLS:                files != nil,
		TLSVerify:          files != nil,
		TLSTimeout:         5,
		Authorization:      token,
	}
	if c.Listen != "" {
		if options.Host, options.Port, err = hostPort(c.Listen); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cluster's server: %w", err), lock.Close())
	}
	if c.Log != nil {
		s.SetLogger(serverLog{c.Log}, false, false)
	}
	s.Start()
	e := &embedded{s, lock, token}
	if !s.ReadyForConnections(startTimeout) {
		e.stop()
		return nil, fmt.Errorf("cluster's server in %s did not start", c.Dir)
	}
	return e, nil
}

func hostPort(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("listener %s: %q is not a port", address, text)
	}
	if port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(port), nil
}

// secret is what clients show; it is made once, so that they find back to a server that was started anew.
func secret(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil && len(text) > 0 {
		return string(text), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	return token, os.WriteFile(path, []byte(token), 0o600)
}

// lockDir makes the directory and takes it for this process: two servers on one
// directory would destroy each other's records.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: used by another process: %w", dir, err), lock.Close())
	}
	return lock, nil
}

// stop ends the server and waits for it.
func (e *embedded) stop() {
	e.Shutdown()
	e.WaitForShutdown()
	_ = e.lock.Close() // a lock file has nothing to lose
}

// serverLog passes the server's remarks on.
type serverLog struct{ *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(format string, v ...any)  { l.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any)  { l.Error(fmt.Sprintf(format, v...)) }
