"""Figures of a simulated core: spaces, ways between them with their bytes a cycle, and the pipes that work beside each other.

All of them come from the target file, which says where each is from; nothing here is measured.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from tilewright.errors import UnsupportedOperation
from tilewright.machine.machine import Machine
from tilewright.records import record

MEMORY, L1, L0A, L0B, L0C, UB = "memory", "L1", "L0A", "L0B", "L0C", "UB"
SPACES = (L1, L0A, L0B, L0C, UB)
"""What generated code fills, byte for byte."""
LANES = 16
"""Rows, columns and steps of one cube instruction: M2, N2 and K2 of Chimera, Section V-B."""
FRACTAL = LANES * LANES
"""Elements of a 16 x 16 block of an operand or of the sums."""
OPERAND, SUMS = "float16", "float32"
"""Element types of products: the operands, and their sums."""


class Pipe(StrEnum):
    """What works beside the others, in the order in which data passes; the value is the name in the vendor's manuals."""

    LOAD = "MTE2"
    """Memory to L1 and to the unified buffer."""
    FEED = "MTE1"
    """L1 to L0A and L0B."""
    CUBE = "M"
    VECTOR = "V"
    """L0C to the unified buffer, and what the vector unit computes there."""
    STORE = "MTE3"
    """The unified buffer to memory and to L1."""


@record
class Way:
    """A way of DMA from one space to another."""

    source: str
    target: str
    pipe: Pipe
    bytes_per_cycle: float
    """Of one core."""

    @property
    def name(self) -> str:
        """As reports print it: memory>L1."""
        return way_name(self.source, self.target)


def way_name(source: str, target: str) -> str:
    """The name of the way between two spaces."""
    return f"{source}>{target}"


@record
class Figures:
    """A device of equal cores."""

    cores: int
    frequency_hz: float
    memory_bytes_per_s: float
    """Of all cores together."""
    sizes: tuple[tuple[str, int], ...]
    """(space, bytes) of one core."""
    ways: tuple[Way, ...]
    vector_bytes_per_cycle: float
    flag_cycles: float
    """What a computing instruction waits for the flag that its operands are there: an estimate."""
    launch_s: float
    """Of one kernel: an estimate."""

    def size(self, space: str) -> int:
        """The bytes of a space of one core."""
        return dict(self.sizes)[space]

    def way(self, source: str, target: str) -> Way:
        """The way between two spaces. Raises `UnsupportedOperation` where the device has none."""
        for way in self.ways:
            if (way.source, way.target) == (source, target):
                return way
        known = ", ".join(way.name for way in self.ways)
        raise UnsupportedOperation(f"no DMA goes from {source} to {target}", why=f"ways are {known}")


@lru_cache(maxsize=8)
def figures_of(machine: Machine) -> Figures:
    """The figures of a target. Raises `UnsupportedOperation` for one that is no such device, or whose cube is another one."""
    accelerator = machine.accelerator
    units = accelerator.units_for(OPERAND) if accelerator is not None else ()
    if accelerator is None or machine.device != "npu" or not units or units[0].tile != (LANES, LANES, LANES):
        raise UnsupportedOperation(
            f"{machine.name} cannot be simulated",
            why=f"the simulator has cubes of {LANES} x {LANES} x {LANES} {OPERAND} products, and buffers around them",
            hint="use the target ascend910, or one that is made of it",
        )
    memory = machine.levels[-1]
    return Figures(
        machine.cores,
        machine.frequency_hz,
        memory.bandwidth_bytes_per_s * memory.shared_by_cores,
        tuple((space, accelerator.space(space).size_bytes) for space in SPACES),
        tuple(_ways(dict(accelerator.limits))),
        accelerator.limit("vector_bytes_per_cycle"),
        accelerator.limit("flag_cycles"),
        accelerator.limit("launch_s"),
    )


def _ways(limits: dict[str, float]) -> list[Way]:
    """The ways of the device; the vector unit's operands come from memory at the rate of those of products."""
    loaded = limits["memory_to_l1_bytes_per_cycle"]
    return [
        Way(MEMORY, L1, Pipe.LOAD, loaded),
        Way(MEMORY, UB, Pipe.LOAD, loaded),
        Way(L1, L0A, Pipe.FEED, limits["l1_to_l0a_bytes_per_cycle"]),
        Way(L1, L0B, Pipe.FEED, limits["l1_to_l0b_bytes_per_cycle"]),
        Way(L0C, UB, Pipe.VECTOR, limits["l0c_to_ub_bytes_per_cycle"]),
        Way(UB, L1, Pipe.STORE, limits["ub_to_l1_bytes_per_cycle"]),
        Way(UB, MEMORY, Pipe.STORE, limits["ub_to_memory_bytes_per_cycle"]),
    ]
