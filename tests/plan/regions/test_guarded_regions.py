"""Required regions of consumers that read part of a result, or beside it: points of blocks against the walk, and never fewer than
none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.regions.test_required_regions import points, walked_points
from tilewright.graph.expressions.index import Index, axis, constant
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Chain, Graph, Guard, Operator, Tensor
from tilewright.plan.chains import make_chain
from tilewright.plan.model.memory.working_set import live_bytes
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.regions.required_regions import schedule_region_axes
from tilewright.plan.schedule import fused_schedule, planned_sizes
from tilewright.plan.space.executability import is_executable
from tilewright.plan.space.schedule_space import may_be_line_buffered


def reading(extent: int, rows: int, positions: Sequence[Index], taps: int = 1, other: int = 1) -> Chain:
    """`T[p] = X[p]`, and `Y[r] = sum of T[position of r, t]` with guards; both have another axis beside."""
    guards = [Guard((one, constant(extent - 1) - one), 0.0) for one in positions]
    reads = tuple(Access("T", (one, axis("o")), guard) for one, guard in zip(positions, guards, strict=True))
    body = Load(0) if len(reads) == 1 else apply("add", Load(0), Load(1))
    first = Operator(
        "T", "map", (Axis("p", extent), Axis("o", other)), (Access("X", (axis("p"), axis("o"))),), _write("T", "po"), Load(0)
    )
    axes = (Axis("r", rows), Axis("o", other), *([Axis("t", taps, AxisKind.REDUCTION)] if taps > 1 else []))
    second = Operator("Y", "map", axes, reads, _write("Y", "ro"), body, SUM if taps > 1 else None)
    tensors = (Tensor("X", (extent, other)), Tensor("T", (extent, other)), Tensor("Y", (rows, other)))
    graph = Graph("images", tensors, (first, second), ("X",), ("Y",))
    return make_chain(graph, graph.operators)


def _write(tensor: str, letters: str) -> Access:
    return Access(tensor, tuple(axis(letter) for letter in letters))


@pytest.mark.parametrize("tile", [1, 2, 3, 5, 20])
@pytest.mark.parametrize(
    ("extent", "rows", "offset"), [(4, 20, 0), (4, 20, -8), (4, 20, -19), (7, 12, 3), (5, 6, -2), (3, 9, -30)]
)
def test_blocks_outside_the_tensor_have_no_points(extent: int, rows: int, offset: int, tile: int) -> None:
    chain = reading(extent, rows, [axis("r") + offset])
    schedule = fused_schedule(chain, ("r",), {}, {"r": tile})
    assert schedule_region_axes(chain, schedule)
    assert points(chain, schedule, "T") == max(walked_points(chain, schedule, "T"), 1)


@given(
    extent=st.integers(1, 12),
    rows=st.integers(2, 14),
    tile=st.integers(1, 14),
    taps=st.integers(1, 3),
    steps=st.integers(1, 4),
    offsets=st.lists(st.integers(-20, 20), min_size=1, max_size=2),
    line_buffered=st.booleans(),
)
def test_points_are_never_fewer_than_those_of_the_walk(
    extent: int, rows: int, tile: int, taps: int, steps: int, offsets: list[int], line_buffered: bool
) -> None:
    window = axis("t") if taps > 1 else constant(0)
    chain = reading(extent, rows, [axis("r") * steps + window + offset for offset in offsets], taps)
    chosen = [tensor for group in may_be_line_buffered(chain, ("r",)) for tensor in group] if line_buffered else []
    schedule = fused_schedule(chain, ("r",), {}, {"r": tile}, line_buffered=chosen)
    if not schedule_region_axes(chain, schedule):
        return
    assert is_executable(chain, schedule)
    sizes, view = planned_sizes(chain), view_schedule(chain, schedule).of("T")
    counted, blocks = points(chain, schedule, "T"), -(-rows // tile)
    assert max(walked_points(chain, schedule, "T"), 1) <= counted <= blocks * extent
    assert all(1 <= size <= sizes[name] for name, size in {**view.tiles, **view.largest()}.items() if name in ("p", "r"))
    assert int(live_bytes(view_schedule(chain, schedule))) >= 1


@pytest.mark.parametrize("is_rolled", [False, True])
@pytest.mark.parametrize("offset", [0, -3])
@pytest.mark.parametrize(("high", "wide"), [(1, 1), (1, 4), (2, 1), (3, 4), (4, 6), (2, 6)])
def test_images_of_two_loops_are_counted_block_by_block(high: int, wide: int, offset: int, is_rolled: bool) -> None:
    """The positions that are read go up by a row with one loop, and by a column with the other."""
    place = axis("r") * 6 + axis("c") + offset
    extent = 24 + 2 * offset
    first = Operator("T", "map", (Axis("p", extent),), (_write("X", "p"),), _write("T", "p"), Load(0))
    read = Access("T", (place,), Guard((place, constant(extent - 1) - place), 0.0))
    second = Operator("Y", "map", (Axis("r", 4), Axis("c", 6)), (read,), _write("Y", "rc"), Load(0))
    tensors = (Tensor("X", (extent,)), Tensor("T", (extent,)), Tensor("Y", (4, 6)))
    chain = make_chain(Graph("joined", tensors, (first, second), ("X",), ("Y",)), (first, second))
    schedule = fused_schedule(chain, ("r", "c"), {}, {"r": high, "c": wide}, line_buffered=("T",) if is_rolled else ())
    assert schedule_region_axes(chain, schedule)
    counted, walked = points(chain, schedule, "T"), walked_points(chain, schedule, "T")
    assert counted == walked if offset == 0 and (not is_rolled or wide > 1) else counted >= walked
