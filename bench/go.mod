module millrace.dev/bench

go 1.26.0

require (
	github.com/goccy/go-yaml v1.19.2
	golang.org/x/sys v0.50.0
	millrace.dev v0.0.0
)

replace millrace.dev => ../
