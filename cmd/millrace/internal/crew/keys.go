package crew

import (
	"path/filepath"
	"strings"

	"millrace.dev/cluster"
	"millrace.dev/group/notice"
)

// tlsFiles are the files of a worker's keys for the membership service, none without a directory.
func tlsFiles(dir, name string) cluster.TLSFiles {
	if dir == "" {
		return cluster.TLSFiles{}
	}
	return cluster.TLSFiles{
		CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key"),
	}
}

// noticeSource is where notices come from: a URL, or the name of a file; nil for nowhere.
func noticeSource(from string) notice.Source {
	switch {
	case from == "":
		return nil
	case strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://"):
		return notice.HTTP{URL: from}
	}
	return notice.File(from)
}
