package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const nodeVariable = "MILLRACE_TEST_CLUSTER_NODE"

// nodeConfig describes one server of a real cluster.
type nodeConfig struct {
	Name, Dir    string
	Client, Peer int // ports
	Peers        []string
}

// runNode is a server of a cluster in a process of its own, so that a test can
// kill it.
func runNode() {
	var c nodeConfig
	if err := json.Unmarshal([]byte(os.Getenv(nodeVariable)), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options := &server.Options{
		ServerName: c.Name, Host: "127.0.0.1", Port: c.Client, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: c.Dir, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 256 << 20,
	}
	if len(c.Peers) > 1 {
		options.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: c.Peer, PingInterval: time.Second}
		for _, peer := range c.Peers {
			options.Routes = append(options.Routes, &url.URL{Scheme: "nats", Host: peer})
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	fmt.Println("started")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the test's process
	s.Shutdown()
	os.Exit(0)
}

// node is a server of a cluster, seen from the test.
type node struct {
	config nodeConfig
	cmd    *exec.Cmd
}

// startNodes starts a cluster of n servers, each a process.
func startNodes(t *testing.T, n int) (nodes []*node, urls string) {
	t.Helper()
	ports := freePorts(t, 2*n)
	var peers, clients []string
	for i := range n {
		clients = append(clients, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		peers = append(peers, fmt.Sprintf("127.0.0.1:%d", ports[n+i]))
	}
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("node-%d", i)
		nodes = append(nodes, &node{config: nodeConfig{name, filepath.Join(dir, name), ports[i], ports[n+i], peers}})
		nodes[i].start(t)
	}
	return nodes, strings.Join(clients, ",")
}

func (n *node) start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(n.config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeVariable+"="+string(text), "GOGC=50")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.cmd = cmd
	t.Cleanup(func() {
		_ = stdin.Close()
		n.kill()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("server did not start: %q, %v", line, err)
	}
}

// kill ends the server as a power failure would.
func (n *node) kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(syscall.SIGKILL)
	_ = n.cmd.Wait()
	n.cmd = nil
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// freeze stops the server's process, and thaw lets it go on.
func (n *node) thaw(t *testing.T) { n.signal(t, syscall.SIGCONT) }

// freeze stops all threads of a server. The signal alone may leave one enough time for an answer.
func (n *node) freeze(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGSTOP)
	for deadline := time.Now().Add(5 * time.Second); n.moves() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// moves reports whether a thread of the server is known not to be stopped.
func (n *node) moves() bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", n.cmd.Process.Pid))
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if at := bytes.LastIndexByte(text, ')'); err == nil && at >= 0 && !bytes.HasPrefix(text[at:], []byte(") T")) {
			return true
		}
	}
	return false
}

func (n *node) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
