"""As much of oneDNN's C API (version 3) as matrix products and convolutions need. Its objects live as long as the process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from importlib import metadata
from typing import Any

import numpy as np

from tilewright.errors import TilewrightError
from tilewright_bench.cases.case import FloatArray, aligned
from tilewright_bench.measurement import call_loops

PACKAGE, LIBRARY = "onednn-cpu-gomp", "libdnnl.so.3"
HINT = "pip install onednn-cpu-gomp (wheels for x86-64; it needs the libgomp.so.1 of the system)"
CPU, IN_ORDER = 1, 1
"""`dnnl_cpu`, `dnnl_stream_in_order`."""
TYPES = {"float32": 3, "int32": 4, "int8": 5, "uint8": 6}
"""`dnnl_f32`, `dnnl_s32`, `dnnl_s8`, `dnnl_u8`."""
ANY_TAG, DENSE_TAG = 1, 1
"""`dnnl_format_tag_any`, and what the number of dimensions is added to for a dense array: `dnnl_a` is 2, `dnnl_ab` 3."""
INFERENCE, DIRECT = 96, 1
"""`dnnl_forward_inference`, `dnnl_convolution_direct`."""
WEIGHTS_QUERY = 131
"""`dnnl_query_weights_md`."""
SOURCE, DESTINATION, WEIGHTS = 1, 17, 33
"""`DNNL_ARG_SRC` (and `FROM`), `DNNL_ARG_DST` (and `TO`), `DNNL_ARG_WEIGHTS`."""
ZERO_POINTS = 8192
"""`DNNL_ARG_ATTR_ZERO_POINTS`, which is added to the number of an operand."""
MAX_DIMS = 12

Array = np.ndarray[Any, np.dtype[Any]]


class _Argument(ctypes.Structure):
    """`dnnl_exec_arg_t`."""

    _fields_ = (("number", ctypes.c_int), ("memory", ctypes.c_void_p))


@lru_cache(maxsize=1)
def load() -> ctypes.CDLL:
    """The library of the wheel. Raises `OSError` if it, or the OpenMP that it needs, cannot be loaded."""
    files = [file for file in metadata.files(PACKAGE) or () if file.name == LIBRARY]
    library = ctypes.CDLL(str(files[0].locate()) if files else LIBRARY)
    library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
    library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
    return library


def matmul(library: ctypes.CDLL, a: Array, b: Array, c: Array, *, prepacked: bool, zero: int = 0) -> call_loops.Loop:
    """c = (a - zero) b by the matmul primitive; `prepacked`: with b in the order that the primitive asks for, else row-major.

    The arrays are of float32, or of bytes and of 32-bit integers. Raises `TilewrightError` where oneDNN refuses.
    """
    engine = _made(library.dnnl_engine_create, ctypes.c_int(CPU), ctypes.c_size_t(0))
    stream = _made(library.dnnl_stream_create, engine, ctypes.c_uint(IN_ORDER))
    plain = [_dense(library, array) for array in (a, b, c)]
    asked = _description(library, b, ANY_TAG) if prepacked else plain[1]
    attributes = _zero_point_of(library, SOURCE) if zero else None
    chosen = _made(library.dnnl_matmul_primitive_desc_create, engine, plain[0], asked, None, plain[2], attributes)
    weights, layout = b, plain[1]
    if prepacked:
        layout, weights = _reordered(library, engine, stream, chosen, plain[1], b)
    operands = {SOURCE: (plain[0], a), WEIGHTS: (layout, weights), DESTINATION: (plain[2], c)}
    if zero:
        number = np.array([zero], np.int32)
        operands[ZERO_POINTS + SOURCE] = _dense(library, number), number
    run = _execution(library, chosen, stream, _arguments(library, engine, operands))
    return lambda count: (run(count), operands)[0]


def convolution(
    library: ctypes.CDLL,
    image: FloatArray,
    filters: FloatArray,
    result: FloatArray,
    windows: Sequence[Sequence[int]],
) -> call_loops.Loop:
    """The direct convolution of dense arrays, [batch, channels, *points], with filters in the order that the primitive asks for.

    `filters` are [filters, channels, *taps], or [groups, filters, channels, *taps]; `windows` are the strides, the dilations less
    one, and the padding before and behind, each by dimension. Raises `TilewrightError` where oneDNN refuses.
    """
    engine = _made(library.dnnl_engine_create, ctypes.c_int(CPU), ctypes.c_size_t(0))
    stream = _made(library.dnnl_stream_create, engine, ctypes.c_uint(IN_ORDER))
    source, plain, target = (_dense(library, array) for array in (image, filters, result))
    asked, extents = _description(library, filters, ANY_TAG), [(ctypes.c_int64 * MAX_DIMS)(*each) for each in windows]
    kind = ctypes.c_int(INFERENCE), ctypes.c_int(DIRECT)
    create = library.dnnl_convolution_forward_primitive_desc_create
    chosen = _made(create, engine, *kind, source, asked, None, target, *extents, None)
    layout, weights = _reordered(library, engine, stream, chosen, plain, filters)
    operands = {SOURCE: (source, image), WEIGHTS: (layout, weights), DESTINATION: (target, result)}
    run = _execution(library, chosen, stream, _arguments(library, engine, operands))
    return lambda count: (run(count), image, weights, result)[0]


def _reordered(
    library: ctypes.CDLL, engine: Any, stream: Any, chosen: ctypes.c_void_p, plain: Any, array: Array
) -> tuple[ctypes.c_void_p, FloatArray]:
    """The layout that a primitive asks for its weights, and the weights in it."""
    layout = ctypes.c_void_p(library.dnnl_primitive_desc_query_md(chosen, WEIGHTS_QUERY, 0))
    weights = aligned((library.dnnl_memory_desc_get_size(layout) // 4 + 1,))
    reorder = _made(library.dnnl_reorder_primitive_desc_create, plain, engine, layout, engine, None)
    arguments = _arguments(library, engine, {SOURCE: (plain, array), DESTINATION: (layout, weights)})
    _execution(library, reorder, stream, arguments)(1)
    return layout, weights


def _execution(library: ctypes.CDLL, description: ctypes.c_void_p, stream: Any, arguments: Any) -> call_loops.Loop:
    primitive = _made(library.dnnl_primitive_create, description)
    execute = ctypes.cast(library.dnnl_primitive_execute, ctypes.c_void_p)
    return call_loops.call("loop_dnnl_execute", execute, primitive, stream, ctypes.c_long(len(arguments)), arguments)


def _arguments(library: ctypes.CDLL, engine: Any, operands: dict[int, tuple[Any, Array]]) -> ctypes.Array[_Argument]:
    memories = [
        (number, _made(library.dnnl_memory_create, layout, engine, ctypes.c_void_p(array.ctypes.data)))
        for number, (layout, array) in operands.items()
    ]
    return (_Argument * len(memories))(*(_Argument(number, memory) for number, memory in memories))


def _zero_point_of(library: ctypes.CDLL, operand: int) -> ctypes.c_void_p:
    """Attributes of a primitive one of whose operands has a zero point, the same for all elements, which executions give."""
    attributes = _made(library.dnnl_primitive_attr_create)
    if status := library.dnnl_primitive_attr_set_zero_points_mask(attributes, ctypes.c_int(operand), ctypes.c_int(0)):
        raise TilewrightError("dnnl_primitive_attr_set_zero_points_mask of oneDNN failed", why=f"status {status}")
    return attributes


def _dense(library: ctypes.CDLL, array: Array) -> ctypes.c_void_p:
    return _description(library, array, DENSE_TAG + array.ndim)


def _description(library: ctypes.CDLL, array: Array, tag: int) -> ctypes.c_void_p:
    extents = (ctypes.c_int64 * MAX_DIMS)(*array.shape)
    kind = ctypes.c_int(TYPES[array.dtype.name])
    return _made(library.dnnl_memory_desc_create_with_tag, ctypes.c_int(array.ndim), extents, kind, ctypes.c_int(tag))


def _made(create: Any, *arguments: Any) -> ctypes.c_void_p:
    """The object that a function of oneDNN writes to its first argument."""
    created = ctypes.c_void_p()
    if status := create(ctypes.byref(created), *arguments):
        raise TilewrightError(f"{create.__name__} of oneDNN failed", why=f"status {status}")
    return created
