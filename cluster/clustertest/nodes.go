// Package clustertest starts a real NATS JetStream cluster for tests: each server is a process, so that a
// test can kill and stop it. The process is the test's own binary; its TestMain calls [Main] first.
package clustertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"millrace.dev/internal/freeport"
)

// variable holds the nodeConfig of a process that is a server.
const variable = "MILLRACE_TEST_CLUSTER_NODE"

// nodeConfig describes one server.
type nodeConfig struct {
	Name, Dir    string
	Client, Peer int // ports
	Peers        []string
}

// Main is a server, and does not return, where [Start] has started this process as one.
func Main() {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve is a server until its input ends, with the test's process at the latest.
func serve(text string) error {
	var c nodeConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
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
		return err
	}
	s.Start()
	fmt.Println("started")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	s.Shutdown()
	return nil
}

// Node is a server of a cluster, seen from the test.
type Node struct {
	Name   string
	config nodeConfig
	cmd    *exec.Cmd
}

// Start starts a cluster of n servers, which end with the test.
func Start(t *testing.T, n int) (nodes []*Node, urls string) {
	t.Helper()
	port := freeport.Find(t, 2*n) // of the clients, then of the peers
	var peers, clients []string
	for i := range n {
		clients = append(clients, fmt.Sprintf("nats://127.0.0.1:%d", port+i))
		peers = append(peers, fmt.Sprintf("127.0.0.1:%d", port+n+i))
	}
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("node-%d", i)
		nodes = append(nodes, &Node{Name: name, config: nodeConfig{name, filepath.Join(dir, name), port + i, port + n + i, peers}})
		nodes[i].Start(t)
	}
	return nodes, strings.Join(clients, ",")
}

// Start starts the server, again after a Kill.
func (n *Node) Start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(n.config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+string(text), "GOGC=50")
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
		n.Kill()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("server did not start: %q, %v", line, err)
	}
}

// Kill ends the server as a power failure would.
func (n *Node) Kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(syscall.SIGKILL)
	_ = n.cmd.Wait()
	n.cmd = nil
}

// Freeze stops all threads of a server. The signal alone may leave one enough time for an answer.
func (n *Node) Freeze(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGSTOP)
	for deadline := time.Now().Add(5 * time.Second); n.moves() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// Thaw lets a server go on.
func (n *Node) Thaw(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGCONT)
}

// moves reports whether a thread of the server is known not to be stopped.
func (n *Node) moves() bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", n.cmd.Process.Pid))
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if at := bytes.LastIndexByte(text, ')'); err == nil && at >= 0 && !bytes.HasPrefix(text[at:], []byte(") T")) {
			return true
		}
	}
	return false
}

func (n *Node) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
