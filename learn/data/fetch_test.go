package data

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fetchCase is a published set of two files and the server for it.
type fetchCase struct {
	set     published
	content map[string][]byte
	dir     string

	mu       sync.Mutex
	requests []string // "name range"
}

func newFetchCase(t *testing.T, serve func(c *fetchCase, w http.ResponseWriter, r *http.Request, name string)) *fetchCase {
	t.Helper()
	c := &fetchCase{content: map[string][]byte{}, dir: filepath.Join(t.TempDir(), "cache")}
	for i, name := range []string{"images.gz", "labels.gz"} {
		b := bytes.Repeat([]byte{byte(i + 1), 7, 9}, 100_000/(1+9*i))
		sum := sha256.Sum256(b)
		c.content[name] = b
		c.set.files = append(c.set.files, publishedFile{name, int64(len(b)), hex.EncodeToString(sum[:])})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Base(r.URL.Path)
		c.mu.Lock()
		c.requests = append(c.requests, strings.TrimSpace(name+" "+r.Header.Get("Range")))
		c.mu.Unlock()
		serve(c, w, r, name)
	}))
	t.Cleanup(server.Close)
	c.set.name = "pictures"
	c.set.debian = "dataset-pictures"
	c.set.bases = []string{server.URL + "/"}
	return c
}

// good serves the right bytes, ranges included.
func good(c *fetchCase, w http.ResponseWriter, r *http.Request, name string) {
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(c.content[name]))
}

func (c *fetchCase) fetch(t *testing.T, ctx context.Context, progress Progress) error {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	f := fetcher{client: &http.Client{Transport: transport}, stall: 200 * time.Millisecond, progress: progress}
	return f.fetch(ctx, &c.set, c.dir)
}

// check tells whether every file is there, whole, and nothing else is.
func (c *fetchCase) check(t *testing.T) {
	t.Helper()
	for name, want := range c.content {
		if got, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v", name, len(got), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, "*.part")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestFetch(t *testing.T) {
	c := newFetchCase(t, good)
	var last int64
	err := c.fetch(t, context.Background(), func(file string, done, total int64) {
		if done < last || done > total || c.content[file] == nil {
			t.Errorf("progress went from %d to %d of %d", last, done, total)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	c.check(t)
	if want := c.set.files[0].size + c.set.files[1].size; last != want {
		t.Errorf("progress ended at %d of %d", last, want)
	}
	// What is there and right is not fetched again; what is wrong is.
	before := len(c.requests)
	if err := c.fetch(t, context.Background(), nil); err != nil || len(c.requests) != before {
		t.Errorf("%d requests for files that are there, %v", len(c.requests)-before, err)
	}
	writeFile(t, filepath.Join(c.dir, "labels.gz"), []byte("damaged"))
	if err := c.fetch(t, context.Background(), nil); err != nil || len(c.requests) != before+1 {
		t.Errorf("%d requests for a damaged file, %v", len(c.requests)-before, err)
	}
	c.check(t)
}

// A connection that breaks is taken up where it ended.
func TestFetchGoesOnAfterABreak(t *testing.T) {
	c := newFetchCase(t, func(c *fetchCase, w http.ResponseWriter, r *http.Request, name string) {
		if len(c.requests) == 1 {
			w.Header().Set("Content-Length", fmt.Sprint(len(c.content[name])))
			w.Write(c.content[name][:1000])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		good(c, w, r, name)
	})
	if err := c.fetch(t, context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	c.check(t)
	if len(c.requests) < 2 || c.requests[1] != "images.gz bytes=1000-" {
		t.Errorf("requests: %v", c.requests)
	}
}

// A part from an earlier run is gone on with, even when the server knows no ranges; one that
// turns out wrong is fetched anew.
func TestFetchResumes(t *testing.T) {
	whole := func(c *fetchCase, w http.ResponseWriter, _ *http.Request, name string) { w.Write(c.content[name]) }
	for name, c := range map[string]struct {
		serve func(c *fetchCase, w http.ResponseWriter, r *http.Request, name string)
		part  func(b []byte) []byte
		first string
	}{
		"ranges":       {good, func(b []byte) []byte { return b[:5000] }, "images.gz bytes=5000-"},
		"no ranges":    {whole, func(b []byte) []byte { return b[:5000] }, "images.gz bytes=5000-"},
		"wrong part":   {good, func([]byte) []byte { return make([]byte, 5000) }, "images.gz bytes=5000-"},
		"whole part":   {good, func(b []byte) []byte { return b }, "labels.gz"},
		"wrong whole":  {good, func(b []byte) []byte { return make([]byte, len(b)) }, "images.gz"},
		"part too big": {good, func(b []byte) []byte { return make([]byte, len(b)+1) }, "images.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFetchCase(t, c.serve)
			writeFile(t, filepath.Join(f.dir, "images.gz.part"), c.part(f.content["images.gz"]))
			if err := f.fetch(t, context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			f.check(t)
			if f.requests[0] != c.first {
				t.Errorf("requests: %v", f.requests)
			}
		})
	}
}

func TestFetchFailures(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(c *fetchCase, w http.ResponseWriter, r *http.Request, name string)
		want  string
	}{
		"not found": {func(_ *fetchCase, w http.ResponseWriter, r *http.Request, _ string) { http.NotFound(w, r) }, "images.gz answers 404 Not Found"},
		"wrong sum": {func(c *fetchCase, w http.ResponseWriter, _ *http.Request, name string) {
			w.Write(make([]byte, len(c.content[name])))
		}, "images.gz has SHA-256 "},
		"too short": {func(c *fetchCase, w http.ResponseWriter, _ *http.Request, name string) {
			w.Write(c.content[name][:1000])
		}, "images.gz: the connection ended after 1000 of 300000 bytes"},
		"too long": {func(c *fetchCase, w http.ResponseWriter, _ *http.Request, name string) {
			w.Write(make([]byte, len(c.content[name])+1))
		}, "images.gz is larger than the published 300000 bytes"},
		"wrong and breaking": {func(c *fetchCase, w http.ResponseWriter, r *http.Request, name string) {
			if r.Header.Get("Range") == "" {
				w.Write(make([]byte, 1000))
				return
			}
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(make([]byte, len(c.content[name]))))
		}, "images.gz has SHA-256 "},
		"other range": {func(c *fetchCase, w http.ResponseWriter, r *http.Request, name string) {
			if r.Header.Get("Range") == "" {
				w.Write(c.content[name][:1000])
				return
			}
			w.Header().Set("Content-Range", "bytes 0-9/300000")
			w.WriteHeader(http.StatusPartialContent)
		}, "answers with another range"},
		"stalled": {func(_ *fetchCase, w http.ResponseWriter, r *http.Request, _ string) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "the server sent nothing for too long"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFetchCase(t, c.serve)
			err := f.fetch(t, context.Background(), nil)
			if err == nil {
				t.Fatal("it succeeds")
			}
			for _, want := range []string{c.want, "pictures could not be fetched", "Debian's package dataset-pictures", "$MILLRACE_DATA/pictures"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not tell %q", err, want)
				}
			}
			if done, _ := filepath.Glob(filepath.Join(f.dir, "*.gz")); len(done) > 0 {
				t.Errorf("%v appeared", done)
			}
		})
	}
}

// The next address is tried when one fails, and what the first brought is kept.
func TestFetchTriesTheNextAddress(t *testing.T) {
	c := newFetchCase(t, good)
	c.set.bases = append([]string{"http://127.0.0.1:1/"}, c.set.bases...)
	if err := c.fetch(t, context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	c.check(t)
}

func TestFetchOffline(t *testing.T) {
	c := newFetchCase(t, good)
	c.set.bases = []string{"http://127.0.0.1:1/"}
	if err := c.fetch(t, context.Background(), nil); err == nil || !strings.Contains(err.Error(), "without a connection: install Debian's package") {
		t.Errorf("got %v", err)
	}
}

// Cancelling keeps what came, and the next run goes on with it.
func TestFetchCancelled(t *testing.T) {
	c := newFetchCase(t, good)
	ctx, cancel := context.WithCancel(context.Background())
	err := c.fetch(t, ctx, func(_ string, done, _ int64) {
		if done > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if err := c.fetch(t, context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	c.check(t)
	if last := c.requests[1]; !strings.HasPrefix(last, "images.gz bytes=") && last != "labels.gz" {
		t.Errorf("requests: %v", c.requests)
	}
}

func TestFetchIsExclusive(t *testing.T) {
	var inner error
	c := newFetchCase(t, nil)
	c2 := newFetchCase(t, func(_ *fetchCase, w http.ResponseWriter, r *http.Request, name string) {
		if inner == nil {
			f := fetcher{client: http.DefaultClient, stall: time.Second}
			inner = f.fetch(context.Background(), &c.set, c.dir)
		}
		good(c, w, r, name)
	})
	c.set = c2.set
	if err := c.fetch(t, context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if inner == nil || !strings.Contains(inner.Error(), "another process is fetching") {
		t.Errorf("got %v", inner)
	}
}

func TestFetchByName(t *testing.T) {
	if _, err := Fetch(context.Background(), DefaultName, nil); err == nil || !strings.Contains(err.Error(), "nothing to fetch") {
		t.Errorf("got %v", err)
	}
	if _, err := Fetch(context.Background(), "mnits", nil); err == nil || !strings.Contains(err.Error(), "did you mean mnist?") {
		t.Errorf("got %v", err)
	}
}
