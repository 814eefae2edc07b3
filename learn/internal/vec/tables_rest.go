package vec

var (
	affineRowsTab      = table[affineKernel]{affineRowsGeneric, affineRowsGeneric, affineRowsGeneric}
	affineReLURowsTab  = table[affineKernel]{affineReLURowsGeneric, affineReLURowsGeneric, affineReLURowsGeneric}
	colSumTab          = table[colSumKernel]{colSumGeneric, colSumGeneric, colSumGeneric}
	colSumMaskedTab    = table[colSumKernel]{colSumMaskedGeneric, colSumMaskedGeneric, colSumMaskedGeneric}
	momentsTab         = table[momentKernel]{momentsGeneric, momentsGeneric, momentsGeneric}
	bnGradTab          = table[bnGradKernel]{bnGradGeneric, bnGradGeneric, bnGradGeneric}
	bnGradMaskedTab    = table[bnGradKernel]{bnGradMaskedGeneric, bnGradMaskedGeneric, bnGradMaskedGeneric}
	bnInputTab         = table[bnInputsKernel]{bnInputGeneric, bnInputGeneric, bnInputGeneric}
	bnInputMaskedTab   = table[bnInputsKernel]{bnInputMaskedGeneric, bnInputMaskedGeneric, bnInputMaskedGeneric}
	bnInputResidualTab = table[bnInputsKernel]{bnInputResidualGeneric, bnInputResidualGeneric, bnInputResidualGeneric}
	lnGradTab          = table[lnGradKernel]{lnGradGeneric, lnGradGeneric, lnGradGeneric}
	maxPoolTab         = table[maxPoolKernel]{maxPoolGeneric, maxPoolGeneric, maxPoolGeneric}
	unpoolSetTab       = table[unpoolKernel]{unpoolSetGeneric, unpoolSetGeneric, unpoolSetGeneric}
	unpoolAddTab       = table[unpoolKernel]{unpoolAddGeneric, unpoolAddGeneric, unpoolAddGeneric}
	transposeTab       = table[transposeKernel]{transposeGeneric, transposeGeneric, transposeGeneric}
	toFloat16Tab       = table[toHalfKernel]{toFloat16Generic, toFloat16Generic, toFloat16Generic}
	toBFloat16Tab      = table[toHalfKernel]{toBFloat16Generic, toBFloat16Generic, toBFloat16Generic}
	fromFloat16Tab     = table[fromHalfKernel]{fromFloat16Generic, fromFloat16Generic, fromFloat16Generic}
	fromBFloat16Tab    = table[fromHalfKernel]{fromBFloat16Generic, fromBFloat16Generic, fromBFloat16Generic}
	fromUint8Tab       = table[fromByteKernel]{fromUint8Generic, fromUint8Generic, fromUint8Generic}
	dropoutTab         = table[dropoutKernel]{dropoutGeneric, dropoutGeneric, dropoutGeneric}
	uniformTab         = table[uniformKernel]{uniformGeneric, uniformGeneric, uniformGeneric}
)
