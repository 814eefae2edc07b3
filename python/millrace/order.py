"""The order of an epoch's samples: a function of seed and epoch, the same on all workers."""

from __future__ import annotations

import numpy as np

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def order(seed: int, epoch: int, samples: int) -> np.ndarray:
    """Returns a permutation of range(samples), int64[samples].

    Samples are sorted by the output of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) for seed, epoch
    and number, so the order is the same for every version of numpy.
    """
    start = (_mix(np.array([seed & _MASK], np.uint64)) + np.uint64(epoch * _GOLDEN & _MASK)).astype(np.uint64)
    keys = _mix(_mix(start) + np.arange(1, samples + 1, dtype=np.uint64) * np.uint64(_GOLDEN))
    return np.argsort(keys, kind="stable")


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
