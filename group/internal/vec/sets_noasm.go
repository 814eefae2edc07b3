//go:build !amd64

package vec

// sets lists the levels of this machine.
func sets() []set { return []set{generic} }
