"""As much of oneDNN's C API (version 3) as matrix products and convolutions need. Its objects live as long as the process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from importlib import metadata
from typing import Any

from tilewright.errors import TilewrightError
from tilewright_bench.cases.case import FloatArray, aligned
from tilewright_bench.measurement import call_loops

PACKAGE, LIBRARY = "onednn-cpu-gomp", "libdnnl.so.3"
CPU, IN_ORDER, FLOAT32 = 1, 1, 3
"""`dnnl_cpu`, `dnnl_stream_in_order`, `dnnl_f32`."""
ANY_TAG, ROW_MAJOR_TAG = 1, 3
"""`dnnl_format_tag_any`, `dnnl_ab`; dense arrays of each dimension more have the next tag."""
INFERENCE, DIRECT = 96, 1
"""`dnnl_forward_inference`, `dnnl_convolution_direct`."""
WEIGHTS_QUERY = 131
"""`dnnl_query_weights_md`."""
SOURCE, DESTINATION, WEIGHTS = 1, 17, 33
"""`DNNL_ARG_SRC` (and `FROM`), `DNNL_ARG_DST` (and `TO`), `DNNL_ARG_WEIGHTS`."""
MAX_DIMS = 12


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


def matmul(library: ctypes.CDLL, a: FloatArray, b: FloatArray, c: FloatArray, *, prepacked: bool) -> call_loops.Loop:
    """c = a b by the matmul primitive; `prepacked`: with b in the order that the primitive asks for, else row-major.

    Raises `TilewrightError` where oneDNN refuses.
    """
    engine = _made(library.dnnl_engine_create, ctypes.c_int(CPU), ctypes.c_size_t(0))
    stream = _made(library.dnnl_stream_create, engine, ctypes.c_uint(IN_ORDER))
    plain = [_description(library, array.shape, ROW_MAJOR_TAG) for array in (a, b, c)]
    asked = _description(library, b.shape, ANY_TAG) if prepacked else plain[1]
    chosen = _made(library.dnnl_matmul_primitive_desc_create, engine, plain[0], asked, None, plain[2], None)
    weights, layout = b, plain[1]
    if prepacked:
        layout, weights = _reordered(library, engine, stream, chosen, plain[1], b)
    operands = {SOURCE: (plain[0], a), WEIGHTS: (layout, weights), DESTINATION: (plain[2], c)}
    run = _execution(library, chosen, stream, _arguments(library, engine, operands))
    return lambda count: (run(count), a, weights, c)[0]


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
    source, plain, target = (_description(library, x.shape, ROW_MAJOR_TAG + x.ndim - 2) for x in (image, filters, result))
    asked, extents = _description(library, filters.shape, ANY_TAG), [(ctypes.c_int64 * MAX_DIMS)(*each) for each in windows]
    kind = ctypes.c_int(INFERENCE), ctypes.c_int(DIRECT)
    create = library.dnnl_convolution_forward_primitive_desc_create
    chosen = _made(create, engine, *kind, source, asked, None, target, *extents, None)
    layout, weights = _reordered(library, engine, stream, chosen, plain, filters)
    operands = {SOURCE: (source, image), WEIGHTS: (layout, weights), DESTINATION: (target, result)}
    run = _execution(library, chosen, stream, _arguments(library, engine, operands))
    return lambda count: (run(count), image, weights, result)[0]


def _reordered(
    library: ctypes.CDLL, engine: Any, stream: Any, chosen: ctypes.c_void_p, plain: Any, array: FloatArray
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


def _arguments(library: ctypes.CDLL, engine: Any, operands: dict[int, tuple[Any, FloatArray]]) -> ctypes.Array[_Argument]:
    memories = [
        (number, _made(library.dnnl_memory_create, layout, engine, ctypes.c_void_p(array.ctypes.data)))
        for number, (layout, array) in operands.items()
    ]
    return (_Argument * len(memories))(*(_Argument(number, memory) for number, memory in memories))


def _description(library: ctypes.CDLL, shape: Sequence[int], tag: int) -> ctypes.c_void_p:
    extents = (ctypes.c_int64 * MAX_DIMS)(*shape)
    return _made(library.dnnl_memory_desc_create_with_tag, ctypes.c_int(len(shape)), extents, FLOAT32, tag)


def _made(create: Any, *arguments: Any) -> ctypes.c_void_p:
    """The object that a function of oneDNN writes to its first argument."""
    created = ctypes.c_void_p()
    if status := create(ctypes.byref(created), *arguments):
        raise TilewrightError(f"{create.__name__} of oneDNN failed", why=f"status {status}")
    return created
