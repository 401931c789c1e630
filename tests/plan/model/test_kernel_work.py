"""Work of micro kernels: what operands cost that begin anywhere in a cache line."""

from __future__ import annotations

from tilewright.graph.index import axis
from tilewright.graph.types import Access
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan.model.kernel_work import crossing_share


def test_vectors_cross_lines_where_windows_overlap_and_where_heads_lie_side_by_side_they_do_not() -> None:
    machine, kernel = Machine.named("x86-64-v4"), registry.for_machine(Machine.named("x86-64-v4"))[0]
    sizes = {"n": 24, "h": 4, "k": 3}
    heads, window = Access("x", (axis("h") * 24 + axis("n"),)), Access("x", (axis("n") + axis("k"),))
    assert crossing_share(heads, "n", kernel, machine, sizes) == 0
    assert crossing_share(window, "n", kernel, machine, sizes) == kernel.vector_bits / 512
    assert crossing_share(window, None, kernel, machine, sizes) == 0
