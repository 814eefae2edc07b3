package mission

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/*.hex with pymavlink and node-mavlink")

// payload is a MISSION_ITEM_INT as MAVLink lays it out: fields by falling size.
func (c command) payload(current byte) string {
	var b bytes.Buffer
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	for _, p := range c.params {
		if math.IsNaN(p) {
			put(uint32(0x7fc00000))
			continue
		}
		put(float32(p))
	}
	put(int32(math.Round(c.lat * 1e7)))
	put(int32(math.Round(c.lon * 1e7)))
	put(float32(c.alt))
	put(uint16(c.seq))
	put(uint16(c.command))
	b.Write([]byte{1, 1, byte(c.frame), current, 1, 0})
	return hex.EncodeToString(b.Bytes())
}

// pymavlink and node-mavlink read our files and encode the very items that we meant. Their answers for the sample are
// kept in testdata; they are asked again, live, where they are installed: by test.sh, for example.
func TestIndependentReaders(t *testing.T) {
	m := sample(t)
	var plan, text bytes.Buffer
	if err := errors.Join(m.WritePlanFile(&plan, 0), m.WriteWaypoints(&text, 0)); err != nil {
		t.Fatal(err)
	}
	_, items := readPlanFile(t, plan.Bytes())
	var wantPlan, wantText strings.Builder
	for _, it := range items {
		wantPlan.WriteString(it.payload(0) + "\n")
	}
	for i, it := range readWaypoints(t, text.String()) {
		current := byte(0)
		if i == 0 {
			current = 1
		}
		wantText.WriteString(it.payload(current) + "\n")
	}
	dir := t.TempDir()
	planPath, textPath := filepath.Join(dir, "sample.plan"), filepath.Join(dir, "sample.waypoints")
	if err := errors.Join(os.WriteFile(planPath, plan.Bytes(), 0o600), os.WriteFile(textPath, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/planfile.hex", wantPlan.String(), nodeMavlink(planPath))
	compare(t, "testdata/waypoints.hex", wantText.String(), pymavlink(textPath))
}

func compare(t *testing.T, golden, want string, live *exec.Cmd) {
	t.Helper()
	if live != nil {
		out, err := live.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", filepath.Base(live.Path), err, out, want)
		}
		if *update {
			if err := os.WriteFile(golden, out, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	} else if os.Getenv("CI") == "true" && !testing.Short() {
		t.Errorf("%s: its maker is not installed", golden)
	} else {
		t.Logf("%s: its maker is not installed, the kept answer counts", golden)
	}
	kept, err := os.ReadFile(golden)
	if err != nil || string(kept) != want {
		t.Errorf("%s: %v\n got %s\nwant %s", golden, err, kept, want)
	}
}

// tools is where test.sh installs both, beside a Python that may have pymavlink.
const tools = "../../.venv"

// pymavlink is the command that reads the file with pymavlink, nil when no Python here has it.
func pymavlink(file string) *exec.Cmd {
	for _, python := range []string{filepath.Join(tools, "bin", "python"), "python3"} {
		if exec.Command(python, "-c", "import pymavlink").Run() == nil {
			return exec.Command(python, "testdata/waypoints.py", file)
		}
	}
	return nil
}

// nodeMavlink is the command that reads the file with node-mavlink, nil when it is not installed.
func nodeMavlink(file string) *exec.Cmd {
	script, err := filepath.Abs("testdata/planfile.mjs")
	if err != nil {
		return nil
	}
	dir := filepath.Join(tools, "node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "node-mavlink")); err != nil {
		return nil
	}
	cmd := exec.Command("node", script, file)
	cmd.Dir = dir
	return cmd
}
