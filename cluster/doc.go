// Package cluster keeps the few small records that many processes must agree
// on: who is there, who leads a job, which view of a job is the newest. It
// stands on NATS JetStream: a server inside this process by default, or an
// existing cluster of servers given by nats:// addresses. Bulk data never goes
// through it.
//
//	c, err := cluster.Open(ctx, cluster.Config{Dir: dir})                       // a server of our own
//	c, err := cluster.Open(ctx, cluster.Config{URL: "nats://a:4222,nats://b:4222", TLS: files})
//
// # Records
//
// A record is a key, a value of at most 256 KiB and a revision, which grows
// with every change of any record. [Cluster.Get] reads it, [Cluster.Create],
// [Cluster.Swap] and [Cluster.Delete] change it if its revision is still the
// one that the caller saw. These are linearizable: each takes effect at one
// instant between its call and its return. There is no unconditional write.
//
// [Cluster.Watch] returns the records below a prefix and then every change of
// them, in order, over any number of lost connections.
//
// # Members
//
// [Cluster.Join] enters a name under a [Lease] that is renewed until
// [Lease.Leave]; when it is not renewed for its time to live the servers remove
// it. Each entry has an incarnation, a number that grows with every Join: a
// process that comes back under its old name is another member, and the older
// entry of that name learns that it was replaced. [Cluster.WatchMembers]
// reports who comes and goes.
//
// # How it works
//
// All records are messages of one JetStream stream in the layout of a NATS
// key-value bucket (so `nats kv ls millrace` shows them); the revision is the
// stream's sequence number, the incarnation that of the entry's first message.
// A change is published with the expected last sequence of its subject. With
// several replicas a read first publishes a message of its own, which the
// majority confirms, and takes an answer only from a replica that has it; that
// is what makes reads linearizable although any replica answers them.
//
// # Failure
//
// Every call ends with its context, or after ten seconds if that has no
// deadline. Until then a call is repeated while servers are replaced.
//
//   - [ConflictError]: the record was changed by somebody else; it holds the
//     record as it is now.
//   - [UnknownError]: the time was over before an answer came, so the change
//     may have been made, may never be made, or may still be made. Read the
//     record again; to force an outcome, repeat the change with the same
//     revision: at most one of the two takes effect.
//   - [ErrNotFound], [ErrUnavailable] (not done, nobody answered), [ErrLost]
//     (of a watch that cannot go on), [InsecureError], [KeyError].
//
// # Durability
//
// The embedded server keeps one copy in its directory and answers a change
// after fsync, so an acknowledged change survives a power failure, not the loss
// of the disk. An existing cluster keeps Replicas copies; whether its servers
// call fsync before they answer is their own configuration (sync_interval,
// which is two minutes unless they set it to always): with three copies an
// acknowledged change survives the loss of any one server, and a power failure
// of all three at once may undo the last changes. [Cluster.Durability] says
// which of these holds.
package cluster
