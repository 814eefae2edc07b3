package collective

// Call is an operation under way.
type Call struct{}
