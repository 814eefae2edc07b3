package bundle

import (
	"encoding/binary"
	"math"
)

func encode(dst []byte, src []float32) []byte {
	for _, x := range src {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

func decode(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}
