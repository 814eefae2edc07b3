package keys

// serverName is in every certificate, and what each side asks of the other.
const serverName = "worker.millrace"
