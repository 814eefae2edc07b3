package keys

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
)

// Identity is what a process needs to talk to others of its cluster.
type Identity struct {
	Name        string // of the worker, as in its certificate
	certificate tls.Certificate
	authority   *x509.CertPool
}

// Load reads ca.crt, NAME.crt and NAME.key from dir, and checks that they
// belong together and are valid now.
func Load(dir, name string) (*Identity, error) {
	authority, err := readCertificate(filepath.Join(dir, authorityName+certSuffix))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name+certSuffix)
	certificate, err := readCertificate(path)
	if err != nil {
		return nil, err
	}
	key, err := readKey(filepath.Join(dir, name+keySuffix))
	if err != nil {
		return nil, err
	}
	if !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, &FileError{filepath.Join(dir, name+keySuffix), "it is not the key of " + name + certSuffix, nil}
	}
	if certificate.Subject.CommonName != name {
		return nil, &FileError{path, "it is the certificate of " + certificate.Subject.CommonName, nil}
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	if _, err := certificate.Verify(x509.VerifyOptions{DNSName: serverName, Roots: pool}); err != nil {
		return nil, &FileError{path, "its certificate is not valid in this cluster", err}
	}
	return &Identity{
		Name:        name,
		certificate: tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate},
		authority:   pool,
	}, nil
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
