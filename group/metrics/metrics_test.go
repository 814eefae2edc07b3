package metrics

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(context.Context) []group.Status {
	return []group.Status{
		{Group: "run", Worker: "w0", Step: 17, Epoch: 2, Members: []string{"w0", "w1"}, Lives: 1, Stale: 3, Refused: 4, Sent: 5, Received: 6, Waited: 0.25},
		{Group: "run", Worker: "w1", Step: 18},
	}
}

// get asks by a client.
func get(t *testing.T, url string, config *tls.Config) (string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return string(text), err
}

func TestMetrics(t *testing.T) {
	s, err := Serve("127.0.0.1:0", keys.Place{}, ask)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := get(t, s.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`millrace_group_steps_total{group="run",worker="w0"} 17`,
		`millrace_group_steps_total{group="run",worker="w1"} 18`,
		`millrace_group_views_total{group="run",worker="w0"} 2`,
		`millrace_group_members{group="run",worker="w0"} 2`,
		`millrace_group_lives_total{group="run",worker="w0"} 1`,
		`millrace_group_wait_seconds_total{group="run",worker="w0"} 0.25`,
		`millrace_group_sent_bytes_total{group="run",worker="w0"} 5`,
		`millrace_group_received_bytes_total{group="run",worker="w0"} 6`,
		`millrace_group_stale_frames_total{group="run",worker="w0"} 3`,
		`millrace_group_refused_connections_total{group="run",worker="w0"} 4`,
		`# TYPE millrace_group_steps_total counter`,
		`# TYPE millrace_group_members gauge`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing from %s", line, text)
		}
	}
	if text, err := get(t, strings.TrimSuffix(s.URL(), Path)+"/other", nil); err == nil {
		t.Errorf("something else is served: %s", text)
	}
}

// TestBeyondLoopback: there it needs keys, and whoever asks needs some, too.
func TestBeyondLoopback(t *testing.T) {
	var insecure *fabric.InsecureError
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80"} {
		if _, err := Serve(addr, keys.Place{}, ask); !errors.As(err, &insecure) {
			t.Errorf("%s without keys: %v", addr, err)
		}
	}
	dir := t.TempDir()
	authority, err := keys.CreateAuthority(dir, "test", time.Hour)
	if err == nil {
		err = authority.Issue(dir, "alpha", time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	at := keys.Place{Dir: dir, Name: "alpha"}
	s, err := Serve("0.0.0.0:0", at, ask)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id, err := at.Load()
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(s.URL(), "0.0.0.0", "127.0.0.1", 1)
	if text, err := get(t, url, id.TLS()); err != nil || !strings.Contains(text, "millrace_group_steps_total") {
		t.Errorf("with keys: %v, %s", err, text)
	}
	stranger := id.TLS()
	stranger.Certificates = nil
	if text, err := get(t, url, stranger); err == nil {
		t.Errorf("a stranger hears %s", text)
	}
}
