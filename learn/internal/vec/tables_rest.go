package vec

var (
	affineRowsTab      = table[affineKernel]{affineRowsGeneric, affineRowsGeneric, affineRowsGeneric}
	affineReLURowsTab  = table[affineKernel]{affineReLURowsGeneric, affineReLURowsGeneric, affineReLURowsGeneric}
	sumTab             = table[reduce1]{sumGeneric, sumGeneric, sumGeneric}
	sumSquaresTab      = table[reduce1]{sumSquaresGeneric, sumSquaresGeneric, sumSquaresGeneric}
	maxOfTab           = table[reduce1]{maxOfGeneric, maxOfGeneric, maxOfGeneric}
	nonFiniteTab       = table[reduce1]{nonFiniteGeneric, nonFiniteGeneric, nonFiniteGeneric}
	dotTab             = table[reduce2]{dotGeneric, dotGeneric, dotGeneric}
	colSumTab          = table[colSumKernel]{colSumGeneric, colSumGeneric, colSumGeneric}
	colSumMaskedTab    = table[colSumKernel]{colSumMaskedGeneric, colSumMaskedGeneric, colSumMaskedGeneric}
	momentsTab         = table[momentKernel]{momentsGeneric, momentsGeneric, momentsGeneric}
	bnGradTab          = table[bnGradKernel]{bnGradGeneric, bnGradGeneric, bnGradGeneric}
	bnGradMaskedTab    = table[bnGradKernel]{bnGradMaskedGeneric, bnGradMaskedGeneric, bnGradMaskedGeneric}
	bnInputTab         = table[bnInputsKernel]{bnInputGeneric, bnInputGeneric, bnInputGeneric}
	bnInputMaskedTab   = table[bnInputsKernel]{bnInputMaskedGeneric, bnInputMaskedGeneric, bnInputMaskedGeneric}
	bnInputResidualTab = table[bnInputsKernel]{bnInputResidualGeneric, bnInputResidualGeneric, bnInputResidualGeneric}
	deviationTab       = table[reduceShifted]{deviationGeneric, deviationGeneric, deviationGeneric}
	lnApplyTab         = table[lnApplyKernel]{lnApplyGeneric, lnApplyGeneric, lnApplyGeneric}
	lnSumsTab          = table[lnSumsKernel]{lnSumsGeneric, lnSumsGeneric, lnSumsGeneric}
	lnInputTab         = table[lnInputKernel]{lnInputGeneric, lnInputGeneric, lnInputGeneric}
	lnGradTab          = table[lnGradKernel]{lnGradGeneric, lnGradGeneric, lnGradGeneric}
	expSumTab          = table[expSumKernel]{expSumGeneric, expSumGeneric, expSumGeneric}
	sumExpTab          = table[sumExpKernel]{sumExpGeneric, sumExpGeneric, sumExpGeneric}
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
