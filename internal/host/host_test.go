package host

import (
	"testing"
	"testing/fstest"
)

const version1Mounts = `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`

func TestMemoryLimit(t *testing.T) {
	const none = "9223372036854771712\n"
	cases := []struct {
		name   string
		files  map[string]string
		limit  uint64
		source string
	}{
		{"no control groups", nil, 0, ""},
		{"version 1, own group", map[string]string{
			"proc/self/cgroup":                                 "4:memory:/job/7\n1:cpu:/\n0::/\n",
			"proc/self/mountinfo":                              version1Mounts,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":       none,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":   none,
			"sys/fs/cgroup/memory/job/7/memory.limit_in_bytes": "1073741824\n",
		}, 1 << 30, "/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes"},
		{"version 1, an ancestor is tighter", map[string]string{
			"proc/self/cgroup":                                 "4:cpu,memory:/job/7\n",
			"proc/self/mountinfo":                              version1Mounts,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":   "1000\n",
			"sys/fs/cgroup/memory/job/7/memory.limit_in_bytes": "2000\n",
		}, 1000, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes"},
		{"version 1, no limit", map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"proc/self/mountinfo":                        version1Mounts,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": none,
		}, 0, ""},
		{"version 1, a container sees its own group as the root", map[string]string{
			"proc/self/cgroup":                           "4:memory:/docker/abc\n",
			"proc/self/mountinfo":                        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n",
		}, 4096, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		{"version 2, max here and a limit above", map[string]string{
			"proc/self/cgroup":                              "0::/user.slice/job.scope\n",
			"proc/self/mountinfo":                           "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
			"sys/fs/cgroup/user.slice/memory.max":           "8192\n",
			"sys/fs/cgroup/user.slice/job.scope/memory.max": "max\n",
		}, 8192, "/sys/fs/cgroup/user.slice/memory.max"},
		{"version 2, group outside of the namespace", map[string]string{
			"proc/self/cgroup":         "0::/../other\n",
			"proc/self/mountinfo":      "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory.max": "77\n",
		}, 77, "/sys/fs/cgroup/memory.max"},
		{"nonsense", map[string]string{
			"proc/self/cgroup":         "::::\nx\n0::/a\n",
			"proc/self/mountinfo":      "1 2 3\n- -\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory.max": "-3\n",
		}, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			limit, source, ok := memoryLimit(root)
			if ok != (c.source != "") || limit != c.limit && ok || source != c.source {
				t.Errorf("got %d from %q, %v; want %d from %q", limit, source, ok, c.limit, c.source)
			}
		})
	}
}

func TestThisMachine(t *testing.T) {
	m, err := ReadMemory()
	if err != nil || m.Total < 1<<20 || m.Limit > m.Total || m.Limit == 0 {
		t.Errorf("memory %+v, %v", m, err)
	}
	space, err := DiskSpace(t.TempDir())
	if err != nil || space.Total < space.Free || space.Total == 0 {
		t.Errorf("disk %+v, %v", space, err)
	}
	soft, hard, err := OpenFiles()
	if err != nil || soft == 0 || soft > hard {
		t.Errorf("open files %d of %d, %v", soft, hard, err)
	}
	if _, err := DiskSpace("/no/such/place"); err == nil {
		t.Error("a place that does not exist has room")
	}
}
