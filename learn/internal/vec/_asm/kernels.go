package main

// emitAll emits every kernel for one instruction set.
func emitAll(a *asm, names *registry) {
	emitElementwise(a, names)
	emitOptimisers(a, names)
	emitReductions(a, names)
	emitFused(a, names)
	emitPanels(a, names)
	emitPools(a, names)
	emitConversions(a, names)
	emitRandom(a, names)
	emitTranspose(a, names)
}
