package crew

import (
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	x := &tail{}
	if x.last() != "" {
		t.Errorf("nothing was said, but %q", x.last())
	}
	write := func(text string) {
		if n, err := x.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	write("millrace: first\nmillrace: second\n")
	if x.last() != "millrace: second" {
		t.Errorf("got %q", x.last())
	}
	write("panic: runtime error\n\ngoroutine 1 [running]:\n")
	for range 1000 {
		write("main.main()\n\t/somewhere/main.go:12 +0x1b\n")
	}
	if x.last() != "panic: runtime error" {
		t.Errorf("got %q", x.last())
	}
	if text := string(x.text()); len(text) != 2*maxTail || !strings.HasPrefix(text, "millrace: first") || !strings.HasSuffix(text, "+0x1b\n") {
		t.Errorf("%d bytes are kept", len(text))
	}
}
