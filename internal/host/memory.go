package host

// Memory is what the machine has and what this process may use of it.
type Memory struct {
	Total  uint64 `json:"total"`            // bytes in the machine
	Limit  uint64 `json:"limit"`            // bytes that this process may use, at most Total
	Source string `json:"source,omitempty"` // file that sets Limit; empty when it is Total
}

// ReadMemory returns the machine's memory and the smallest limit that applies.
func ReadMemory() (Memory, error) {
	total, err := totalMemory()
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Total: total, Limit: total}
	if limit, source, ok := cgroupMemoryLimit(); ok && limit < total {
		m.Limit, m.Source = limit, source
	}
	return m, nil
}
