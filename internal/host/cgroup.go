package host

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// memoryLimit finds the smallest memory limit among the control groups of this
// process and their ancestors, in a file system rooted at /. A machine may
// mount both versions; the memory controller then belongs to version 1.
func memoryLimit(root fs.FS) (limit uint64, source string, ok bool) {
	groups := ownGroups(readText(root, "proc/self/cgroup"))
	for _, m := range mounts(readText(root, "proc/self/mountinfo")) {
		group, file := groups[""], "memory.max"
		if m.version1 {
			group, file = groups["memory"], "memory.limit_in_bytes"
		}
		for dir := m.locate(group); ; dir = path.Dir(dir) {
			name := path.Join(dir, file)
			if value, set := parseLimit(readText(root, strings.TrimPrefix(name, "/"))); set && (!ok || value < limit) {
				limit, source, ok = value, name, true
			}
			if dir == m.point || dir == "/" || dir == "." {
				break
			}
		}
	}
	return limit, source, ok
}

// ownGroups maps each version 1 controller, and "" for version 2, to the group
// of this process, as /proc/self/cgroup lists them: ID:CONTROLLERS:PATH.
func ownGroups(text string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			groups[controller] = fields[2]
		}
	}
	return groups
}

// mount is where a hierarchy with memory limits is mounted.
type mount struct {
	point    string // where
	root     string // the group that is visible there
	version1 bool
}

// mounts finds the hierarchies in the text of /proc/self/mountinfo:
// ID PARENT DEVICE ROOT POINT OPTIONS … - TYPE SOURCE SUPEROPTIONS.
func mounts(text string) (found []mount) {
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		m := mount{point: left[4], root: left[3], version1: right[0] == "cgroup"}
		memory := strings.Contains(","+right[2]+",", ",memory,")
		if right[0] == "cgroup2" || m.version1 && memory {
			found = append(found, m)
		}
	}
	return found
}

// locate returns the directory of a group under the mount point. A group that
// is not under the visible root is what a container sees of its host: its own
// limits then stand at the mount point.
func (m mount) locate(group string) string {
	below, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || strings.HasPrefix(group, "/..") {
		return m.point
	}
	return path.Join(m.point, below)
}

// parseLimit reads the content of a limit file. "max" and the huge number by
// which version 1 says "none" are no limits.
func parseLimit(text string) (uint64, bool) {
	value, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return value, err == nil && value < 1<<60
}

func readText(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return "" // absent: it sets no limit
	}
	return string(text)
}
