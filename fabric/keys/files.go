package keys

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"millrace.dev/internal/durable"
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 64 << 10

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// FileError says what is wrong with a file of keys.
type FileError struct {
	Path   string
	Reason string
	Err    error // cause, may be nil
}

func (e *FileError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Reason, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Path, e.Reason)
}

func (e *FileError) Unwrap() error { return e.Err }

// BadInput says that the user can mend it.
func (e *FileError) BadInput() bool { return true }

// writePair writes a certificate and its key.
func writePair(dir, name string, der []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := create(filepath.Join(dir, name+keySuffix), keyBlock, private, 0o600); err != nil {
		return err
	}
	return create(filepath.Join(dir, name+certSuffix), certificateBlock, der, 0o644)
}

// create writes a new file, whole or not at all. A link, unlike a rename,
// replaces no other.
func create(path, block string, der []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".keys-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	err = errors.Join(
		pem.Encode(file, &pem.Block{Type: block, Bytes: der}),
		file.Chmod(mode),
		file.Sync(),
		file.Close(),
	)
	if err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &FileError{path, "it exists, and keys are never replaced", fs.ErrExist}
		}
		return err
	}
	return durable.SyncDir(dir)
}

// readBlock reads the one PEM block of a file.
func readBlock(path, block string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &FileError{path, "it cannot be read", err}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, &FileError{path, "it cannot be read", err}
	}
	if len(text) > maxFile {
		return nil, &FileError{path, "it is larger than any file of keys", nil}
	}
	found, _ := pem.Decode(text)
	if found == nil || found.Type != block {
		return nil, &FileError{path, fmt.Sprintf("it holds no PEM block %q", block), nil}
	}
	return found.Bytes, nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	der, err := readBlock(path, certificateBlock)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, &FileError{path, "its certificate is broken", err}
	}
	return certificate, nil
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	der, err := readBlock(path, keyBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, &FileError{path, "its key is broken", err}
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, &FileError{path, fmt.Sprintf("its key is a %T, not an ECDSA key", parsed), nil}
	}
	return key, nil
}
