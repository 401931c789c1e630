"""Convolution Slicing Analysis of a graph, for a person: tile sets and accesses of every convolution, in both orders.

A reading of the SConv paper (`plan.slicing`) that no plan depends on, for the two tiles that micro kernels have: pixels
along lanes (many windows, few filters) and filters along lanes (the reverse).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilewright.graph.types import Graph, planned_extent
from tilewright.kernels import registry
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms.definition import Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, convolution_of
from tilewright.plan.algorithms.product_roles import points
from tilewright.plan.slicing import ConvolutionSizes, Slicing, SlicingMachine, exact_slicing, halved_slicing
from tilewright.plan.slicing import Stationary as Order
from tilewright.report import units
from tilewright.report.layout import columns, section

HEAD = ["search", "stationary", "channels", "sets", "K2", "K3", "from L2", "from L3", "memory", "reloads", "cycles", ""]


def explain_slicing(graph: Graph, machine: Machine) -> str:
    """A table for every convolution: each tile and order, by the exact search and by halving; * marks the cheaper order.

    Accesses are lines; cycles of the exact search count reloads of outputs, those of halving do not. Raises `PlanningError` for
    machines with fewer than three caches.
    """
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    problems = (Problem(operator, tensors, frozenset(), machine) for operator in graph.operators)
    found = ((problem.operator.name, convolution_of(problem)) for problem in problems)
    lines = [line for name, form in found if form is not None for line in _table(name, _sizes(form), machine)]
    return "\n".join(lines) if lines else f"{graph.name} has no convolution"


def _sizes(form: SlidingProduct) -> ConvolutionSizes:
    """The sizes of a convolution in a graph; dynamic extents count as planned."""
    windows = prod(planned_extent(output.extent) for output in form.roles.outputs)
    return ConvolutionSizes(windows, points(form.roles.filters), points(form.summed_channels), points(form.taps))


def _table(name: str, sizes: ConvolutionSizes, machine: Machine) -> list[str]:
    windows, filters = units.exact(sizes.windows), units.exact(sizes.filters)
    title = f"{name} on {machine.name}: {windows} windows, {filters} filters, {sizes.channels} channels, {sizes.taps} taps"
    lines: list[str] = [title]
    for tile_windows, tile_filters in _tiles(machine):
        sliced = SlicingMachine.of(machine, tile_windows, tile_filters)
        rows = [HEAD, *_rows(sizes, sliced)]
        lines += section(f"{tile_windows} x {tile_filters}", columns(rows, right=range(2, len(HEAD) - 1)))
    return [*lines, ""]


def _tiles(machine: Machine) -> Iterator[tuple[int, int]]:
    """Windows and filters of the float32 micro kernel with the most products for each load, with either along lanes."""
    lanes = machine.lanes(4)
    kernel = max(registry.for_machine(machine), key=lambda one: one.rows * one.columns / (one.rows + one.columns / lanes))
    yield kernel.columns, kernel.rows
    yield kernel.rows, kernel.columns


def _rows(sizes: ConvolutionSizes, machine: SlicingMachine) -> Iterator[list[str]]:
    for search, slice_one in (("exact", exact_slicing), ("halving", halved_slicing)):
        found = [slice_one(sizes, machine, order) for order in Order]
        least = min(slicing.cost_cycles for slicing in found)
        yield from (_row(search, slicing, is_chosen=slicing.cost_cycles == least) for slicing in found)


def _row(search: str, slicing: Slicing, *, is_chosen: bool) -> list[str]:
    counts = (slicing.channels, slicing.channel_sets, slicing.streamed_in_l2, slicing.stationary_in_l3)
    accesses = (slicing.l2_accesses, slicing.l3_accesses, slicing.memory_accesses, sum(slicing.reloads))
    figures = [units.exact(number) for number in (*counts, *accesses, round(slicing.cost_cycles))]
    return [search, slicing.stationary.name.lower(), *figures, "*" if is_chosen else ""]
