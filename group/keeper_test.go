package group

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"millrace.dev/cluster"
)

// keeper is a membership service in a process of its own.
type keeper struct {
	t       *testing.T
	config  cluster.Config
	through []string
	cmd     *exec.Cmd
	url     string
}

const serviceVariable = "MILLRACE_GROUP_SERVICE"

// serviceMain is the main function of such a process.
func serviceMain(text string) int {
	var config cluster.Config
	err := json.Unmarshal([]byte(text), &config)
	var c *cluster.Cluster
	if err == nil {
		c, err = cluster.Open(context.Background(), config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the service:", err)
		return 1
	}
	defer c.Close()
	fmt.Println(c.URL())
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // it ends with its parent, unless it is killed
	return 0
}

func startService(t *testing.T, config cluster.Config, through ...string) *keeper {
	t.Helper()
	s := &keeper{t: t, config: config, through: append(through, os.Args[0])}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *keeper) start() {
	s.t.Helper()
	text, err := json.Marshal(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(s.through[0], s.through[1:]...)
	s.cmd.Env = append(os.Environ(), serviceVariable+"="+string(text))
	s.cmd.Stderr = os.Stderr
	if _, err := s.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatalf("the membership service does not start: %v", err)
	}
	s.url = strings.TrimSpace(line)
	s.config.Listen = s.url[strings.LastIndexAny(s.url, "/@")+1:] // where it comes back
}

func (s *keeper) kill() {
	s.cmd.Process.Kill() //nolint:errcheck // it may be dead
	s.cmd.Wait()         //nolint:errcheck // it was killed
}
