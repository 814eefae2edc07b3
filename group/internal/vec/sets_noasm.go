//go:build !amd64

package vec

import "millrace.dev/internal/cpu"

var sets = [cpu.AVX512 + 1]set{generic, generic, generic}
