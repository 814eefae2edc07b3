package keys

import (
	"crypto/tls"
	"crypto/x509"
)

// Identity is what a process needs to talk to others of its cluster.
type Identity struct {
	Name        string // of the worker, as in its certificate
	certificate tls.Certificate
	authority   *x509.CertPool
}

// TLS returns the settings of both ends of a connection: TLS 1.3, and each
// side shows a certificate of the cluster's authority.
func (id *Identity) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{id.certificate},
		RootCAs:      id.authority,
		ClientCAs:    id.authority,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ServerName:   serverName,
	}
}
