package gemm

// ConvShape is the shape of a two-dimensional convolution (a cross-correlation, as is usual in learning).
type ConvShape struct {
	N, H, W, C             int // input images [N][H][W][C]
	KH, KW, OC             int // filter [KH][KW][C/Groups][OC]
	StrideH, StrideW       int
	PadT, PadB, PadL, PadR int // zeros around the input
	DilH, DilW             int // distance of neighbouring taps; 1 is a dense filter
	Groups                 int // 1 is a full convolution, C a depthwise one
}
