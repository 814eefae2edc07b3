package vec

var (
	maxPoolTab      = table[maxPoolKernel]{maxPoolGeneric, maxPoolGeneric, maxPoolGeneric}
	unpoolSetTab    = table[unpoolKernel]{unpoolSetGeneric, unpoolSetGeneric, unpoolSetGeneric}
	unpoolAddTab    = table[unpoolKernel]{unpoolAddGeneric, unpoolAddGeneric, unpoolAddGeneric}
	transposeTab    = table[transposeKernel]{transposeGeneric, transposeGeneric, transposeGeneric}
	toFloat16Tab    = table[toHalfKernel]{toFloat16Generic, toFloat16Generic, toFloat16Generic}
	toBFloat16Tab   = table[toHalfKernel]{toBFloat16Generic, toBFloat16Generic, toBFloat16Generic}
	fromFloat16Tab  = table[fromHalfKernel]{fromFloat16Generic, fromFloat16Generic, fromFloat16Generic}
	fromBFloat16Tab = table[fromHalfKernel]{fromBFloat16Generic, fromBFloat16Generic, fromBFloat16Generic}
	fromUint8Tab    = table[fromByteKernel]{fromUint8Generic, fromUint8Generic, fromUint8Generic}
	dropoutTab      = table[dropoutKernel]{dropoutGeneric, dropoutGeneric, dropoutGeneric}
	uniformTab      = table[uniformKernel]{uniformGeneric, uniformGeneric, uniformGeneric}
)
