"""Coefficients of the price: meaning, unit and source of each.

Those in `machine.fit_files.FITTED` are fitted to measured kernels by `tilewright tune --fit`, for the CPU that it runs on
(`Machine.fitted`). A machine without a fit takes that of its family, `family_fits/<architecture>-<vector bits>.toml`, or of the
nearest family. All others are constants with their source.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from importlib import resources
from math import log
from typing import TypeAlias

from tilewright.errors import TilewrightError
from tilewright.graph.expressions.scalar import Apply, Scalar, State, is_of_row, subexpressions
from tilewright.machine.fit_files import FITTED
from tilewright.machine.machine import Machine
from tilewright.price_terms import TERMS
from tilewright.records import record
from tilewright.tile.functions.registry import DECLARED

SUFFIX = ".toml"

Coefficient: TypeAlias = float | tuple[tuple[str, float], ...]
"""A figure, or a figure for each name."""


@record
class Coefficients:
    """Every figure of the price that is not the machine's. Sources: measurements on servers (docs/kernels.md) and a Zen 3
    (docs/decisions/cost-model.md)."""

    arithmetic: float = 1.0
    """Time of micro kernels over their time at the declared share of the peak, edges included."""
    overlapped_traffic: float = 1.0
    """Share of the time of traffic that arithmetic has to hide: what is longer decides."""
    visible_l1_traffic: float = 0.05
    """Share of the time of traffic into L1 that arithmetic does not hide."""
    visible_traffic: float = 0.25
    """The same for the levels behind it."""
    tile_end_cycles: float = 24.0
    """Call of a micro kernel, start and end of its tile, beyond what full tiles at depth 64 show."""
    block_cycles: float = 150.0
    """Loop control and addresses of one run of an operator on one block."""
    pass_cycles_per_vector: float = 1.5
    """One load, one operation and one store of a vector in a map or row-wise reduction."""
    tile_transpose_cycles: float = 36.0
    """Transposing a tile of a map, of as many rows and columns as a vector has lanes or fewer (3000 x 4, 8, 16: 36, 27, 28)."""
    scattered_line_cycles: float = 25.0
    """A line that such a tile stores to, where the level that blocks are fused for does not hold the result: neighbours are on
    pages of their own, so that each shows a miss (1x1, 64 to 256 channels of 56 x 56: 0.81 ms, 0.61 by pointwise)."""
    strided_cycles_per_vector: float = 5.0
    """A vector of every other element of a row, beyond one of neighbours: windows by two took 5 to 7 cycles more a vector, of
    lines in L2 (27 rows of 112 x 112, Zen 3; 128 channels of 28 x 28, Xeon)."""
    scattered_point_cycles: float = 4.5
    """A point that a row-wise reduction stores, or collects, apart from its neighbours: a group norm that reads 320 channels of
    64 x 64 last and writes them first takes 2.2 ms, 0.35 in one order (Zen 4)."""
    row_cycles: float = 30.0
    """Of every state of a row-wise reduction, once a row: ends of loops, and lanes that become one value."""
    visible_later_passes: float = 0.9
    """Share of the time of traffic into L1 that a row-wise reduction shows in passes over rows that its first pass has read, and
    L1 has lost (softmax of 24 rows of 4096, as a whole and in blocks of 1536, Zen 5: 0.25 to 0.31 of 0.33 ms)."""
    function_cycles_per_vector: tuple[tuple[str, float], ...] = (
        *((name, function.cycles) for name, function in DECLARED.items()),
        ("sqrt", 8.0),
        ("divide", 5.0),
        *(("pow", 100.0), ("mod", 13.0), ("fmod", 13.0), ("floor_divide", 23.0)),
    )
    """Throughput cost of one vector; functions that are not listed cost `other_function_cycles`. Those from sin on were measured
    in vectors of 512 bits (Zen 4), operands in L1."""
    other_function_cycles: float = 0.5
    pack_cycles_per_vector: float = 2.0
    """Copying a vector that is contiguous in its source."""
    transpose_cycles_per_vector: float = 10.0
    """Gathering a vector of columns that are not contiguous in the source."""
    page_cycles: float = 9.0
    """A row of a right operand that begins on another page than the row before: a stream that no prefetcher foresees."""
    far_page_cycles: float = 9.0
    """The same of a right operand or a target that comes from memory (Zen 3: 20 to 30 for 37x8461x2557 in place and for
    2053x4093x31 by panels)."""
    lookup_cycles: float = 2.0
    """A page that the first-level TLB does not hold, beyond what other work hides of it."""
    stream_cycles: float = 300.0
    """A page of a left operand that comes from memory: a latency that shows (1024x16x500000, Zen 5: 106 ms, 62 of arithmetic)."""
    column_line_cycles: float = 47.0
    """A line of a left operand from behind the fusion level whose steps lie pages apart: tiles ask for one of every page, and no
    prefetcher follows so many (Zen 4, 256 to 1024 channels of 65 x 65 pixels, from L3: 43 to 52)."""
    run_cycles: float = 60.0
    """A piece of a row in memory, of a right operand that passes by once in blocks narrower than its rows: pieces of 0.5, 1, 2
    and 4 KiB at a stride of 16 KiB took 30, 40, 64 and 108 cycles more than whole rows (Zen 5)."""
    visible_stream: float = 0.8
    """Share of the traffic of panels packed ahead that shows where they are not prefetched: 0.6 to 2.9 with weights in L3
    (docs/kernels.md)."""
    call_s: float = 2e-6
    """From the user's call to the kernel."""
    spilling: float = 1.0
    """Share of the time of moving what does not fit the fusion level that counts."""
    combining: float = 1.0
    """Share of the time of merging the parts of split keys that counts."""
    prefetch_hides: float = 0.5
    """Share of the visible traffic of an operand that its prefetch hides: 0.3 to 0.7 on Zen 5, see docs/kernels.md."""
    prefetch_cycles_per_line: tuple[tuple[str, float], ...] = (("left", 0.5), ("right", 0.02), ("target", 0.2))
    """Cost of prefetching one cache line of A, B or C that is in L1 or L2 already (same source)."""
    cursor_cycles: float = 8.0
    """Advancing the cursors of a software prefetch: what a tile of 768 cycles took longer where nothing was gained (6x64,
    Zen 5)."""
    scalar_step_cycles: float = 2.0
    """Of one function at one point: a load, an operation and a store of one element, some of which the compiler
    takes together."""
    equal_within: float = 1.01
    """Prices within this factor are equal: measured on a Xeon, blocks of 24 to 224 rows differ by less than timing noise."""
    least_gain: float = 1.02
    """What another loop, or reading an operand in place, must gain: below it the price cannot tell them apart."""

    def __hash__(self) -> int:
        """Equal for equal coefficients: of a few that fits differ in, or that are switched off."""
        return hash((self.arithmetic, self.visible_traffic, self.pack_cycles_per_vector, self.tile_end_cycles))

    def without(self, term: str) -> Coefficients:
        """With one of `TERMS` switched off: it then costs nothing. Raises `TilewrightError` for other names.

        >>> Coefficients().without("packing").pack_cycles_per_vector
        0.0
        """
        if term not in TERMS:
            raise TilewrightError(f"the price has no term {term!r}", where="without", hint=f"choose from {', '.join(TERMS)}")
        return self._with({name: _nothing(getattr(self, name)) for name in TERMS[term]})

    def with_values(self, values: Mapping[str, float]) -> Coefficients:
        """With other values by name, functions as `exp_cycles`."""
        functions = tuple((name, values.get(f"{name}_cycles", cycles)) for name, cycles in self.function_cycles_per_vector)
        fitted = {name: value for name, value in values.items() if name in FIELDS}
        return self._with({"function_cycles_per_vector": functions, **fitted})

    def cycles_per_vector(self, roots: Iterable[Scalar], passes: int) -> float:
        """Of the distinct functions of some expressions and of so many passes over memory, in the lanes of an operator."""
        applied = {node for root in roots for node in subexpressions(root) if isinstance(node, Apply)}
        costs, default = dict(self.function_cycles_per_vector), self.other_function_cycles
        inside = [node for node in applied if not is_of_row(node)]
        functions = sum(default if _is_once_a_row(node) else costs.get(node.function, default) for node in inside)
        return functions + passes * self.pass_cycles_per_vector

    def _with(self, values: Mapping[str, Coefficient]) -> Coefficients:
        change: Callable[..., Coefficients] = replace
        return change(self, **values)


DEFAULT = Coefficients()

FIELDS = frozenset(field.name for field in fields(Coefficients))


@record
class Fit:
    """Fitted values of a CPU or of a family of machines, and how well they explain what was measured."""

    architecture: str
    vector_bits: int
    machine: str
    """That was measured."""
    date: str
    kernels: int
    """How many were measured."""
    median_error: float
    """Of predicted against measured seconds, relative."""
    error_95: float
    """95th percentile of the same."""
    regret: float
    """Geometric mean over the cases: seconds of the kernel predicted best over those of the fastest, minus 1."""
    values: Mapping[str, float]
    features: str = ""
    """Of the CPU that was measured, where the fit counts for CPUs that have all of them."""

    @property
    def coefficients(self) -> Coefficients:
        """The constants with the fitted values."""
        return Coefficients().with_values(self.values)


WITHOUT_CALLS = Coefficients(call_s=0.0)
"""Of machines that the price is not for: their plans come with one, which has every launch in it."""


def coefficients_for(machine: Machine) -> Coefficients:
    """Those fitted on the machine, else those of the nearest family: of its architecture if there is one, of the nearest width.

    >>> coefficients_for(Machine.named("zen5")).prefetch_hides
    0.5
    """
    if machine.accelerator is not None:
        return WITHOUT_CALLS
    family = family_coefficients(machine)
    return family.with_values(dict(machine.fitted)) if machine.fitted else family


def family_coefficients(machine: Machine) -> Coefficients:
    """Those of the nearest family, whatever was fitted on the machine."""
    return nearest(machine.architecture, machine.vector_bits, family_fits()).coefficients


def nearest(architecture: str, vector_bits: int, among: tuple[Fit, ...]) -> Fit:
    """The fit of the nearest family."""
    return min(
        among, key=lambda fit: (fit.architecture != architecture, abs(log(fit.vector_bits / vector_bits)), fit.vector_bits)
    )


@lru_cache(maxsize=1)
def family_fits() -> tuple[Fit, ...]:
    """The fits of families that the package has."""
    folder = resources.files("tilewright.machine").joinpath("family_fits")
    files = (file for file in folder.iterdir() if file.name.endswith(SUFFIX))
    return tuple(parse(file.name, file.read_text(encoding="utf-8")) for file in sorted(files, key=lambda file: file.name))


def parse(name: str, text: str) -> Fit:
    """The fit that the TOML `text` describes. Raises `TilewrightError` where a field or a coefficient is wrong."""
    document = tomllib.loads(text)
    tables: Mapping[str, Mapping[str, float]] = document.pop("coefficients", {})
    if unknown := sorted(set(tables) - set(FITTED)):
        raise TilewrightError("a fit has unknown coefficients", where=name, why=", ".join(unknown))
    values = {coefficient: float(table["value"]) for coefficient, table in tables.items()}
    if bad := [coefficient for coefficient, value in values.items() if not 0 <= value < float("inf")]:
        raise TilewrightError("coefficients are not negative", where=name, why=f"{', '.join(bad)} must be at least 0")
    try:
        return Fit(values=values, **document)
    except TypeError as problem:
        raise TilewrightError("a fit does not have the fields of coefficients.Fit", where=name, why=str(problem)) from problem


def to_text(fit: Fit) -> str:
    """The content of a fit's file; `parse` is its inverse."""
    lines = ["# Written by tilewright tune --fit; coefficients.py has the meaning of every figure.", ""]
    for field in fields(fit):
        if field.name != "values":
            value = getattr(fit, field.name)
            lines.append(f'{field.name} = "{value}"' if isinstance(value, str) else f"{field.name} = {value}")
    for coefficient, value in fit.values.items():
        lines += ["", f"[coefficients.{coefficient}]", f"value = {value}", f'unit = "{FITTED[coefficient]}"']
    return "\n".join([*lines, ""])


def _nothing(value: Coefficient) -> Coefficient:
    return tuple((name, 0.0) for name, _ in value) if isinstance(value, tuple) else 0.0


def _is_once_a_row(node: Apply) -> bool:
    """Whether it divides by a state: its reciprocal is taken once a row, and every point is multiplied by that."""
    return node.function == "divide" and isinstance(node.operands[1], State)
