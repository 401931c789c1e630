"""Reading a model without copying its weights: large contents of tensors stay where they are, in the mapped file.

A model is protobuf: fields, each a key (number and wire type) and a value. Contents of initializers are at
`ModelProto.graph` (7) / `GraphProto.initializer` (5) / `TensorProto.raw_data` (9). These are cut out, and the rest, which is
small, goes through the ordinary parser. Wire format: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.ort_errors import InvalidProtobuf

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
LARGE_BYTES = 4096
"""Contents from this size on stay in the file."""
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
PLACEHOLDER = b"\x4a\x00"
"""A `raw_data` of no bytes."""


def without_large_contents(content: memoryview) -> tuple[bytes, list[memoryview | None]]:
    """The model without large contents of its initializers, and these in the order of the initializers; None for small ones.

    Raises `InvalidProtobuf` for what is cut off. What looks odd in another way is left to the parser.
    """
    found: list[memoryview | None] = []
    parts: list[bytes | memoryview] = []
    for number, whole, value in _fields(content):
        if number == GRAPH and value is not None:
            _add_field(parts, GRAPH, _graph(value, found))
        else:
            parts.append(whole)
    return b"".join(parts), found


def _graph(content: memoryview, found: list[memoryview | None]) -> bytes:
    parts: list[bytes | memoryview] = []
    for number, whole, value in _fields(content):
        if number != INITIALIZER or value is None:
            parts.append(whole)
            continue
        large, rest = _tensor(value)
        found.append(large)
        if large is None:
            parts.append(whole)
        else:
            _add_field(parts, INITIALIZER, rest)
    return b"".join(parts)


def _tensor(content: memoryview) -> tuple[memoryview | None, bytes]:
    """The large contents of a tensor, and the tensor without them."""
    large: memoryview | None = None
    parts: list[bytes | memoryview] = []
    for number, whole, value in _fields(content):
        if number == RAW_DATA and value is not None and len(value) >= LARGE_BYTES:
            large = value
            parts.append(PLACEHOLDER)
        else:
            parts.append(whole)
    return large, b"".join(parts)


def _add_field(parts: list[bytes | memoryview], number: int, content: bytes) -> None:
    parts.append(_varint(number << 3 | LENGTH) + _varint(len(content)))
    parts.append(content)


def _fields(content: memoryview) -> Iterator[tuple[int, memoryview, memoryview | None]]:
    """Number, whole text and, of those with a length, value of every field."""
    position = 0
    while position < len(content):
        key, start = _read_varint(content, position)
        wire = key & 7
        value = None
        if wire == LENGTH:
            length, start = _read_varint(content, start)
            end = start + length
            value = content[start:end]
        elif wire == VARINT:
            _, end = _read_varint(content, start)
        elif wire in (FIXED64, FIXED32):
            end = start + (8 if wire == FIXED64 else 4)
        else:
            raise _damaged(f"a field of wire type {wire}")
        if end > len(content):
            raise _damaged("a field ends behind the end")
        yield key >> 3, content[position:end], value
        position = end


def _read_varint(content: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(content) and shift < 64:
        byte = content[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
    raise _damaged("a number is cut off")


def _varint(value: int) -> bytes:
    """A number, seven bits a byte, the lowest first.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def _damaged(why: str) -> InvalidProtobuf:
    return InvalidProtobuf("this is no ONNX model, or a damaged one", where="protobuf", why=why)
