package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/cluster/clustertest"
)

// Tests of what stands around a crew: servers that keep its membership, those who watch it, and what it leaves in
// the machine.

// TestMembershipOfThreeServers trains with a membership that three NATS servers keep: the crew outlives the loss of
// the one that orders the changes, and then of a worker.
func TestMembershipOfThreeServers(t *testing.T) {
	if short(t) {
		return
	}
	nodes, urls := clustertest.Start(t, 3)
	agreed(t, urls)
	dir := crewDir(t)
	r := launchNew(t, dir, "served", append(slices.Clone(endless), "--workers", "3", "--cluster", urls)...)
	pids := r.members(3)
	r.trained(10)
	clustertest.Leader(t, nodes, urls, "KV_millrace").Kill()
	r.trained(10)
	r.kill(syscall.SIGKILL, pids["w1"])
	r.until("the others do not go on without w1", func() bool {
		return strings.Contains(r.said.String(), "w1 was lost; w0 w2 go on with ")
	})
	r.trained(10)
	r.kill(0, pids["w0"], pids["w2"]) // which are still there
	r.interrupt()
	if p := r.proof(); p.Views < 2 {
		t.Errorf("%+v", p)
	}
}

// agreed waits until servers that have just started are a cluster, for longer than workers do.
func agreed(t *testing.T, urls string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := cluster.Open(ctx, cluster.Config{URL: urls})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestNothingLeftBehind kills a launcher and its workers in one go: the next one removes what they have left among
// the system's temporary files, and leaves nothing there itself.
func TestNothingLeftBehind(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	environment := []string{"TMPDIR=" + temp}
	left := func() []string {
		paths, err := filepath.Glob(filepath.Join(temp, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	r := launchIn(t, environment, dir, "first", slices.Concat(crewArgs, endless, []string{"--out", "first", "--workers", "2", "--checkpoint-every", "50ms"})...)
	pids := r.members(2)
	r.trained(5)
	r.kill(syscall.SIGKILL, r.cmd.Process.Pid, pids["w0"], pids["w1"])
	<-r.done
	before := left()
	if len(before) != 1 {
		t.Fatalf("they leave %v", before)
	}
	r.until("the processes do not end", func() bool {
		return syscall.Kill(pids["w0"], 0) != nil && syscall.Kill(pids["w1"], 0) != nil
	})
	r = launchIn(t, environment, dir, "first", "train", "--resume", "first")
	r.members(2)
	if now := left(); len(now) != 1 || now[0] == before[0] {
		t.Errorf("there are %v, after %v was left behind", now, before)
	}
	r.interrupt()
	if now := left(); len(now) != 0 {
		t.Errorf("it leaves %v", now)
	}
}

// TestMetrics asks a crew for its metrics as Prometheus does.
func TestMetrics(t *testing.T) {
	if short(t) {
		return
	}
	dir := crewDir(t)
	r := launchNew(t, dir, "measured", append(slices.Clone(endless), "--workers", "3", "--metrics", "127.0.0.1:0")...)
	pids := r.members(3)
	r.trained(5)
	url := regexp.MustCompile(`metrics are at (http://127\.0\.0\.1:\d+/metrics)`).FindStringSubmatch(r.said.String())
	if url == nil {
		t.Fatalf("it does not say where metrics are: %s", r.said.String())
	}
	at := r.step()
	if steps := metric(t, url[1], "steps_total", "w1"); steps < float64(at) {
		t.Errorf("after step %d there are %v", at, steps)
	}
	for _, name := range []string{"wait_seconds_total", "sent_bytes_total", "received_bytes_total", "views_total", "members", "lives_total"} {
		if metric(t, url[1], name, "w1") <= 0 {
			t.Errorf("%s is none", name)
		}
	}
	for _, name := range []string{"stale_frames_total", "refused_connections_total"} {
		if v := metric(t, url[1], name, "w1"); v != 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	if text := overSocket(t, filepath.Join(dir, "measured", "group.json"), "/metrics"); !strings.Contains(text, "\nmillrace_group_steps_total{") {
		t.Errorf("the launcher's socket says %s", text)
	}
	views := metric(t, url[1], "views_total", "w1")
	r.kill(syscall.SIGKILL, pids["w2"])
	r.until("the loss of a worker is not among the metrics", func() bool {
		return metric(t, url[1], "views_total", "w1") > views && metric(t, url[1], "members", "w1") == 2
	})
	r.interrupt()
}

// overSocket asks a launcher at the socket that its file names.
func overSocket(t *testing.T, file, path string) string {
	t.Helper()
	var now struct{ Control string }
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &now)
	}
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", now.Control)
	}}}
	answer, err := client.Get("http://launcher" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// metric asks for one of a worker's.
func metric(t *testing.T, url, name, worker string) float64 {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v: %s", answer.Status, err, text)
	}
	found := regexp.MustCompile(fmt.Sprintf(`(?m)^millrace_group_%s\{group="[^"]+",worker="%s"\} (\S+)$`, name, worker)).FindSubmatch(text)
	if found == nil {
		t.Fatalf("there is no %s of %s: %s", name, worker, text)
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
