package mission

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoutesCSV(t *testing.T) {
	var b bytes.Buffer
	if err := sample(t).WriteRoutes(&b); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&b).ReadAll()
	want := [][]string{{"index", "id", "role", "next", "stop", "load"}, {"0", "a,1", "relay", `b"<&>`, "1", "1"}, {"1", `b"<&>`, "upload", "", "1", "3"},
		{"2", "ü", "upload", "", "1", "1"}, {"3", "s3", "relay", "s4", "2", "1"}, {"4", "s4", "upload", "", "2", "1"}, {"5", "s5", "none", "", "", "0"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
}

// A C compiler reads the header and a program prints what it says.
func TestHeaderCompiles(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Log("no C compiler here: only the text is checked")
	}
	var b bytes.Buffer
	m := sample(t)
	m.Instance.Sensors[0].ID = "??/\"\\\x01" + "7\n"
	if err := m.WriteHeader(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "  1, MILLRACE_TO_SINK, MILLRACE_TO_SINK, 4, MILLRACE_TO_SINK, MILLRACE_NONE,\n") {
		t.Fatalf("%s", b.String())
	}
	if cc == "" {
		return
	}
	dir := t.TempDir()
	program := `#include "routes.h"
#include <stdio.h>
int main(void) {
	for (unsigned i = 0; i < MILLRACE_NODES; i++)
		printf("%u %u %s\n", (unsigned)millrace_next[i], (unsigned)millrace_stop[i], millrace_id[i]);
	return MILLRACE_STOPS == 2u ? 0 : 1;
}`
	os.WriteFile(filepath.Join(dir, "routes.h"), b.Bytes(), 0o600)
	os.WriteFile(filepath.Join(dir, "main.c"), []byte(program), 0o600)
	if out, err := exec.Command(cc, "-std=c11", "-Wall", "-Werror", "-pedantic", "-o", filepath.Join(dir, "main"), filepath.Join(dir, "main.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "main")).Output()
	want := "1 0 ??/\"\\\x01" + "7\n\n65534 0 b\"<&>\n65534 0 ü\n4 1 s3\n65534 1 s4\n65535 65535 s5\n"
	if err != nil || string(out) != want {
		t.Fatalf("%v\n got %q\nwant %q", err, out, want)
	}
}
