"""Digests of micro kernels: of what they declare, and of the texts or objects that they give.

What is kept of plans and of generated code is kept apart by the digests of the kernels that are not the package's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from tilewright.graph.exactness import INTEGERS
from tilewright.kernel_source import KernelSource
from tilewright.kernels.contract import Along, Epilogue, MicroKernel
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.program import Value

NAME = "kernel"


@record
class _Nothing:
    def value(self, builder: Builder, total: Value, operands: Sequence[Value]) -> Value:
        """The sum itself."""
        return total


OPERANDS = tuple(Along(rows, columns, is_far=rows and columns) for rows in (True, False) for columns in (True, False))
EPILOGUES = (
    None,
    Epilogue("ending", values=_Nothing()),
    Epilogue("ending", OPERANDS, non_temporal=True, values=_Nothing()),
)
"""A kernel ends without an epilogue, with one without operands, and with operands that move in every way."""


def digest(kernel: MicroKernel) -> str:
    """Of the declaration of a kernel and of its sources: whole, with every kind of epilogue, and of one tile shape."""
    values = {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    declared = {name: value is not None if callable(value) else value for name, value in values.items()}
    found = hashlib.sha256(repr({**declared, "features": sorted(kernel.features)}).encode())
    for source in _sources(kernel):
        found.update(f"\0{source.kind.value}\0{source.joins}\0".encode() + source.octets)
    return found.hexdigest()


def _sources(kernel: MicroKernel) -> Iterator[KernelSource]:
    sums_integers = kernel.accumulator in INTEGERS
    for epilogue in (*EPILOGUES, *([replace(EPILOGUES[1], element_type="uint8")] if sums_integers and EPILOGUES[1] else [])):
        for prefetching in (False, True):
            yield kernel.source(NAME, None, epilogue, prefetching=prefetching)
            if kernel.emit_shape is not None:
                yield kernel.emit_shape(NAME, kernel.rows, kernel.columns, epilogue, prefetching)
    if kernel.emit_known is not None:
        yield kernel.emit_known(NAME, None, None, ((1.0,),))
