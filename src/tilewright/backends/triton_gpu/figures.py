"""What of a GPU decides a plan: figures of its description, per core and clock.

Every figure comes from the target file, which says its source. What the price adds to them is in `price.py`.
"""

from __future__ import annotations

from tilewright.errors import UnsupportedOperation
from tilewright.machine.accelerator import Accelerator, ProductUnit, Scope
from tilewright.machine.machine import Machine
from tilewright.records import record

WARPGROUP = "wgmma"
"""The unit that four warps drive together, and that reads its operands from shared memory (PTX ISA manual)."""


@record
class Gpu:
    """The figures of a GPU. Rates are of one core (a streaming multiprocessor) and clock, in bytes, flops or functions."""

    cores: int
    hertz: float
    shared_of_core: int
    shared_of_block: int
    reserved_of_block: int
    registers_of_core: int
    registers_of_thread: int
    threads_of_core: int
    threads_of_block: int
    blocks_of_core: int
    l2_bytes: int
    l2_rate: float
    """Bytes from L2 into a core."""
    shared_rate: float
    """Bytes from shared memory into registers."""
    memory_rate: float
    """Bytes a second, of all cores."""
    functions_rate: float
    product_share: float
    trip_cycles: float
    load_cycles: float
    launch_s: float
    fill_s: float
    units: tuple[ProductUnit, ...]
    vector_rates: tuple[tuple[str, float], ...]
    """Flops, by element type, of what is no unit of products."""

    def unit(self, operands: str, *, of_warpgroups: bool) -> ProductUnit | None:
        """The unit that multiplies such operands, driven by groups of warps or by single ones; None where there is none."""
        found = (unit for unit in self.units if unit.operands == operands and (unit.name == WARPGROUP) == of_warpgroups)
        return max(found, key=lambda unit: unit.flops_per_cycle, default=None)

    def vector_rate(self, operands: str) -> float:
        """Flops of ordinary arithmetic on such operands; 0 where that has none. Numbers of 10 bits are computed as float32."""
        return dict(self.vector_rates).get("float32" if operands == "tf32" else operands, 0.0)


def gpu_of(machine: Machine) -> Gpu:
    """The figures of a machine. Raises `UnsupportedOperation` for machines without an accelerator."""
    accelerator = machine.accelerator
    if accelerator is None:
        why = "its description has neither units nor spaces"
        raise UnsupportedOperation(f"{machine.name} is no GPU", why=why, hint="use a target such as a100 or h100")
    shared, l2, memory = machine.levels[0], machine.levels[1], machine.levels[-1]
    limit = accelerator.limit
    return Gpu(
        cores=machine.cores,
        hertz=machine.frequency_hz,
        shared_of_core=accelerator.space("shared").size_bytes,
        shared_of_block=_of_block(accelerator),
        reserved_of_block=int(limit("reserved_bytes_of_block")),
        registers_of_core=int(limit("registers_of_core")),
        registers_of_thread=int(limit("registers_of_thread")),
        threads_of_core=int(limit("threads_of_core")),
        threads_of_block=int(limit("threads_of_block")),
        blocks_of_core=int(limit("blocks_of_core")),
        l2_bytes=l2.size_bytes if machine.levels[2:] else 0,
        l2_rate=l2.bandwidth_bytes_per_s / machine.frequency_hz,
        shared_rate=shared.bandwidth_bytes_per_s / machine.frequency_hz,
        memory_rate=memory.bandwidth_bytes_per_s * machine.cores,
        functions_rate=limit("functions_per_cycle"),
        product_share=limit("product_share"),
        trip_cycles=limit("trip_cycles"),
        load_cycles=limit("load_cycles"),
        launch_s=limit("launch_s"),
        fill_s=limit("fill_s"),
        units=accelerator.units,
        vector_rates=tuple((dtype, rate / machine.frequency_hz) for dtype, rate in machine.peak_flops_per_s),
    )


def _of_block(accelerator: Accelerator) -> int:
    """Shared memory of a block: that of the core where nothing says less."""
    blocks = [space.size_bytes for space in accelerator.spaces if (space.name, space.scope) == ("shared", Scope.BLOCK)]
    return min([accelerator.space("shared").size_bytes, *blocks])
