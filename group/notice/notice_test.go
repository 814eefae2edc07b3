package notice

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notice")
	asked := make(chan struct{}, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		<-asked
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Error(err)
		}
	}()
	words, err := Watch(ctx, telling{File(path), asked}, time.Millisecond, nil)
	if err != nil || !strings.Contains(words, path) {
		t.Errorf("%q, %v", words, err)
	}
}

// telling says when a source was asked for the first time.
type telling struct {
	Source
	asked chan struct{}
}

func (s telling) Ask(ctx context.Context) (string, error) {
	words, err := s.Source.Ask(ctx)
	select {
	case s.asked <- struct{}{}:
	default:
	}
	return words, err
}

func TestHTTP(t *testing.T) {
	status, body := http.StatusNotFound, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			status = http.StatusForbidden
		}
		w.WriteHeader(status)
		w.Write([]byte(body)) //nolint:errcheck
	}))
	defer server.Close()
	source := HTTP{URL: server.URL, Header: http.Header{"Metadata-Flavor": {"Google"}}, Word: "TRUE"}
	for _, c := range []struct {
		status int
		body   string
		notice bool
	}{
		{http.StatusNotFound, "TRUE", false},
		{http.StatusOK, "FALSE", false},
		{http.StatusOK, "", false},
		{http.StatusOK, "TRUE", true},
		{http.StatusInternalServerError, "TRUE", false},
	} {
		status, body = c.status, c.body
		words, err := source.Ask(t.Context())
		if err != nil || (words != "") != c.notice {
			t.Errorf("%d %q: %q, %v", c.status, c.body, words, err)
		}
	}
}

// TestNobodyThere: a source that cannot be asked gives no notice, and the watch ends with its context.
func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	failures := 0
	words, err := Watch(ctx, HTTP{URL: server.URL}, time.Millisecond, func(error) {
		if failures++; failures == 3 {
			cancel()
		}
	})
	if words != "" || !errors.Is(err, context.Canceled) || failures != 3 {
		t.Errorf("%q, %v after %d failures", words, err, failures)
	}
}
