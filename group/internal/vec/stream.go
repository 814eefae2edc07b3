package vec

import "unsafe"

// line is the number of bytes that memory is written by.
const line = 64

// Stream copies from to to, other memory of the same length, past the caches: lines that are in none are not read
// before they are written over, and what lies in the caches stays. It is slower than copy where to is read soon.
func Stream(to, from []byte) {
	from = from[:len(to)]
	head := min(int(-uintptr(unsafe.Pointer(unsafe.SliceData(to)))%line), len(to))
	copy(to[:head], from)
	stream, lines := current().stream, (len(to)-head)/line*line
	for at := head; at < head+lines; at += 4 * block {
		end := min(at+4*block, head+lines)
		stream(to[at:end], from[at:end])
	}
	copy(to[head+lines:], from[head+lines:])
}
