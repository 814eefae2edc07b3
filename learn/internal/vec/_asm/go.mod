module millrace.dev/learn/internal/vec/_asm

go 1.26.0

require (
	github.com/mmcloughlin/avo v0.6.0
	millrace.dev/internal/avx v0.0.0
)

require (
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
)

replace millrace.dev/internal/avx => ../../../../internal/avx
