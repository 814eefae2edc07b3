//go:build !amd64

package cpu

func detect() Level { return Generic }
