package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// AllowedCPUs lists the CPUs that this process may run on.
func AllowedCPUs() ([]int, error) {
	list := field("/proc/self/status", "Cpus_allowed_list")
	if list == "" {
		list = fmt.Sprintf("0-%d", runtime.NumCPU()-1)
	}
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		lo, err := strconv.Atoi(from)
		if err != nil {
			return nil, fmt.Errorf("list of CPUs %q: %w", list, err)
		}
		hi, err := strconv.Atoi(to)
		if err != nil {
			return nil, fmt.Errorf("list of CPUs %q: %w", list, err)
		}
		for c := lo; c <= hi; c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// LastCPUs is the list, as taskset takes it, of the last n CPUs: interrupts favour the first.
func LastCPUs(cpus []int, n int) string {
	var s []string
	for _, c := range cpus[max(0, len(cpus)-n):] {
		s = append(s, strconv.Itoa(c))
	}
	return strings.Join(s, ",")
}

// CPUModel is the processor's name.
func CPUModel() string {
	if m := field("/proc/cpuinfo", "model name"); m != "" {
		return fmt.Sprintf("%s (family %s, model %s)", m, field("/proc/cpuinfo", "cpu family"), field("/proc/cpuinfo", "model"))
	}
	return runtime.GOARCH
}

// CacheBytes is the size of the first CPU's data cache of a level, 0 when it is not known.
func CacheBytes(level int) int {
	dirs, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*")
	for _, d := range dirs {
		if line(d, "level") != strconv.Itoa(level) || line(d, "type") == "Instruction" {
			continue
		}
		size := line(d, "size")
		if kib, err := strconv.Atoi(strings.TrimSuffix(size, "K")); err == nil {
			return kib << 10
		}
	}
	return 0
}

func line(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(text))
}

// field is the first value of a key in a file of "key : value" lines.
func field(file, key string) string {
	text, _ := os.ReadFile(file)
	for l := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Busy is the share of the allowed CPUs' time that is used while this process waits for d: what
// others do on the machine.
func Busy(d time.Duration) float64 {
	idle, all := cpuTicks()
	time.Sleep(d)
	idleLater, allLater := cpuTicks()
	if allLater <= all {
		return 0
	}
	return 1 - (idleLater-idle)/(allLater-all)
}

// cpuTicks are the idle and all clock ticks of the machine since it started.
func cpuTicks() (idle, all float64) {
	text, _ := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(text), "\n")
	for i, f := range strings.Fields(first) {
		t, err := strconv.ParseFloat(f, 64)
		if err != nil || i > 8 { // guest time is part of user time
			continue
		}
		all += t
		if i == 4 || i == 5 { // idle, waiting for input or output
			idle += t
		}
	}
	return idle, all
}
