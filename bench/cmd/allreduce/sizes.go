package main

import (
	"fmt"
	"strconv"
	"strings"
)

// sizesOf lists the numbers of elements that are reduced in one step: "1KiB" and the like, one buffer; "resnet50", the
// tensors of a ResNet-50; "resnet50-fused", all of them as one buffer of 102 MB.
func sizesOf(what string) ([]int, error) {
	switch what {
	case "resnet50":
		return resNet50(), nil
	case "resnet50-fused":
		sum := 0
		for _, n := range resNet50() {
			sum += n
		}
		return []int{sum}, nil
	}
	for suffix, unit := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20} {
		if text, ok := strings.CutSuffix(what, suffix); ok {
			n, err := strconv.Atoi(text)
			if err == nil && n > 0 && n < 1<<20 {
				return []int{n * unit / 4}, nil
			}
		}
	}
	return nil, fmt.Errorf("unknown size %q", what)
}

// resNet50 are the sizes of the 161 tensors of a ResNet-50 for ImageNet (He et al., CVPR'16, table 1), in forward
// order: a convolution without bias and scale and shift of its batch norm in turn, and the last layer.
func resNet50() []int {
	var sizes []int
	convolution := func(in, out, kernel int) {
		sizes = append(sizes, in*out*kernel*kernel, out, out)
	}
	convolution(3, 64, 7)
	in := 64
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for block := range blocks {
			convolution(in, width, 1)
			convolution(width, width, 3)
			convolution(width, 4*width, 1)
			if block == 0 {
				convolution(in, 4*width, 1)
			}
			in = 4 * width
		}
	}
	return append(sizes, in*1000, 1000)
}

func join(sizes []int) string {
	words := make([]string, len(sizes))
	for i, n := range sizes {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}
