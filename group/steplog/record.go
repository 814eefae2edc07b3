package steplog

// Record is one committed step.
type Record struct {
	Step      uint64  `json:"step"`
	View      uint64  `json:"view"` // epoch of the view in which it was reduced
	DataEpoch uint64  `json:"epoch"`
	Parts     []Part  `json:"parts"`  // in rank order
	Weight    uint64  `json:"weight"` // Σ samples of the parts
	Outcome   string  `json:"outcome"`
	Algorithm string  `json:"algorithm"`
	Elements  int     `json:"elements"`
	Chunk     int     `json:"chunk"` // elements
	Rate      float64 `json:"rate"`
	Hash      uint64  `json:"hash"` // of the parameters before the step, 0 if unknown
}

// Part is what one member gave.
type Part struct {
	Member  uint64      `json:"id"`
	Name    string      `json:"name"`
	Samples uint64      `json:"samples"` // 0: it only received
	Ranges  [][2]uint64 `json:"ranges,omitempty"`
}

// Writer appends records to a file.
type Writer struct{}
