package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type sampleConfig struct {
	Epochs  int     `yaml:"epochs"`
	Rate    float64 `yaml:"rate"`
	Machine struct {
		Threads int `yaml:"threads"`
	} `yaml:"machine"`
}

func readSample(t *testing.T, text string) (sampleConfig, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var config sampleConfig
	_, err := readConfig(path, &config)
	return config, err
}

func TestReadConfig(t *testing.T) {
	got, err := readSample(t, "epochs: 3\nrate: 0.1\nmachine:\n  threads: 2\n")
	if err != nil || got.Epochs != 3 || got.Rate != 0.1 || got.Machine.Threads != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := readSample(t, ""); err != nil || got != (sampleConfig{}) {
		t.Errorf("empty file: %+v, %v", got, err)
	}
}

func TestReadConfigNamesThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"epochs: 3\nepoks: 4\n":               `run.yaml:2:1: unknown field "epoks"`,
		"machine:\n  threads: 2\n  x: 1\n":    `run.yaml:3:3: unknown field "x"`,
		"epochs: many\n":                      `run.yaml:1:9: "many" is not a whole number`,
		"epochs: 99999999999999999999\n":      `run.yaml:1:9: "99999999999999999999" is not a whole number`,
		"epochs: [1]\n":                       "run.yaml:1:9: ",
		"rate: fast\n":                        `run.yaml:1:7: "fast" is not a number`,
		"rate: 1\nrate: 2\n":                  "run.yaml:2:1: ",
		"epochs: [1\n":                        "run.yaml:1:",
		"# " + strings.Repeat("x", maxConfig): "longer than 1.0 MiB",
	} {
		_, err := readSample(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitBadInput {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
	if _, err := readConfig("/no/such.yaml", &sampleConfig{}); exitCode(err) != exitBadInput {
		t.Errorf("absent file: %v", err)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add("epochs: 3\n")
	f.Add("a: &a [*a]\n")
	f.Add("? {x: y}\n: - |\n  z")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := readSample(t, text); err != nil && exitCode(err) != exitBadInput {
			t.Errorf("%v", err)
		}
	})
}
