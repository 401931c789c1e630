"""Accelerators: what a core has in place of vectors.

Units that multiply tiles of matrices, spaces that generated code fills byte for byte, and limits of a core by name. A core is
what a device has many of: a streaming multiprocessor of a GPU, an AI core of an NPU. `targets.py` reads them from target files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import pairwise

from tilewright.machine.sources import Source
from tilewright.records import record

OPERANDS = ("float16", "bfloat16", "tf32", "float32", "float64", "int8", "uint8")
"""Element types of operands; "tf32" are float32 numbers of which a unit reads 10 bits behind the point."""
ACCUMULATORS = ("float16", "float32", "float64", "int32")


class Scope(StrEnum):
    """Who has a space: a core, or one of the blocks of work that are on a core together."""

    CORE = "core"
    BLOCK = "block"


@record
class ProductUnit:
    """A unit of a core that multiplies tiles of matrices, for operands of one element type."""

    name: str
    """Of the instruction: mma.sync, wgmma, cube."""
    operands: str
    """The element type of both operands: one of `OPERANDS`."""
    accumulator: str
    """The element type of the sums: one of `ACCUMULATORS`."""
    tile: tuple[int, int, int]
    """Rows, columns and depth of one instruction; of those of several widths the narrowest."""
    flops_per_cycle: float
    """Of one core, dense. A multiply-add counts as two."""
    most_columns: int
    """Of the widest instruction: a multiple of the columns of `tile`."""
    source: Source = Source.DATASHEET
    """Of the rate."""


@record
class Space:
    """Memory of a core that generated code fills: a plan may use every byte of it, and nothing displaces what lies there."""

    name: str
    size_bytes: int
    scope: Scope
    """A block may have less than its core has."""
    holds: str
    """What lies there, for people."""
    source: Source = Source.DATASHEET
    """Of the size."""


@record
class Accelerator:
    """The units, spaces and limits of one core of a device, and of its launches."""

    units: tuple[ProductUnit, ...]
    spaces: tuple[Space, ...]
    limits: tuple[tuple[str, float], ...]
    """(name, figure) as `LIMITS` has them for a device."""
    estimates: tuple[str, ...] = ()
    """The names of those limits that are estimates."""

    def units_for(self, operands: str) -> tuple[ProductUnit, ...]:
        """The units that multiply such operands, the fastest first; none where only ordinary arithmetic does.

        >>> from tilewright.machine import Machine
        >>> [unit.name for unit in Machine.named("h100").accelerator.units_for("float16")]
        ['wgmma', 'mma.sync']
        """
        found = (unit for unit in self.units if unit.operands == operands)
        return tuple(sorted(found, key=lambda unit: -unit.flops_per_cycle))

    def space(self, name: str, scope: Scope = Scope.CORE) -> Space:
        """The space of that name. Raises `KeyError` where there is none.

        >>> from tilewright.machine import Machine
        >>> [Machine.named("a100").accelerator.space("shared", scope).size_bytes >> 10 for scope in Scope]
        [164, 163]
        """
        return {(space.name, space.scope): space for space in self.spaces}[name, scope]

    def limit(self, name: str) -> float:
        """The limit of that name. Raises `KeyError` where there is none.

        >>> from tilewright.machine import Machine
        >>> Machine.named("a100").accelerator.limit("threads_of_core")
        2048.0
        """
        return dict(self.limits)[name]

    def source_of(self, limit: str) -> Source:
        """Where a limit comes from."""
        return Source.ESTIMATE if limit in self.estimates else Source.DATASHEET


LIMITS: Mapping[str, Mapping[str, str]] = {
    "gpu": {
        "threads_of_warp": "threads that execute one instruction",
        "threads_of_block": "most threads of a block",
        "threads_of_core": "most threads on a core",
        "blocks_of_core": "most blocks on a core",
        "registers_of_core": "registers of 32 bits",
        "registers_of_thread": "most registers of 32 bits of a thread",
        "reserved_bytes_of_block": "shared memory of a block that is the system's",
        "functions_per_cycle": "exp2, reciprocals and the like of a core",
        "product_share": "share of the rate of a unit that generated loops attain",
        "trip_cycles": "a trip of a loop that nothing hides: barrier, operands into registers, first product to last",
        "load_cycles": "from a load of memory to its element in shared memory",
        "launch_s": "from one kernel to the next of a stream",
        "fill_s": "first loads of a kernel to its first product, and its last stores",
    },
    "npu": {
        "memory_to_l1_bytes_per_cycle": "of one core, where others do not use up what memory delivers",
        "l1_to_l0a_bytes_per_cycle": "left operands",
        "l1_to_l0b_bytes_per_cycle": "right operands",
        "l0c_to_ub_bytes_per_cycle": "sums",
        "ub_to_l1_bytes_per_cycle": "intermediates",
        "ub_to_memory_bytes_per_cycle": "results",
        "vector_bytes_per_cycle": "operands of the vector unit",
        "flag_cycles": "one pipe waiting for another",
        "launch_s": "of a kernel",
    },
}
"""By device: the limits that a target file must have, each with its meaning."""

ASCENDING = (
    ("threads_of_warp", "threads_of_block", "threads_of_core"),
    ("registers_of_thread", "registers_of_core"),
)
"""Limits of which each is at most the next."""
SHARES = ("product_share",)
"""Limits that are at most 1."""


def contradictions(accelerator: Accelerator, software_bytes: Mapping[str, int]) -> Iterator[str]:
    """What cannot be true of an accelerator, in words; `software_bytes` are the sizes of levels that software fills."""
    units = [f"{unit.name} of {unit.operands}" for unit in accelerator.units]
    yield from (f"units has {unit} twice" for unit in dict.fromkeys(units) if units.count(unit) > 1)
    spaces = [f"{space.name} of a {space.scope}" for space in accelerator.spaces]
    yield from (f"spaces has {space} twice" for space in dict.fromkeys(spaces) if spaces.count(space) > 1)
    yield from _wrong_columns(accelerator.units)
    yield from _wrong_sizes(accelerator.spaces, software_bytes)
    yield from _wrong_limits(dict(accelerator.limits))


def _wrong_columns(units: tuple[ProductUnit, ...]) -> Iterator[str]:
    for unit in units:
        if unit.most_columns % unit.tile[1]:
            yield f"units.most_columns is {unit.most_columns}, no multiple of the {unit.tile[1]} columns of {unit.name}"


def _wrong_sizes(spaces: tuple[Space, ...], software_bytes: Mapping[str, int]) -> Iterator[str]:
    whole = {space.name: space.size_bytes for space in spaces if space.scope is Scope.CORE}
    for space in spaces:
        if space.scope is Scope.BLOCK and space.size_bytes > whole.get(space.name, 0):
            yield f"a block has {space.size_bytes} bytes of {space.name}, a core {whole.get(space.name, 0)}"
    for name, size_bytes in software_bytes.items():
        if whole.get(name, size_bytes) != size_bytes:
            yield f"the level {name} has {size_bytes} bytes, the space {whole[name]}"


def _wrong_limits(limits: Mapping[str, float]) -> Iterator[str]:
    for names in ASCENDING:
        for less, more in pairwise(names):
            if less in limits and more in limits and limits[less] > limits[more]:
                yield f"{less} is {limits[less]:g}, and {more} is {limits[more]:g}"
    yield from (f"{name} is {limits[name]:g}, and no share is above 1" for name in SHARES if limits.get(name, 0) > 1)
