"""The module of a model: a kernel of every region, the functions that they share, and its launches as data.

`LAUNCHES` has (kernel, programs, names of tensors in the order of its parameters, warps, stages) of every launch in order;
`BETWEEN` has (shape, element type) of every tensor that one launch leaves to another, by name. Both are literals of Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pprint import pformat

from tilewright.block.memory import Content
from tilewright.block.program import Region
from tilewright.block.statements import Leaf
from tilewright.graph.types import Tensor
from tilewright.records import record
from tilewright.render.triton.functions import definition
from tilewright.render.triton.kernel import render
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.scalars import Helper
from tilewright.render.triton.scopes import identifier

WARPS, STAGES = 4, 2
"""Where no binding says another number."""
MOST_ELEMENTS = 1 << 31
"""Of a tensor: addresses are numbers of 32 bits."""
LONGEST_NAME = 48
WIDTH = 120


@record
class Routine:
    """A region, and the tensors that it reads and writes."""

    region: Region
    tensors: tuple[Tensor, ...]


@record
class Launch:
    """One launch of a kernel."""

    kernel: str
    blocks: int
    arguments: tuple[str, ...]
    warps: int
    stages: int


@record
class Module:
    """The text of a module, with its launches."""

    text: str
    launches: tuple[Launch, ...]


def module(title: str, routines: Sequence[Routine], between: Iterable[Tensor]) -> Module:
    """The module of some regions. Raises `UnsupportedOperation` for what a kernel cannot say, with the place."""
    helpers: set[Helper] = set()
    texts, launches = [], []
    for number, routine in enumerate(routines):
        name = f"k{number}_{identifier(routine.region.name)[:LONGEST_NAME]}"
        _check(routine)
        arguments = tuple(tensor.name for tensor in routine.tensors)
        kernel = render(routine.region, name, arguments)
        helpers |= kernel.helpers
        texts.append(kernel.text)
        launches.append(Launch(name, kernel.blocks, arguments, *_resources(routine.region)))
    head = f"# {' '.join(title.split())}\n\nimport triton\nimport triton.language as tl"
    tensors = {tensor.name: (tensor.shape, tensor.dtype) for tensor in between}
    data = f"LAUNCHES = {_literal([_row(launch) for launch in launches])}\n\nBETWEEN = {_literal(tensors)}"
    parts = (head, *(definition(function, is_whole=is_whole) for function, is_whole in sorted(helpers)), *texts, data)
    return Module("\n\n\n".join(parts) + "\n", tuple(launches))


def _row(launch: Launch) -> tuple[str, int, tuple[str, ...], int, int]:
    return launch.kernel, launch.blocks, launch.arguments, launch.warps, launch.stages


def _literal(value: object) -> str:
    return pformat(value, width=WIDTH, compact=True)


def _check(routine: Routine) -> None:
    """Raise `UnsupportedOperation` for regions of which no kernel is made."""
    for tensor in routine.tensors:
        extents = [extent for extent in tensor.shape if isinstance(extent, int)]
        if len(extents) < len(tensor.shape):
            raise refused(f"the shape of {tensor.name}", "its kernels have literals for extents", routine.region.name)
        if prod(extents) >= MOST_ELEMENTS:
            raise refused(f"{prod(extents)} elements of {tensor.name}", "addresses have 32 bits", routine.region.name)
    parts = [buffer.name for buffer in routine.region.buffers if buffer.name.content is Content.PARTIAL]
    if parts or routine.region.constants:
        raise refused("a split reduction, or packed constants", "a chain is one kernel", routine.region.name)


def _resources(region: Region) -> tuple[int, int]:
    """Warps and stages, as bindings of leaves have them."""
    numbers: dict[str, float] = {}
    for node in region.nodes():
        if isinstance(node, Leaf):
            numbers = dict(node.leaf.numbers) | numbers
    found: Mapping[str, float] = {"warps": WARPS, "stages": STAGES} | numbers
    return int(found["warps"]), int(found["stages"])
