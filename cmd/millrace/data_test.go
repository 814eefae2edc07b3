package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace.dev/learn/data"
)

func TestDataList(t *testing.T) {
	list := decode[[]data.Known](t, millrace(t, "", "data", "list", "--json"))
	if len(list) != 3 || list[0].Name != data.DefaultName || list[0].Origin == "" {
		t.Errorf("%+v", list)
	}
	got := millrace(t, "", "data", "list")
	for _, want := range append(data.Names(), "embedded in the program") {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q tells nothing of %s", got.stdout, want)
		}
	}
}

func TestDataInfo(t *testing.T) {
	info := decode[dataInfo](t, millrace(t, "", "data", "info", data.DefaultName, "--json"))
	if info.Train != 10_000 || info.Test != 2_000 || len(info.Classes) != 10 || info.Norm.Mean[0] < 0.28 || info.Norm.Mean[0] > 0.29 {
		t.Errorf("%+v", info)
	}
	train, test := 0, 0
	for _, c := range info.Classes {
		train, test = train+c.Train, test+c.Test
	}
	if train != info.Train || test != info.Test {
		t.Errorf("the classes hold %d and %d samples", train, test)
	}
	got := millrace(t, "", "data", "info", data.DefaultName)
	for _, want := range []string{"10,000 to train, 2,000 to test", "28×28×1, uint8", "Ankle boot"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q does not tell %q", got.stdout, want)
		}
	}
}

// TestOneLabelFarAbove trains on few rows of which one has a large number for a label.
func TestOneLabelFarAbove(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte("a,label\n"+strings.Repeat("1,0\n3,1\n4,99999\n", 4)), 0o644); err != nil {
		t.Fatal(err)
	}
	got := millrace(t, dir, "train", "--data", "t.csv", "--model", "mlp", "--epochs", "2", "--batch", "2", "--out", "run")
	if got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	e := decode[evaluation](t, millrace(t, dir, "eval", "run", "--json"))
	if len(e.Classes) != 3 || e.Classes[2].Name != "99999" || len(e.Confusion) != 3 {
		t.Errorf("%+v", e)
	}
	// Measured on a table without the class 0.
	if err := os.WriteFile(filepath.Join(dir, "two.csv"), []byte("a,label\n"+strings.Repeat("4,99999\n3,1\n", 20)), 0o644); err != nil {
		t.Fatal(err)
	}
	e = decode[evaluation](t, millrace(t, dir, "eval", "run", "--data", "two.csv", "--json"))
	if len(e.Classes) != 3 || e.Classes[0].Samples != 0 || e.Classes[1].Samples == 0 || e.Classes[1].Samples+e.Classes[2].Samples != e.Samples {
		t.Errorf("%+v", e)
	}
	// Measured on all of a table with one class alone.
	if err := os.WriteFile(filepath.Join(dir, "one.csv"), []byte("a,label\n3,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e = decode[evaluation](t, millrace(t, dir, "eval", "run", "--data", "one.csv", "--test-fraction", "1", "--json"))
	if e.Samples != 1 || e.Classes[1].Samples != 1 {
		t.Errorf("%+v", e)
	}
	// The run's own samples are not read in another way: it was trained on some of them.
	if got := millrace(t, dir, "eval", "run", "--test-fraction", "1"); got.code != exitUsage || !strings.Contains(got.stderr, "--test-fraction goes with --data") {
		t.Errorf("%+v", got)
	}
}

func TestDataInfoOfAFile(t *testing.T) {
	dir := t.TempDir()
	table := "kind,width\n" + strings.Repeat("rose,1\niris,2\n", 20)
	if err := os.WriteFile(filepath.Join(dir, "flowers.csv"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	info := decode[dataInfo](t, millrace(t, dir, "data", "info", "flowers.csv", "--label-column", "kind", "--json"))
	if info.Train+info.Test != 40 || info.Classes[0].Name != "iris" || info.Storage != "float32" {
		t.Errorf("%+v", info)
	}
}

func TestDataRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bad.csv": "a,label\n1,x\noops,y\n", "prices.csv": "area,price\n1,250000\n2,199000.5\n", "one.csv": "a,label\n1,x\n2,x\n", "z.npy": "", "x.npy": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"data info":                           {exitUsage, "millrace data info: NAME is missing"},
		"data info mnits":                     {exitBadInput, "did you mean mnist?"},
		"data info bad.csv":                   {exitBadInput, `bad.csv:3:1: column a: "oops" is not a finite number`},
		"data info bad.csv --image-size 28":   {exitUsage, "such as 28x28"},
		"data info bad.csv --image-size 0x5":  {exitUsage, "such as 28x28"},
		"data info bad.csv --test-fraction 1": {exitUsage, "is not between 0 and 1"},
		"data info prices.csv":                {exitBadInput, "prices.csv:3:3: label: 199000.5 is not a whole number"},
		"data info one.csv":                   {exitBadInput, `one.csv: every sample is of the class "x"`},
		"data info z.npy":                     {exitBadInput, `numpy.savez("z.npz"`},
		"data info x.npy":                     {exitBadInput, "want y.npy"},
		"data info none/at/all":               {exitBadInput, "none/at/all: no such file"},
		"data fetch":                          {exitUsage, "millrace data fetch: NAME is missing"},
		"data fetch " + data.DefaultName:      {exitBadInput, "nothing to fetch"},
		"data fetch fashion":                  {exitBadInput, "did you mean"},
		"data lst":                            {exitUsage, `did you mean "list"?`},
	} {
		got := millrace(t, dir, strings.Fields(line)...)
		if got.code != want.code || !strings.Contains(got.stderr, want.text) || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: %+v, want code %d and %q", line, got, want.code, want.text)
		}
	}
}

// TestWithoutHome asks for data where there is no place to look.
func TestWithoutHome(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "MILLRACE_DATA"} {
		t.Setenv(name, "")
	}
	if got := millrace(t, "", "data", "info", "mnist"); got.code != exitBadInput || strings.Contains(got.stderr, "looked in )") ||
		!strings.Contains(got.stderr, "$MILLRACE_DATA/mnist") {
		t.Errorf("%+v", got)
	}
	if got := millrace(t, "", "data", "fetch", "mnist"); got.code != exitFailed || !strings.Contains(got.stderr, "$MILLRACE_DATA/mnist") {
		t.Errorf("%+v", got)
	}
}
