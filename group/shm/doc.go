// Package shm reduces training steps, and ordinary buffers, between the workers of one machine over memory that
// they share. It is the [reduce.Reducer] with the algorithm [reduce.Shared].
//
// # Memory
//
// Every region is a memfd that one worker writes and the others map read-only. Its pages exist before anybody
// sees it, and it is sealed against shrinking and growing, which is checked, as is its size, before it is mapped: no
// access can fail later, whatever the owner does.
//
//   - [Vector]: a worker's gradients g, for its whole life. S bytes.
//   - the shares: of each view, the worker's board and the segments of r that it computes. About S/n bytes, and S/(n-1)
//     for a spare one, whose pages exist when somebody has died and a new view is waited for. A newcomer makes its
//     first one before it is let in.
//   - [Mean]: r. One range of addresses for the worker's life, whose pages are in each view those of all the
//     members' shares, so that nothing is copied to anybody. No memory of its own but for page tables. Where there
//     is no Team it is memory of this process, in large pages where the system has them: who goes on alone writes all
//     of it anew.
//   - the staging area of a [Comm]: 4 pieces of 256 KiB or less, and a board, whatever the size of the buffers. A view has
//     one where a Team has its shares.
//
// A worker thus has S·(1 + 1/n + 1/(n-1)) bytes of its own and page tables for all members' vectors and r; what systems
// call its resident set also counts the pages of others that it reads. What a view leaves is given back after the
// second step of a later one, as the first is waited for; two views' at most are kept.
//
// A [Door] passes the files: a socket in the abstract namespace, for processes of the same user (or root) and the same
// network namespace only.
//
// # The way of a step
//
//	Begin ─▶ Ready(lo, hi): each block of g that is complete is marked on the own board
//	      ─▶ a block that all have marked: each member sums its segment over all g, in rank order, into its share
//	      ─▶ all segments of all blocks done: the members' marks on the boards say so, r is complete
//
// A block is one chunk, or a few where the vector is so long that there are enough blocks, as each segment is a mapping
// of r that a new view has to make; a segment is a run of whole pages. Who calls Ready sums, between two parts of the
// computation, what is ready everywhere by then; a goroutine of the [Team] sums the rest when the last block is complete.
// Boards are words that their owner writes and others read, atomically. Who has nothing to do says so on its board and
// sleeps on the count of marks of the member that is last (a futex, which needs no right to write there), whose next mark wakes
// it. Then it mostly has something to do until the end of the step, as it is a block behind that one.
//
// # The way of a buffer
//
//	Start(number) ─▶ in its turn, piece by piece: what others need copied into the staging area; the own segment summed, if
//	                 there is something to sum; results copied out
//
// Who takes part must know that all members will: whoever uses a [Comm] gives turns once all have said that they
// have started. A goroutine does the work, so that nobody has to wait for it. Members count on their boards how many
// pieces have come how far. Who can do nothing looks for a while, all the time if each member can have a CPU, else
// whenever it gets its own again after leaving it to others, unless those were others than members. Then it sleeps
// on the count of one that is behind until that one's mark wakes it. Results of long sums go past the caches, where they
// would only push out what is staged.
//
// # Bytes
//
// What each of n members moves for S bytes. Where the members share the cores, a reduction takes n times as long:
//
//	           from memory  to memory  from others' memory  into the staging area  out of staging areas
//	a step     S/n          S/n        S(n-1)/n             -                      -
//	all-reduce S            S          -                    S                      S for two members, else S(2 - 1/n)
//
// Staging areas stay in the cache that the cores share; what lies in one core's own has to come from there.
//
// # Invariants
//
//   - g is only read here. g may change when the step is done everywhere.
//   - A result is never written over but by the next step of its view: a share in which its owner has completed a step
//     serves no other view. A worker that was cut off, or has left, goes on to read what it had.
//   - A share in which its owner has completed none serves the next view. One that was cut off from the view before may
//     read in it what is not meant for it, but no such step counts: the owner was not prepared for it, and words on
//     boards bear their epoch.
//   - r changes only between Begin and the end of a step. Results of step s+1 are written when all have marked
//     a block of s+1 ready, thus when nobody reads those of step s.
//   - All elements are summed in rank order: the bits are those of [reduce.Serial].
//   - What a peer's board says is compared, never used as an index or a size.
//
// # Failure
//
// Where workers cannot share memory (another system, another network namespace, another user, no memory left)
// Attach fails on all of them with a [*NotSupportedError], and the driver takes the ring. Differing vectors or plans
// are a [*MismatchError]. The death of a member is the driver's to notice; Cancel then ends the step and the sleep of this
// member, and Close unmaps all that belongs to the view. Of a Comm, who sleeps looks every 5 ms whether that is so. A
// member that cannot use a buffer any more stands aside in its turn: the others' reduction fails, and those after it do not.
package shm
