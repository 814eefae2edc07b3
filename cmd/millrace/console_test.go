package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestTableAligns(t *testing.T) {
	var b bytes.Buffer
	err := table(&b, []string{"NAME", "COUNT", "NOTE"}, [][]string{
		{"größer", "1,000", "x"},
		{"b", "7"},
		{"c", "-", "long note"},
	})
	want := "" +
		"NAME    COUNT  NOTE\n" +
		"größer  1,000  x\n" +
		"b           7\n" +
		"c           -  long note\n"
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestCountAndSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q", n, got)
		}
	}
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 30: "3.0 GiB", 1 << 63: "8.0 EiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q", n, got)
		}
	}
}

func TestResultIsJSONOrText(t *testing.T) {
	var b bytes.Buffer
	c := &console{out: &b}
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	if err := c.result([]string{"<a>"}, text); err != nil || b.String() != "text" {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset()
	c.json = true
	if err := c.result([]string{"<a>"}, text); err != nil || b.String() != "[\n  \"<a>\"\n]\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

func TestComplainIsOneLine(t *testing.T) {
	var b bytes.Buffer
	c := &console{err: &b}
	c.complain(errors.New("first\n\tsecond"))
	c.complain(nil)
	if b.String() != "millrace: first second\n" {
		t.Errorf("%q", b.String())
	}
}

// clock is a time that the test sets forward.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func startProgress(width int, total int64) (*progress, *bytes.Buffer, *clock) {
	b, c := &bytes.Buffer{}, &clock{time.Unix(0, 0)}
	p := (&console{err: b, width: width}).progress("train", "images", total)
	p.now = c.now
	p.start, p.printed = c.t, c.t
	return p, b, c
}

func TestProgressInALog(t *testing.T) {
	p, b, c := startProgress(0, 60000)
	for second := range 25 {
		p.set(int64(1000*second), "loss 0.5")
		c.t = c.t.Add(time.Second)
	}
	p.finish(60000, "loss 0.4")
	want := "" +
		"train  16 %  50s left  loss 0.5  10,000/60,000 images  1,000/s\n" +
		"train  33 %  40s left  loss 0.5  20,000/60,000 images  1,000/s\n" +
		"train 100 %  loss 0.4  60,000/60,000 images  2,400/s\n"
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestProgressOfAResumedRun(t *testing.T) {
	p, b, c := startProgress(0, 60000)
	p.set(50000, "")
	c.t = c.t.Add(10 * time.Second)
	p.set(55000, "")
	if want := "train  91 %  10s left  55,000/60,000 images  500/s\n"; b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

func TestProgressOnATerminal(t *testing.T) {
	p, b, c := startProgress(20, 0)
	p.set(0, "")
	c.t = c.t.Add(time.Second)
	p.set(100, "a very long note that does not fit")
	p.set(101, "too soon to be shown")
	p.finish(200, "")
	want := "\rtrain  a very long \x1b[K\rtrain  200 images  \x1b[K\n"
	if got := b.String(); got != want || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}
