// Package buildinfo says which build of millrace is running, from what the Go
// toolchain recorded in the binary. A field that it did not record is empty.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Build identifies the code and the platform of a binary.
type Build struct {
	Version  string `json:"version"`            // module version, "(devel)" for a build from a checkout
	Commit   string `json:"commit,omitempty"`   // revision of the checkout
	Modified bool   `json:"modified,omitempty"` // the checkout held changes that were not committed
	Time     string `json:"time,omitempty"`     // time of the commit, RFC 3339
	Go       string `json:"go"`                 // Go release
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Read returns the build of this process.
func Read() Build {
	build := Build{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		build.fill(info)
	}
	return build
}

func (b *Build) fill(info *debug.BuildInfo) {
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		case "vcs.time":
			b.Time = setting.Value
		}
	}
}
