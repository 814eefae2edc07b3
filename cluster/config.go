package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"millrace.dev/internal/host"
)

// Config says which servers keep the records.
type Config struct {
	// URL holds the addresses of an existing cluster, nats://host:port or
	// tls://host:port, several with commas between them. Empty: a server of our
	// own, in this process.
	URL string

	// Dir is where the server of our own keeps its records; it belongs to one
	// process at a time.
	Dir string

	// Listen is the address at which the server of our own accepts other
	// processes, such as 127.0.0.1:0. Empty: it accepts this process only.
	Listen string

	// TLS holds the files for mutual TLS, which is required beyond loopback.
	TLS TLSFiles

	// Name separates the records of several installations on one cluster.
	// Empty: millrace.
	Name string

	// Replicas is the number of servers of an existing cluster that keep each
	// record: 1, 3 or 5. 0: three if the cluster has as many servers, else one.
	Replicas int

	// Log takes warnings and errors of the server of our own. Nil: none.
	Log *slog.Logger
}

// TLSFiles names PEM files: the authority that signed the peers' certificates,
// and the own certificate and key.
type TLSFiles struct{ CA, Cert, Key string }

const (
	defaultName    = "millrace"
	defaultTimeout = 10 * time.Second // of calls whose context has no deadline
)

func (f TLSFiles) given() bool { return f != TLSFiles{} }

// load reads the files; nil without files.
func (f TLSFiles) load() (*tls.Config, error) {
	if !f.given() {
		return nil, nil
	}
	if f.CA == "" || f.Cert == "" || f.Key == "" {
		return nil, errors.New("mutual TLS needs three files: authority, certificate and key")
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", f.CA)
	}
	own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", f.Cert, f.Key, err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{own},
		RootCAs:      authority,
		ClientCAs:    authority,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}, nil
}

// check returns what is wrong with a configuration before anything is started.
func (c *Config) check() error {
	if c.Name == "" {
		c.Name = defaultName
	}
	if err := checkWords(c.Name); err != nil || strings.ContainsAny(c.Name, "./=") {
		return fmt.Errorf("name of the cluster: %w", &KeyError{c.Name, "is not one word of letters, digits, '-' and '_'"})
	}
	switch c.Replicas {
	case 0, 1, 3, 5:
	default:
		return fmt.Errorf("%d replicas: 1, 3 or 5 are possible", c.Replicas)
	}
	if c.URL == "" {
		return c.checkEmbedded()
	}
	if c.Dir != "" || c.Listen != "" {
		return errors.New("a store directory and a listener belong to a server of our own, not to one at " + redacted(c.URL))
	}
	for address := range strings.SplitSeq(c.URL, ",") {
		if err := c.checkURL(strings.TrimSpace(address)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkEmbedded() error {
	if c.Dir == "" {
		return errors.New("the cluster's server needs a directory for its records")
	}
	if c.Replicas > 1 {
		return fmt.Errorf("%d replicas need an existing cluster of as many servers", c.Replicas)
	}
	if c.Listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listener %s: %w", c.Listen, err)
	}
	if !host.LoopbackPort(c.Listen) && !c.TLS.given() {
		return &InsecureError{c.Listen}
	}
	return nil
}

func (c *Config) checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return fmt.Errorf("%s: not an address such as nats://host:4222", redacted(address))
	}
	if !host.Loopback(u.Hostname()) && !c.TLS.given() {
		return &InsecureError{u.Host}
	}
	return nil
}

// redacted is a list of addresses without passwords.
func redacted(addresses string) string {
	list := strings.Split(addresses, ",")
	for i, address := range list {
		if at := strings.LastIndex(address, "@"); at >= 0 {
			scheme, _, _ := strings.Cut(address, "://")
			list[i] = scheme + "://…@" + address[at+1:]
		}
	}
	return strings.Join(list, ",")
}
