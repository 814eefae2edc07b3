package group

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/fabric/keys"
)

// lab is a network of its own in which each worker has a machine: network namespaces around a bridge, which
// nothing else can see. Only root can make it.
type lab struct {
	*fleet
	name  string
	hosts int
}

var labs atomic.Int64

// needRoot skips where there is no right to make namespaces or file systems; where all tests are to run that is a
// failure.
func needRoot(t *testing.T, tools ...string) {
	t.Helper()
	lacks := ""
	if os.Geteuid() != 0 {
		lacks = "this needs root"
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			lacks = "this needs the program " + tool
		}
	}
	switch {
	case lacks == "":
	case os.Getenv("CI") == "true":
		t.Fatal(lacks)
	default:
		t.Skip(lacks)
	}
}

// newLab makes a network with n workers' machines and one for a service.
func newLab(t *testing.T, n int, spec toySpec) *lab {
	t.Helper()
	needRoot(t, "ip", "tc")
	l := &lab{fleet: newFleet(t, n, spec), name: fmt.Sprintf("millrace%d-%d", os.Getpid(), labs.Add(1)), hosts: n}
	t.Cleanup(func() {
		for i := range n + 1 {
			exec.Command("ip", "netns", "del", l.machine(i)).Run() //nolint:errcheck // it may not have come to be
		}
		exec.Command("ip", "netns", "del", l.name).Run() //nolint:errcheck
	})
	l.do("ip netns add %s", l.name)
	for side := range 2 {
		l.do("ip -n %s link add side%d type bridge forward_delay 0", l.name, side)
		l.do("ip -n %s link set side%d up", l.name, side)
	}
	for i := range n + 1 {
		l.do("ip netns add %s", l.machine(i))
		l.do("ip -n %s link add port%d type veth peer name wire netns %s", l.name, i, l.machine(i))
		l.do("ip -n %s link set port%d master side0 up", l.name, i)
		l.do("ip -n %s addr add %s/24 dev wire", l.machine(i), l.ip(i))
		l.do("ip -n %s link set lo up", l.machine(i))
		l.do("ip -n %s link set wire up", l.machine(i))
	}
	l.spec.Keys = filepath.Join(l.spec.Dir, "keys")
	if err := os.Mkdir(l.spec.Keys, 0o700); err != nil {
		t.Fatal(err)
	}
	authority, err := keys.CreateAuthority(l.spec.Keys, "lab", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.spec.Founders {
		m := &l.spec.Founders[i]
		m.Addr, m.Host = fmt.Sprintf("tcp:%s:7000", l.ip(i)), l.machine(i)
		if err := authority.Issue(l.spec.Keys, m.Name, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *lab) machine(i int) string { return fmt.Sprintf("%s-%d", l.name, i) }

func (l *lab) ip(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

// do runs a command.
func (l *lab) do(format string, args ...any) {
	l.t.Helper()
	words := strings.Fields(fmt.Sprintf(format, args...))
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s: %v: %s", strings.Join(words, " "), err, out)
	}
}

// cut parts the network, all at once: the named machines are on the other side. What is sent across is lost in silence.
func (l *lab) cut(others ...int) {
	l.t.Helper()
	var lines strings.Builder
	for _, i := range others {
		fmt.Fprintf(&lines, "link set port%d master side1\n", i)
	}
	command := exec.Command("ip", "-n", l.name, "-batch", "-")
	command.Stdin = strings.NewReader(lines.String())
	if out, err := command.CombinedOutput(); err != nil {
		l.t.Fatalf("ip: %v: %s", err, out)
	}
}

// heal joins the network again.
func (l *lab) heal() {
	for i := range l.hosts + 1 {
		l.do("ip -n %s link set port%d master side0", l.name, i)
	}
}

// slow bounds what each machine can send.
func (l *lab) slow(rate string) {
	for i := range l.hosts {
		l.do("tc -n %s qdisc add dev wire root tbf rate %s burst 32kbit latency 400ms", l.machine(i), rate)
	}
}

// run starts all workers, each on its machine.
func (l *lab) run() []*proc {
	var all []*proc
	for i, m := range l.spec.Founders {
		spec := l.spec
		spec.Self = m
		all = append(all, l.exec(spec, "ip", "netns", "exec", l.machine(i)))
	}
	return all
}

// serve starts a membership service on the machine after the workers'.
func (l *lab) serve() *keeper {
	l.t.Helper()
	dir := filepath.Join(l.spec.Dir, "service")
	files := certify(l.t, dir, net.ParseIP(l.ip(l.hosts)))
	address := l.ip(l.hosts) + ":4222"
	s := startService(l.t, cluster.Config{Dir: filepath.Join(dir, "store"), Listen: address, TLS: files}, "ip", "netns", "exec", l.machine(l.hosts))
	l.spec.Service = &cluster.Config{URL: "tls://" + address, TLS: files}
	return s
}

// certify makes the files with which both ends of a connection to an address show who they are.
func certify(t *testing.T, dir string, ip net.IP) cluster.TLSFiles {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	files := cluster.TLSFiles{CA: filepath.Join(dir, "cert.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "lab"}, IPAddresses: []net.IP{ip, net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{files.Cert: {Type: "CERTIFICATE", Bytes: der}, files.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
