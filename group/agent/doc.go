// Package agent lets a program in another language be a worker of a group: a [group.Worker] in this
// process, the training loop in that one. The gradients lie in memory that both map; what is said
// goes over a Unix socket. The thin Python client in python/millrace is such a program.
//
// # The protocol, version 1
//
// The socket is of the type SOCK_SEQPACKET; a message is one packet, a JSON object of at most 64 KiB
// with a type. Files of memory travel along as SCM_RIGHTS. Clients of another user, unless that is root, are
// refused. The client speaks first and then waits for the answer, so that at any time one side only has the
// word:
//
//	client                            agent
//	tensors {tensors}                 (none; any number, before hello)
//	hello {version, elements, …}      started {version, elements, name} + the gradients' memory
//	broadcast                         broadcast (before the first begin only)
//	begin                             step {step, epoch, ranges, weight, …} or left
//	ready {lo, hi, samples}           (none)
//	commit {samples, loss, …}         result {step, outcome, weight, …}
//	leave                             (none; after it a begin is answered by left)
//	status                            status {text, …}
//	bye                               (the agent ends the connection, and is no worker after a while)
//
// Before the answer to begin or commit the agent may ask for the state, when a newcomer needs it, or
// give it, when this worker is the newcomer (begin only):
//
//	saved {size} + its memory         save
//	restored                          restore {step, size} + its memory
//	failed {text}                     (in place of these two, when the client cannot)
//
// In place of any answer comes error {kind, text}, and the end of the connection.
//
// The gradients' memory holds the elements, float32, from its first byte on. The client writes there
// the mean gradient of its samples before commit; after a result with the outcome apply it holds
// the mean over all workers. It must not be written between ready or commit and the result. After the
// outcome skip nobody updates; after void this worker was cut off, and the next begin restores its
// state or says that it has left. After broadcast the memory holds what that of the first founder held
// before; a newcomer's stays as it is, since it will get the others' state. A step without ranges is for those
// that follow or catch up: they commit without a gradient.
//
// # Invariants
//
//   - The end of the connection without bye is the worker's death: the others go on at once.
//   - Sizes and files that the client names are checked before they are used; what the client does
//     with its memory can spoil numbers, never this process.
//   - The state's bytes are the client's own affair, but the same on all workers after the same step.
//
// # Failure
//
// A client that does not keep to the protocol is told so by an error of the kind "protocol". Other
// kinds are "group", "diverged", "plan", "refused" and "unsupported" (a system without files of memory).
package agent
