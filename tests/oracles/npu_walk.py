"""The instructions of a chain on an NPU, written down loop by loop: bytes by tensor and way, `mad` calls, cube instructions.

It walks over every block with ordinary loops, and knows neither schedules nor block programs nor formulas. DMA reads boxes: of
memory and of rows in the unified buffer the elements that there are, of L1, L0A, L0B and L0C whole blocks of 16 x 16.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

SHORT, LONG = 2, 4


@dataclass(frozen=True)
class Vector:
    """A vector operator: how often it passes over its points, and what it loads, by tensor, size of an element and axes."""

    passes: int
    loads: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True)
class Problem:
    """E[o, m, n] = f(A[o, m, k] B[o, k, l]) D[o, l, n], or the first product alone where `n` is 0.

    `middle` are the vector operators behind the first product (of rows, if `has_rows`), `end` those behind the last one: behind a
    single product all are `end`. Without any, sums that become float16 pass the vector unit once.
    """

    o: int
    m: int
    k: int
    l: int  # noqa: E741 the paper's name
    n: int = 0
    middle: tuple[Vector, ...] = ()
    end: tuple[Vector, ...] = ()
    has_rows: bool = False
    result_bytes: int = SHORT


@dataclass
class Walked:
    """What was done."""

    moved: Counter[tuple[str, str]] = field(default_factory=Counter)
    cubes: int = 0
    products: int = 0
    vectors: int = 0
    vector_bytes: int = 0

    def move(self, tensor: str, way: str, size_bytes: int) -> None:
        self.moved[tensor, way] += size_bytes


def pieces(start: int, stop: int, step: int) -> Iterator[tuple[int, int]]:
    while start < stop:
        yield start, min(start + step, stop)
        start += step


def sixteens(start: int, stop: int) -> int:
    return sum(1 for _ in pieces(start, stop, 16))


class Walker:
    """One walk over a problem."""

    def __init__(self, problem: Problem, order: str, tiles: dict[str, int]) -> None:
        self.p, self.order, self.t, self.found = problem, order, tiles, Walked()

    def walk(self) -> Walked:
        p, t = self.p, self.t
        for _ in range(p.o):
            for m in pieces(0, p.m, t["rows"]):
                if self.order == "TILE":
                    for l in pieces(0, p.l, t["columns"]):  # noqa: E741
                        self.product("ABC", m, l, (0, p.k), t["depth"], loads_left=True)
                        self.drain("C", m, l, p.end, p.result_bytes, "C")
                elif self.order == "STREAM":
                    for n in pieces(0, p.n, t["second"]):
                        self.stream(m, n)
                else:
                    self.rows(m)
        return self.found

    def stream(self, m: tuple[int, int], n: tuple[int, int]) -> None:
        p, t = self.p, self.t
        self.keep(m)
        for l in pieces(0, p.l, t["columns"]):  # noqa: E741
            self.product("ABC", m, l, (0, p.k), t["depth"], loads_left=not t["keeps_left"])
            self.drain("C", m, l, p.middle, SHORT, "")
            self.found.move("C", "UB>L1", (m[1] - m[0]) * (l[1] - l[0]) * SHORT)
            self.product("CDE", m, n, l, t["second_depth"], loads_left=False)
        self.drain("E", m, n, p.end, p.result_bytes, "E")

    def rows(self, m: tuple[int, int]) -> None:
        p, t = self.p, self.t
        self.keep(m)
        for l in pieces(0, p.l, t["columns"]):  # noqa: E741
            self.product("ABC", m, l, (0, p.k), t["depth"], loads_left=not t["keeps_left"])
            self.sums("C", m, l)
            if p.n and not p.has_rows:
                self.vector(m, l, p.middle, converts=True)
                self.found.move("C", "UB>L1", (m[1] - m[0]) * (l[1] - l[0]) * SHORT)
        whole = (0, p.l)
        if not p.n:
            self.vector(m, whole, p.end, converts=False)
            self.found.move("C", "UB>memory", (m[1] - m[0]) * p.l * p.result_bytes)
            return
        if p.has_rows:
            self.vector(m, whole, p.middle, converts=True)
            self.found.move("C", "UB>L1", (m[1] - m[0]) * p.l * SHORT)
        for n in pieces(0, p.n, t["second"]):
            self.product("CDE", m, n, whole, t["second_depth"], loads_left=False)
            self.drain("E", m, n, p.end, p.result_bytes, "E")

    def keep(self, m: tuple[int, int]) -> None:
        if self.t["keeps_left"]:
            self.found.move("A", "memory>L1", (m[1] - m[0]) * self.p.k * SHORT)

    def product(
        self, names: str, m: tuple[int, int], n: tuple[int, int], k: tuple[int, int], step: int, *, loads_left: bool
    ) -> None:
        left, right, _ = names
        for begin, end in pieces(*k, step):
            if loads_left:
                self.found.move(left, "memory>L1", (m[1] - m[0]) * (end - begin) * SHORT)
            self.found.move(right, "memory>L1", (n[1] - n[0]) * (end - begin) * SHORT)
            self.found.products += 1
            for _ in range(sixteens(*m)):
                for _ in range(sixteens(begin, end)):
                    self.found.move(left, "L1>L0A", 256 * SHORT)
                    self.found.cubes += sixteens(*n)
            for _ in range(sixteens(*n)):
                self.found.move(right, "L1>L0B", 256 * SHORT * sixteens(begin, end))

    def sums(self, name: str, m: tuple[int, int], n: tuple[int, int]) -> None:
        for _ in range(sixteens(*m)):
            for _ in range(sixteens(*n)):
                self.found.move(name, "L0C>UB", 256 * LONG)

    def drain(
        self, name: str, m: tuple[int, int], n: tuple[int, int], vectors: tuple[Vector, ...], size: int, stored: str
    ) -> None:
        self.sums(name, m, n)
        self.vector(m, n, vectors, converts=size == SHORT)
        if stored:
            self.found.move(stored, "UB>memory", (m[1] - m[0]) * (n[1] - n[0]) * size)

    def vector(self, m: tuple[int, int], n: tuple[int, int], vectors: tuple[Vector, ...], *, converts: bool) -> None:
        rows, columns = m[1] - m[0], n[1] - n[0]
        for vector in vectors or ((Vector(1),) if converts else ()):
            for tensor, size, axes in vector.loads:
                self.found.move(tensor, "memory>UB", (rows if "m" in axes else 1) * (columns if "c" in axes else 1) * size)
            self.found.vectors += 1
            self.found.vector_bytes += rows * columns * vector.passes * LONG


def walked(problem: Problem, order: str, tiles: dict[str, int]) -> Walked:
    """The instructions of a problem in an order of blocks."""
    return Walker(problem, order, tiles).walk()
