"""A state as bytes: nested dicts, lists and numbers around arrays. Nothing in it is ever executed.

    8 bytes  b"MRSTATE1"
    8 bytes  length of the header, little-endian
    header   JSON, padded with spaces
    arrays   each at a multiple of 64 bytes

The same state gives the same bytes on every worker, which newcomers rely on: they fetch it in stripes
from all of them.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

_MAGIC = b"MRSTATE1"
_ALIGN = 64
_MAX_HEADER = 64 << 20
_BYTE_ORDERS = ("<", ">", "|", "=")  # what the names of numpy's types begin with


class Raw(NamedTuple):
    """An array of a type that numpy may not know, by its bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray  # uint8[bytes]


def pack(tree: Any) -> tuple[bytes, list[tuple[int, np.ndarray]], int]:
    """Returns the header, the arrays' bytes with their offsets, and the size of the whole."""
    arrays: list[Raw] = []
    body = _encode(tree, arrays)
    ends, at = [], 0
    for raw in arrays:
        ends.append(at)
        at += -(-raw.data.nbytes // _ALIGN) * _ALIGN
    text = json.dumps(
        {"tree": body, "arrays": [[r.dtype, list(r.shape), o, r.data.nbytes] for r, o in zip(arrays, ends)]},
        separators=(",", ":"),
    ).encode()
    text += b" " * (-(len(text) + 16) % _ALIGN)
    start = 16 + len(text)
    head = _MAGIC + len(text).to_bytes(8, "little") + text
    return head, [(start + o, r.data) for r, o in zip(arrays, ends)], start + at


def unpack(memory: memoryview | bytes | bytearray) -> Any:
    """Returns the tree; its arrays are views of the memory, those of types that numpy does not know are `Raw`."""
    view = memoryview(memory)
    if bytes(view[:8]) != _MAGIC:
        raise ValueError("the state does not begin as one")
    length = int.from_bytes(view[8:16], "little")
    if length > min(_MAX_HEADER, len(view) - 16):
        raise ValueError(f"the state's header has {length} bytes")
    header = json.loads(bytes(view[16 : 16 + length]))
    body = view[16 + length :]
    arrays: list[Raw | np.ndarray] = []
    for dtype, shape, offset, nbytes in header["arrays"]:
        if offset < 0 or nbytes < 0 or offset + nbytes > len(body):
            raise ValueError("an array of the state lies outside of it")
        raw = Raw(dtype, tuple(shape), np.frombuffer(body, np.uint8, nbytes, offset))
        arrays.append(_to_numpy(raw) if dtype[:1] in _BYTE_ORDERS else raw)
    return _decode(header["tree"], arrays)


def _to_numpy(raw: Raw) -> np.ndarray:
    """Returns the array as numpy's, a view."""
    dtype = np.dtype(raw.dtype)
    if dtype.hasobject:
        raise ValueError(f"an array of the state is of the type {raw.dtype}")
    return raw.data.view(dtype).reshape(raw.shape)


def _encode(x: Any, arrays: list[Raw]) -> Any:
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, np.ndarray):
        flat = np.ascontiguousarray(x)
        x = Raw(flat.dtype.str, x.shape, flat.reshape(-1).view(np.uint8))
    if isinstance(x, Raw):
        arrays.append(x)
        return {"a": len(arrays) - 1}
    if isinstance(x, dict):
        for key in x:
            if isinstance(key, bool) or not isinstance(key, (int, str)):
                raise TypeError(f"a state's keys are texts or whole numbers, not {key!r}")
        items = sorted(x.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        return {"d": [[key, _encode(value, arrays)] for key, value in items]}
    if isinstance(x, (list, tuple)):
        return {"l" if isinstance(x, list) else "t": [_encode(value, arrays) for value in x]}
    if isinstance(x, np.generic):
        return _encode(x.item(), arrays)
    raise TypeError(f"a state holds arrays, numbers, texts, dicts and lists, not {type(x).__name__}")


def _decode(x: Any, arrays: list[Raw | np.ndarray]) -> Any:
    if not isinstance(x, dict):
        return x
    if "a" in x:
        return arrays[x["a"]]
    if "d" in x:
        return {key: _decode(value, arrays) for key, value in x["d"]}
    if "l" in x:
        return [_decode(value, arrays) for value in x["l"]]
    return tuple(_decode(value, arrays) for value in x["t"])
