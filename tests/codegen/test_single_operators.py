"""Contractions of every form, maps, row-wise reductions and gathers, each alone in a chain, all of a test in one library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pytest

from tests.support.chains import artifact_of, chain, hand_plan, random_inputs
from tests.support.expected import EPS, softmax64
from tests.support.operators import contraction, mapping, reduction, softmax
from tilewright.errors import PlanningError
from tilewright.graph.builders.norms import ROW_SOFTMAX
from tilewright.graph.expressions.index import axis, constant, floordiv, mod
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Point, Scalar, State, apply
from tilewright.graph.types import Access, Axis, Chain, Guard, Operator, Reduction, StateVariable, Tensor
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.schedule import Compute, Loop, Pack, Schedule
from tilewright.plan.types import Plan
from tilewright.runtime.executable import load

MACHINE = Machine.named("x86-64-v3")
KERNEL = for_machine(MACHINE)[0]
EXTENTS = {"b": 3, "h": 2, "m": 13, "n": 21, "k": 6, "l": 19}
needs_avx2 = pytest.mark.needs("avx2", "fma")

CONTRACTIONS = [
    ("mk", "kn", "mn"),
    ("km", "nk", "mn"),
    ("mk", "kn", "nm"),
    ("bmk", "bkn", "bmn"),
    ("bmk", "kn", "bmn"),
    ("mk", "bkn", "bmn"),
    ("bmk", "bnk", "mbn"),
    ("bmk", "bnk", "mnb"),
    ("bhmk", "bhnk", "bhmn"),
    ("mbk", "nbk", "mnb"),
    ("mk", "k", "m"),
    ("k", "kn", "n"),
    ("k", "k", ""),
    ("m", "n", "mn"),
    ("m", "m", "m"),
    ("bk", "bk", "b"),
    ("mkl", "kln", "mn"),
    ("mkl", "n", "mn"),
    ("mk", "n", "m"),
    ("mk", "kn", "n"),
    ("bhk", "khn", "bn"),
    ("", "n", "n"),
]


def alone(operator: Operator, extents: Mapping[str, int], number: int, tiles: Mapping[str, int], packs: bool = False) -> Plan:
    one = chain(f"chain_{number}", [operator])
    body: tuple[Loop | Compute | Pack, ...] = (Compute(operator.name),)
    plan = hand_plan(one, Schedule(body), MACHINE, KERNEL)
    roles = plan.operators[0].roles
    if packs and roles is not None and roles.column is not None:
        body = (Pack(operator.name, roles.right, panels(KERNEL.columns)), *body)
    for letter, tile in tiles.items():
        if any(own.name == letter for own in operator.axes):
            body = (Loop(letter, tile, body),)
    return hand_plan(one, Schedule(body), MACHINE, KERNEL)


def run_all(plans: Sequence[Plan]) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Every chain's result, from one library."""
    artifact = artifact_of(plans)
    inputs: dict[str, np.ndarray] = {}
    for plan in plans:
        inputs |= random_inputs(plan.chain, seed=len(inputs))
    outputs = [np.full(tuple(p.chain.tensor(p.chain.output).shape), np.nan, np.float32) for p in plans]  # type: ignore[arg-type]
    load(artifact, threads=2).run([inputs[slot.name] for slot in artifact.signature.inputs], outputs)
    return inputs, outputs


@needs_avx2
@pytest.mark.parametrize("tiles", [{}, {"m": 5, "n": 8}, {"k": 4, "l": 7, "b": 1, "n": 16}], ids=["whole", "blocks", "sums"])
@pytest.mark.parametrize("packs", [False, True], ids=["in place", "packed"])
def test_every_form_of_contraction(tiles: Mapping[str, int], packs: bool) -> None:
    plans = []
    for number, (left, right, out) in enumerate(CONTRACTIONS):
        operator = contraction(f"f{number}", f"x{number}:{left}", f"y{number}:{right}", f"z{number}:{out}", EXTENTS)
        plans.append(alone(operator, EXTENTS, number, tiles, packs))
    inputs, outputs = run_all(plans)
    for number, (form, got) in enumerate(zip(CONTRACTIONS, outputs, strict=True)):
        x, y = inputs[f"x{number}"].astype("f8"), inputs[f"y{number}"].astype("f8")
        subscripts = "{},{}->{}".format(*form)
        bound = 150 * EPS * np.einsum(subscripts, np.abs(x), np.abs(y)) + EPS
        assert (np.abs(got - np.einsum(subscripts, x, y)) <= bound).all(), subscripts


MAPS: list[tuple[Scalar, tuple[str, ...], str, Callable[..., np.ndarray]]] = [
    (apply("add", Load(0), Load(1)), ("mn", "n"), "mn", lambda x, y: x + y),
    (apply("multiply", Load(0), Load(1)), ("mn", "m"), "mn", lambda x, y: x * y[:, None]),
    (apply("subtract", Load(0), Literal(1.5)), ("nm",), "mn", lambda x: x.T - 1.5),
    (apply("divide", Load(0), apply("add", apply("square", Load(1)), Literal(1.0))), ("bmn", "bn"), "bmn",
     lambda x, y: x / (y[:, None] ** 2 + 1)),
    (apply("exp", apply("negative", Load(0))), ("mn",), "mn", lambda x: np.exp(-x)),
    (apply("sqrt", apply("abs", Load(0))), ("mn",), "nm", lambda x: np.sqrt(np.abs(x)).T),
    (apply("maximum", Load(0), apply("minimum", Load(1), Literal(0.5))), ("m", "m"), "m",
     lambda x, y: np.maximum(x, np.minimum(y, 0.5))),
    (apply("where", apply("less", Load(0), Literal(0.0)), Literal(-1.0), Load(0)), ("mn",), "mn",
     lambda x: np.where(x < 0, -1, x)),
    (apply("greater_equal", Load(0), Literal(0.0)), ("mn",), "mn", lambda x: (x >= 0).astype("f8")),
    (apply("floor", apply("multiply", Load(0), Literal(10.0))), ("mn",), "mn", lambda x: np.floor(x * np.float32(10))),
    (apply("reciprocal", apply("add", apply("abs", Load(0)), Literal(1.0))), ("",), "", lambda x: 1 / (abs(x) + 1)),
    (apply("add", Load(0), AxisValue("n")), ("mn",), "mn", lambda x: x + np.arange(x.shape[1])),
    (apply("add", Load(0), AxisValue("m")), ("mn",), "mn", lambda x: x + np.arange(x.shape[0])[:, None]),
    (Load(0), ("n",), "mn", lambda x: np.broadcast_to(x, (EXTENTS["m"], x.shape[0]))),
]  # fmt: skip


@needs_avx2
@pytest.mark.parametrize("tiles", [{}, {"m": 5, "n": 12, "b": 2}], ids=["whole", "blocks"])
def test_maps_with_broadcasting(tiles: Mapping[str, int]) -> None:
    plans = []
    for number, (body, reads, out, _) in enumerate(MAPS):
        operator = mapping(f"f{number}", body, [f"x{number}_{i}:{r}" for i, r in enumerate(reads)], f"z{number}:{out}", EXTENTS)
        plans.append(alone(operator, EXTENTS, number, tiles))
    inputs, outputs = run_all(plans)
    for number, ((body, reads, _, meaning), got) in enumerate(zip(MAPS, outputs, strict=True)):
        expected = meaning(*(inputs[f"x{number}_{i}"].astype("f8") for i in range(len(reads))))
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6, err_msg=str(body))


def carried(name: str, identity: float, combine: str) -> Reduction:
    return Reduction((StateVariable(name, identity, Point(), combine),), State(name))


ROWS: list[tuple[str, str, Reduction, Callable[[np.ndarray], np.ndarray]]] = [
    ("mn", "m", carried("sum", 0.0, "add"), lambda x: x.sum(1)),
    ("mn", "n", carried("sum", 0.0, "add"), lambda x: x.sum(0)),
    ("mn", "", carried("sum", 0.0, "add"), lambda x: x.sum()),
    ("bmn", "b", carried("top", -np.inf, "maximum"), lambda x: x.max((1, 2))),
    ("bmn", "m", carried("low", np.inf, "minimum"), lambda x: x.min((0, 2))),
    ("bmn", "nb", carried("product", 1.0, "multiply"), lambda x: x.prod(1).T),
    ("m", "", carried("top", -np.inf, "maximum"), lambda x: x.max()),
    ("mn", "mn", ROW_SOFTMAX, softmax64),
]


@needs_avx2
def test_row_operators_over_any_axes() -> None:
    plans = [
        alone(reduction(f"f{i}", f"x{i}:{read}", f"z{i}:{out}", EXTENTS, how), EXTENTS, i, {})
        for i, (read, out, how, _) in enumerate(ROWS[:-1])
    ]
    for over, letters in (("n", "bmn"), ("m", "bmn"), ("b", "bmn")):
        number = len(plans)
        operator = softmax(f"f{number}", f"x{number}:{letters}", f"z{number}:{letters}", over, EXTENTS)
        plans.append(alone(operator, EXTENTS, number, {}))
    inputs, outputs = run_all(plans)
    for number, (_, _, _, meaning) in enumerate(ROWS[:-1]):
        expected = meaning(inputs[f"x{number}"].astype("f8"))
        np.testing.assert_allclose(outputs[number], expected, rtol=1e-5, atol=1e-5, err_msg=f"row operator {number}")
    for number, place in ((7, 2), (8, 1), (9, 0)):
        expected = softmax64(inputs[f"x{number}"].astype("f8"), place)
        np.testing.assert_allclose(outputs[number], expected, rtol=2e-6, atol=1e-7)


@needs_avx2
def test_row_operators_with_extents_of_one() -> None:
    """Loops of one trip vanish, also around the passes of a row-wise reduction."""
    shapes = [dict(zip("bmn", sizes, strict=True)) for sizes in product((1, 2, 17), repeat=3)]
    cases = list(product("bmn", shapes))
    plans = [
        alone(softmax(f"f{i}", f"x{i}:bmn", f"z{i}:bmn", over, sizes), sizes, i, {}) for i, (over, sizes) in enumerate(cases)
    ]
    inputs, outputs = run_all(plans)
    for number, ((over, _), got) in enumerate(zip(cases, outputs, strict=True)):
        expected = softmax64(inputs[f"x{number}"].astype("f8"), "bmn".index(over))
        np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-7)


@needs_avx2
def test_two_row_operators_without_a_loop_around_them() -> None:
    """Their states have the same names: each has a scope of its own."""
    sizes = {"l": 19, "n": 21}
    reductions = [reduction(f"sum_{axis}", f"x_{axis}:{axis}", f"s_{axis}:", sizes) for axis in sizes]
    total = mapping("total", apply("add", Load(0), Load(1)), ["s_l:", "s_n:"], "z:", sizes)
    one = chain("totals", [*reductions, total])
    schedule = Schedule(tuple(Compute(operator.name) for operator in one.operators))
    inputs, (got,) = run_all([hand_plan(one, schedule, MACHINE, KERNEL)])
    np.testing.assert_allclose(got, inputs["x_l"].astype("f8").sum() + inputs["x_n"].sum(), rtol=1e-5)


@needs_avx2
def test_row_operators_with_rows_in_blocks() -> None:
    operator = softmax("f", "x:bmn", "z:bmn", "n", EXTENTS)
    inputs, (got,) = run_all([alone(operator, EXTENTS, 0, {"m": 4, "b": 1})])
    np.testing.assert_allclose(got, softmax64(inputs["x"].astype("f8")), rtol=2e-6, atol=1e-7)


def test_a_row_operator_cannot_run_in_parts_of_a_row() -> None:
    operator = softmax("f", "x:bmn", "z:bmn", "n", EXTENTS)
    with pytest.raises(PlanningError, match="operator f cannot run in blocks of n"):
        artifact_of([alone(operator, EXTENTS, 0, {"n": 4})])


def gathered(name: str, shape: tuple[int, ...], access: Access, out: Sequence[str], extents: Mapping[str, int]) -> Chain:
    write = Access(f"z_{name}", tuple(axis(letter) for letter in out))
    operator = Operator(name, "gather", tuple(Axis(letter, extents[letter]) for letter in out), (access,), write, Load(0))
    tensors = (Tensor(access.tensor, shape), Tensor(write.tensor, tuple(extents[letter] for letter in out)))
    return Chain(name, tensors, (operator,))


@needs_avx2
def test_quasi_affine_and_guarded_reads() -> None:
    """Reshapes that divide, windows with padding, strides and offsets."""
    i, j = axis("i"), axis("j")
    sizes = {"i": 6, "j": 20}
    flat = i * 20 + j
    inside = Guard((i * 2 + j - 3, constant(28) - i * 2 - j), otherwise=-7.0)
    chains = [
        gathered("combine", (8, 15), Access("x_merge", (floordiv(flat, 15), mod(flat, 15))), "ij", sizes),
        gathered("window", (30,), Access("x_window", (i * 2 + j,)), "ij", sizes),
        gathered("padded", (26,), Access("x_padded", (i * 2 + j - 3,), inside), "ij", sizes),
        gathered("every", (50,), Access("x_every", (j * 2 + i + 1,)), "ij", sizes),
    ]
    plans = [hand_plan(one, Schedule((Loop("j", 12, (Compute(one.name),)),)), MACHINE, KERNEL) for one in chains]
    x, (merged, window, padded, every) = run_all(plans)
    rows, columns = np.meshgrid(range(6), range(20), indexing="ij")
    at = 2 * rows + columns - 3
    np.testing.assert_array_equal(merged, x["x_merge"].reshape(6, 20))
    np.testing.assert_array_equal(window, x["x_window"][2 * rows + columns])
    np.testing.assert_array_equal(padded, np.where((at >= 0) & (at < 26), x["x_padded"][np.clip(at, 0, 25)], -7))
    np.testing.assert_array_equal(every, x["x_every"][2 * columns + rows + 1])
