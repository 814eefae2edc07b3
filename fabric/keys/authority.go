package keys

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"regexp"
	"time"
)

// serverName is in every certificate, and what each side asks of the other.
const serverName = "worker.millrace"

// Names of the authority's files in its directory.
const (
	authorityName = "ca"
	certSuffix    = ".crt"
	keySuffix     = ".key"
)

// skew is how far the clocks of a cluster's machines may be apart.
const skew = time.Hour

// Authority signs the certificates of one cluster.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// CreateAuthority makes the authority of a cluster, valid for life, and writes
// ca.crt and ca.key into dir.
func CreateAuthority(dir, cluster string, life time.Duration) (*Authority, error) {
	if len(cluster) == 0 || len(cluster) > 64 {
		return nil, fmt.Errorf("the name of a cluster must have 1 to 64 bytes, not %d", len(cluster))
	}
	a := &Authority{}
	template, err := newTemplate(pkix.Name{CommonName: cluster}, life)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.MaxPathLenZero = true
	template.KeyUsage = x509.KeyUsageCertSign
	a.certificate = template
	der, key, err := a.sign(template)
	if err != nil {
		return nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.key = key
	return a, writePair(dir, authorityName, der, key)
}

// OpenAuthority reads the authority from ca.crt and ca.key in dir.
func OpenAuthority(dir string) (*Authority, error) {
	certificate, err := readCertificate(filepath.Join(dir, authorityName+certSuffix))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, authorityName+keySuffix)
	key, err := readKey(path)
	if err != nil {
		return nil, err
	}
	if !certificate.IsCA {
		return nil, &FileError{filepath.Join(dir, authorityName+certSuffix), "it is no certificate of an authority", nil}
	}
	if !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, &FileError{path, "it is not the key of " + authorityName + certSuffix, nil}
	}
	return &Authority{certificate, key}, nil
}

// names are what workers may be called: these become names of files.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Issue makes the certificate of a worker, valid for life but not beyond the
// authority, and writes NAME.crt and NAME.key into dir. Where the name is that of a
// host, or its address, the certificate is good for a server there, too.
func (a *Authority) Issue(dir, name string, life time.Duration) error {
	if !names.MatchString(name) || name == authorityName {
		return fmt.Errorf("%q cannot be the name of a worker: it needs 1 to 64 letters, digits, '.', '_' and '-', the first a letter or digit, and is not %q", name, authorityName)
	}
	template, err := newTemplate(pkix.Name{CommonName: name}, life)
	if err != nil {
		return err
	}
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = []string{serverName}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = append(template.DNSNames, name)
	}
	der, key, err := a.sign(template)
	if err != nil {
		return err
	}
	return writePair(dir, name, der, key)
}

// newTemplate returns what all certificates have in common.
func newTemplate(subject pkix.Name, life time.Duration) (*x509.Certificate, error) {
	if life <= 0 {
		return nil, fmt.Errorf("a certificate cannot be valid for %v", life)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(life),
	}, nil
}

// sign makes a key and a certificate for it. An authority without a key signs its own.
func (a *Authority) sign(template *x509.Certificate) (der []byte, key *ecdsa.PrivateKey, err error) {
	key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	by := a.key
	if by == nil {
		by = key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, by)
	return der, key, err
}
