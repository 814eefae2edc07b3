package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestReadNamesGoAndPlatform(t *testing.T) {
	b := Read()
	if b.Go != runtime.Version() || b.OS != runtime.GOOS || b.Arch != runtime.GOARCH || b.Version == "" {
		t.Errorf("incomplete: %+v", b)
	}
}

func TestFillTakesRevision(t *testing.T) {
	var b Build
	b.fill(&debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "84e1a4b"},
			{Key: "vcs.modified", Value: "true"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		},
	})
	want := Build{Version: "v1.2.3", Commit: "84e1a4b", Modified: true, Time: "2026-01-02T03:04:05Z"}
	if b != want {
		t.Errorf("got %+v, want %+v", b, want)
	}
}
