package host

import (
	"strconv"
	"strings"
)

// Memory is what the machine has and what this process may use of it.
type Memory struct {
	Total  uint64 `json:"total"`            // bytes in the machine
	Limit  uint64 `json:"limit"`            // bytes that this process may use, at most Total
	Source string `json:"source,omitempty"` // what sets Limit: a file, or "ulimit -v"; empty when it is Total
}

// ReadMemory returns the machine's memory and the smallest limit that applies.
func ReadMemory() (Memory, error) {
	total, err := totalMemory()
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Total: total, Limit: total}
	for _, read := range []func() (uint64, string, bool){cgroupMemoryLimit, addressSpaceLimit} {
		if limit, source, ok := read(); ok && limit < m.Limit {
			m.Limit, m.Source = limit, source
		}
	}
	return m, nil
}

// usableOf is what a bound on the addresses of a process leaves it to use: addresses that are
// reserved but not used count towards the bound. Statm is the text of /proc/self/statm, in pages.
func usableOf(bound uint64, statm string, page uint64) (limit uint64, ok bool) {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0, false
	}
	size, err := strconv.ParseUint(fields[0], 10, 32)
	if err != nil {
		return 0, false
	}
	resident, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil || resident > size {
		return 0, false
	}
	reserved := (size - resident) * page
	return bound - min(bound, reserved), true
}
