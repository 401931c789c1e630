"""Chains for the simulated NPU: GEMM chains with what stands between and behind the products, and what a literal walk takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tests.oracles.npu_walk import Problem, Vector, Walked, walked
from tilewright.backends.npu_simulator.counts import Work, moved_by_way
from tilewright.backends.npu_simulator.figures import SPACES, Figures, figures_of
from tilewright.backends.npu_simulator.lowering import lower, tiles_of
from tilewright.backends.npu_simulator.planner import made_plan, orders_of, plan_chain
from tilewright.backends.npu_simulator.shape import shape_of
from tilewright.backends.npu_simulator.simulator import Counts, simulate
from tilewright.backends.npu_simulator.tiles import Extents, Order, Tiles, filled
from tilewright.block.interpreter import run
from tilewright.block.memory import Buffer, BufferName, Lifetime
from tilewright.block.program import Region
from tilewright.block.verifier import verify
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Graph, Operator, Tensor
from tilewright.lower.storage import Stored, dense_strides
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.types import Plan

SIDES = (1, 2, 7, 15, 16, 17, 31, 32, 33, 47, 48, 61, 64, 65, 97, 100, 128, 130)
TOLERANCE = 1e-3
"""Relative Frobenius error of float16 against float64 of the same inputs."""
MIDDLES = ("", "relu", "bias", "gelu", "softmax")


@dataclass(frozen=True)
class Case:
    """A chain: extents (o: positions around the matrices, 0 for none; n: 0 for one product), and functions between and behind."""

    o: int
    m: int
    k: int
    l: int  # noqa: E741 the paper's name
    n: int = 0
    middle: str = ""
    end: str = ""
    result: str = "float16"


def random_case(seed: int) -> Case:
    """A case of any kind."""
    random = np.random.default_rng(seed)
    m, k, l, n = (int(random.choice(SIDES)) for _ in range(4))  # noqa: E741
    is_chain = random.random() < 0.8
    middle = str(random.choice(MIDDLES))
    end = "" if middle == "softmax" else str(random.choice(MIDDLES[:4]))
    result = str(random.choice(["float16", "float32"]))
    case = Case(int(random.choice([0, 0, 1, 2])), m, k, l, n if is_chain else 0, middle, end, result)
    return case if is_chain else replace(case, middle="", end=middle)


def chain_of(case: Case) -> Chain:
    """The chain: float16 operands, float32 sums."""
    builder, around = Builder("chain"), (case.o,) if case.o else ()
    found = builder.matmul(
        builder.input("A", (*around, case.m, case.k), "float16"), builder.input("B", (*around, case.k, case.l), "float16")
    )
    found = _with(builder, found, case.middle, "float16", case.l) if case.n else found
    if case.n:
        found = builder.matmul(found, builder.input("D", (*around, case.l, case.n), "float16"))
    found = _with(builder, found, case.end, case.result, case.n or case.l)
    graph = builder.graph([found.name])
    operators = tuple(replace(operator, accumulator="float32") for operator in graph.operators)
    tensors = tuple(replace(one, dtype=case.result) if one.name == found.name else one for one in graph.tensors)
    return make_chain(Graph("chain", tensors, operators, graph.inputs, graph.outputs), operators)


def _with(builder: Builder, x: Tensor, function: str, dtype: str, columns: int) -> Tensor:
    match function:
        case "relu":
            return builder.map("maximum", x, 0.0)
        case "bias":
            return builder.map("add", builder.map("add", x, builder.input(f"bias_{columns}_{x.name}", (columns,), "float16")), x)
        case "gelu":
            return builder.map("multiply", builder.map("tanh", x), x)
        case "softmax":
            return builder.softmax(x, -1)
    return x


def problem_of(case: Case, chain: Chain) -> Problem:
    """What the literal walk takes."""
    products = [number for number, operator in enumerate(chain.operators) if operator.is_contraction()]
    first = _vectors(chain, chain.operators[1 : products[1] if case.n else None])
    end = _vectors(chain, chain.operators[products[1] + 1 :]) if case.n else first
    middle = first if case.n else ()
    has_rows = "softmax" in (case.middle, case.end)
    size = 2 if case.result == "float16" else 4
    return Problem(max(case.o, 1), case.m, case.k, case.l, case.n, middle, end, has_rows, size)


def _vectors(chain: Chain, operators: tuple[Operator, ...]) -> tuple[Vector, ...]:
    """The operators, each with what no operator before it has loaded."""
    found, known = list[Vector](), set[str]()
    for operator in operators:
        loads = dict.fromkeys(access.tensor for access in operator.reads if access.tensor in chain.inputs)
        states = len(operator.reduction.states) if operator.reduction is not None else 0
        new = tuple((name, chain.tensor(name).element_bytes, "c") for name in loads if name not in known)
        known |= set(loads)
        found.append(Vector(max(1, len(operator.functions()) + states), new))
    return tuple(found)


def walk_of(case: Case, chain: Chain, tiles: Tiles) -> Walked:
    """The literal walk of tiles."""
    sizes = {name: int(value) for name, value in tiles.numbers()}
    return walked(problem_of(case, chain), Order(tiles.order).name, sizes)


def random_tiles(chain: Chain, seed: int) -> Tiles:
    """Tiles of any size, few of which fit."""
    random = np.random.default_rng(seed)
    shape = shape_of(chain)
    order = orders_of(shape)[int(random.integers(len(orders_of(shape))))]
    product = shape.first.product
    assert product is not None
    extents = {axis: int(extent) for axis, extent in chain.extents.items() if isinstance(extent, int)} | {"": 1}

    def side(axis: str | None, most: int = 256) -> int:
        whole = int(filled(extents[axis or ""]))
        return min(whole, 16 * int(random.integers(1, most // 16 + 1)))

    second = side(shape.last.column) if len(shape.stages) == 2 else 16
    if shape.last.has_rows and len(shape.stages) == 2:
        second = int(filled(extents[shape.last.column or ""]))
    columns = side(shape.first.column)
    depth = min(side(shape.first.column, 128), columns) if len(shape.stages) == 2 else 16
    kept, middle, outer = (int(value) for value in random.integers(0, 2, 3))
    is_tile = order is Order.TILE
    return Tiles(
        order,
        side(shape.first.row),
        columns,
        side(product.roles.depth, 128),
        second,
        depth,
        0 if is_tile else kept,
        middle=1 if is_tile else middle + 1,
        outer=outer + 1,
    )


def npu(**sizes: int) -> Machine:
    """The target, with spaces of other sizes where these are given."""
    machine = Machine.named("ascend910")
    assert machine.accelerator is not None
    spaces = tuple(replace(space, size_bytes=sizes.get(space.name, space.size_bytes)) for space in machine.accelerator.spaces)
    return replace(machine, accelerator=replace(machine.accelerator, spaces=spaces))


def figures() -> Figures:
    """Of the target."""
    return figures_of(npu())


def planned(chain: Chain, tiles: Tiles) -> Plan:
    """The plan of chosen tiles."""
    return made_plan(chain, npu(), tiles)


def stored(chain: Chain) -> dict[str, Stored]:
    """Where dense arguments lie."""
    shapes = {name: known_shape(chain, name) for name in (*chain.inputs, chain.output)}
    return {
        name: Stored(BufferName(name), dense_strides(shape), (0,) * len(shape), dtype=chain.tensor(name).dtype)
        for name, shape in shapes.items()
    }


def known_shape(chain: Chain, name: str) -> tuple[int, ...]:
    """The shape of a tensor of known extents."""
    return tuple(extent for extent in chain.tensor(name).shape if isinstance(extent, int))


def region_of(plan: Plan) -> Region:
    """The region of a plan, of dense arguments; verified."""
    chain = plan.chain
    region = lower(plan, stored(chain))
    buffers = {
        name: Buffer(BufferName(name), prod(known_shape(chain, name)), chain.tensor(name).dtype, Lifetime.CALL)
        for name in (*chain.inputs, chain.output)
    }
    verify([region], [buffers[name] for name in chain.inputs], [buffers[chain.output]], {})
    return region


@dataclass(frozen=True)
class Outcome:
    """Results of the simulator, of the block interpreter, and as they should be; and what was counted."""

    simulated: np.ndarray
    interpreted: np.ndarray
    wanted: np.ndarray
    counts: Counts

    @property
    def error(self) -> float:
        """Frobenius, relative to float64."""
        norm = float(np.linalg.norm(self.wanted))
        return float(np.linalg.norm(self.simulated.astype(np.float64) - self.wanted)) / (norm or 1.0)


def run_both(plan: Plan, seed: int = 0) -> Outcome:
    """The plan in the simulator and in the block interpreter, with random inputs."""
    chain, region = plan.chain, region_of(plan)
    random = np.random.default_rng(seed)
    inputs = {name: random.standard_normal(known_shape(chain, name)).astype(chain.tensor(name).dtype) for name in chain.inputs}
    results = [np.zeros(known_shape(chain, chain.output), chain.tensor(chain.output).dtype) for _ in range(2)]
    arrays = [{BufferName(name): array for name, array in (inputs | {chain.output: result}).items()} for result in results]
    run([region], arrays[1], {})
    counts = simulate([region], arrays[0], {}, figures_of(plan.machine)).launches[0]
    graph = Graph("chain", chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return Outcome(results[0], results[1], evaluate(graph, inputs, dtype="float64")[chain.output], counts)


def counted(plan: Plan) -> Counts:
    """What the simulator counts of a plan, without results."""
    chain = plan.chain
    arrays = {BufferName(n): np.empty(known_shape(chain, n), chain.tensor(n).dtype) for n in (*chain.inputs, chain.output)}
    return simulate([region_of(plan)], arrays, {}, figures_of(plan.machine), computes=False).launches[0]


def in_names_of_the_walk(chain: Chain, moved: Mapping[tuple[str, str], int]) -> Counter[tuple[str, str]]:
    """Bytes by tensor and way: what is made of a product is C, or E, whatever vector operators call it."""
    names, current = dict[str, str](), "C"
    for number, operator in enumerate(chain.operators):
        current = "E" if number and operator.is_contraction() else current
        names[operator.write.tensor] = current
    found: Counter[tuple[str, str]] = Counter()
    for (tensor, way), size in moved.items():
        found[names.get(tensor, tensor), way] += size
    return found


def work_of(chain: Chain, tiles: Tiles) -> Work:
    """The formulas of tiles."""
    shape = shape_of(chain)
    return Work(chain, shape, Extents.of(chain, shape), tiles)


def fitting_tiles(chain: Chain, seed: int) -> Tiles:
    """Random tiles that fit."""
    tried = (random_tiles(chain, attempt) for attempt in range(seed * 100, seed * 100 + 100))
    return next(tiles for tiles in tried if fits(chain, tiles))


def fits(chain: Chain, tiles: Tiles) -> bool:
    """Whether the buffers of tiles fit the target's spaces."""
    return all(work_of(chain, tiles).bytes_of(space) <= figures().size(space) for space in SPACES)


def check(case: Case, tiles: Tiles | None = None, seed: int = 0) -> None:
    """Formulas, simulator and literal walk agree on bytes by tensor and way, instructions and buffers; results are right."""
    chain = chain_of(case)
    plan = plan_chain(chain, npu()) if tiles is None else planned(chain, tiles)
    outcome, walk, work = run_both(plan, seed), walk_of(case, chain, tiles_of(plan)), work_of(chain, tiles_of(plan))
    formulas = {key: int(size) for key, size in moved_by_way(work.moved()).items()}
    simulated = {(tensor, way): size for tensor, way, size in outcome.counts.moved}
    assert simulated == formulas
    assert in_names_of_the_walk(chain, simulated) == walk.moved
    done, names = list(work.computed()), ("cubes", "products", "vectors", "vector_bytes")
    assert [sum(int(getattr(one, name)) for one in done) for name in names] == [getattr(walk, name) for name in names]
    assert [getattr(outcome.counts, name) for name in names] == [getattr(walk, name) for name in names]
    assert [(space, used) for space, used, _ in outcome.counts.peak_bytes] == [(one.level, one.used_bytes) for one in plan.levels]
    np.testing.assert_allclose(outcome.simulated, outcome.interpreted, rtol=2e-3, atol=1e-3 * np.abs(outcome.wanted).max())
    assert outcome.error < TOLERANCE
