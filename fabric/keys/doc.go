// Package keys makes and reads the files of mutual TLS within one cluster.
//
// A cluster has an [Authority], whose key stays where it was made, and each
// worker has a certificate and a key of its own. A worker needs three files:
// ca.crt, NAME.crt and NAME.key. [Load] reads them into an [Identity], whose
// TLS method gives the settings of both ends of a connection.
//
// # Trust
//
// Whoever holds a certificate of the authority is a member; there is nothing
// else to trust. Workers come and go with their addresses, so certificates do
// not name hosts: each holds the name of its worker as common name, and one
// name that all share ("worker.millrace") for the check that every TLS library
// makes. Servers of other programs, which clients check by their host's name or address,
// get certificates under that name. Only TLS 1.3 is spoken, with ECDSA keys on P-256.
//
// # Files
//
// PEM: certificates as X.509, keys as PKCS #8 with mode 0600. They are written whole
// or not at all; an existing file is never replaced.
//
// # Failures
//
// Missing and broken files, keys that do not belong to their certificates,
// certificates of another authority and expired ones are errors of type
// [*FileError] that name the file.
package keys
