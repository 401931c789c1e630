"""Every registered lowering of a replaceable micro kernel computes its loop nest; all checks follow from its declaration.

Compiled micro kernels run here or emulated, Triton's text in Triton's interpreter, functions as they are; a lowering that cannot
run is a counted skip. One from outside the package is checked too: `pytest tests/contract -p my_lowerings`.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tests.contract.operands import Array, precision
from tests.contract.test_matmul_kernels import check_one_value_everywhere, check_products, loaded
from tests.kernels.test_disassembly import full_tiles, spilled
from tests.support.emulated import is_foreign
from tests.support.guarded import in_child
from tests.support.lowerings import Block, Outcome, outcomes, sizes, skip_if_missing
from tilewright.backends.triton_gpu.offline import OfflineKernel, compile_offline
from tilewright.dtypes import dtype_named
from tilewright.errors import DTypeError, ShapeError, TilewrightError, UnsupportedOperation
from tilewright.kernels import MicroKernel
from tilewright.kernels.replaceable import PRODUCT_16X16, Edges, KernelText, Lowering
from tilewright.leaves import lowerings
from tilewright.machine import Machine

ARCHITECTURES = ("sm_80", "sm_90")
TRITON_TYPES = {"float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32"}
VECTOR = re.compile(r"%[xyz]mm(\d+)")

every_lowering = pytest.mark.parametrize("lowering", lowerings.registered(), ids=lambda lowering: lowering.name)


def block(lowering: Lowering, extents: tuple[int, int, int], label: str = "", seed: int = 0) -> Block:
    """A block of random numbers."""
    m, n, k = extents
    random = np.random.default_rng([seed, *extents])
    shapes = (m, k), (k, n), (m, n)
    a, b, c = (
        random.standard_normal(shape).astype(dtype_named(name))
        for shape, name in zip(shapes, lowering.element_types, strict=True)
    )
    return Block(label or f"m={m} n={n} k={k}", a, b, c)


def special_blocks(lowering: Lowering) -> list[Block]:
    """NaN and infinities at single places."""
    found = []
    for number, (left, right) in enumerate(((np.nan, 1.0), (1.0, np.inf), (-np.inf, 0.0), (np.inf, -np.inf))):
        one = block(lowering, (19, 21, 17), f"{left} in A, {right} in B", number)
        one.a[number, 3], one.b[3, 2 * number] = left, right
        found.append(one)
    return found


def denormal_block(lowering: Lowering) -> Block:
    """A is ones and zeros, B and C are zero and the smallest numbers of B's type: C is exact."""
    tiny = float(precision(dtype_named(lowering.right.element_type)).smallest_subnormal)
    one = block(lowering, (17, 18, 19), "denormals")
    one.a[:], one.b[:], one.c[:] = np.eye(17, 19), 0, 0
    one.b[:17] = (tiny * np.arange(1, 17 * 18 + 1).reshape(17, 18)).astype(one.b.dtype)
    return one


def check_outcome(lowering: Lowering, given: Block, outcome: Outcome) -> None:
    """Elements are within the error bound of a sum of k products; NaN and infinities are where they belong, and nowhere else."""
    a, b, c = (matrix.astype(np.float64) for matrix in (given.a, given.b, given.c))
    with np.errstate(invalid="ignore"):
        expected, magnitude = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
    finite, result = np.isfinite(expected), outcome.c.astype(np.float64)
    where = f"{lowering.name}, {given.label}"
    np.testing.assert_array_equal(result[~finite], expected[~finite], where)
    bound = (given.a.shape[1] + 2) * float(precision(dtype_named(lowering.replaceable.accumulator)).eps) * magnitude
    error = np.abs(result - expected)[finite]
    assert (error <= bound[finite]).all(), f"{where}: off by {np.max(error - bound[finite])} above the bound"
    assert outcome.is_clean, f"{where}: something around C was written"
    if outcome.instructions is not None:
        assert outcome.instructions == np.prod(lowering.tiles(given.extents)), f"{where}: instructions"


def is_taken(lowering: Lowering, extents: tuple[int, int, int]) -> bool:
    """Whether the lowering takes a block of these extents, padded where it asks for that."""
    whole = not any(extent % size for extent, size in zip(extents, lowering.tile, strict=True))
    return whole or lowering.edges is not Edges.NONE


def check_results(lowering: Lowering) -> None:
    """Blocks of all sizes, special values, denormals."""
    taken = [block(lowering, extents) for extents in sizes(lowering) if is_taken(lowering, extents)]
    given = [*taken, *special_blocks(lowering), denormal_block(lowering)] if lowering.edges is not Edges.NONE else taken
    for one, outcome in zip(given, outcomes(lowering, given), strict=True):
        check_outcome(lowering, one, outcome)
        if one.label == "denormals":
            np.testing.assert_array_equal(outcome.c, one.b[:17].astype(outcome.c.dtype), lowering.name)


def packed(lowering: Lowering, given: Block) -> list[Array]:
    """Operands in the order that is declared."""
    return [one.pack(matrix) for one, matrix in zip(lowering.operands, (given.a, given.b, given.c), strict=True)]


def check_refusals(lowering: Lowering) -> None:
    """Other types, other orders, matrices that do not fit together: one error each, before anything is computed."""
    rows, columns, depth = lowering.tile
    good = packed(lowering, block(lowering, (rows, columns, 2 * depth)))
    assert lowering.operand_extents(*good) == (rows, columns, 2 * depth)
    longer = packed(lowering, block(lowering, (rows, columns, 3 * depth)))
    refused = [(DTypeError, [*good[:at], good[at].astype(np.int16), *good[at + 1 :]]) for at in range(3)]
    refused += [(ShapeError, [*good[:at], good[at][::-1, ..., ::-1], *good[at + 1 :]]) for at in range(3)]
    refused += [(ShapeError, [good[0], longer[1], good[2]]), (ShapeError, [good[0][None], *good[1:]])]
    if lowering.edges is Edges.NONE and rows > 1:
        refused += [(ShapeError, packed(lowering, block(lowering, (rows - 1, columns, depth))))]
    for error, (a, b, c) in refused:
        before = c.copy()
        with pytest.raises(error, match=lowering.name):
            lowering.code(c, a, b) if callable(lowering.code) else lowering.operand_extents(a, b, c)
        np.testing.assert_array_equal(c, before)


@every_lowering
def test_results(lowering: Lowering) -> None:
    skip_if_missing(lowering)
    in_child(check_results, lowering)
    if isinstance(lowering.code, MicroKernel):
        call = loaded(lowering.code, "emulated" if is_foreign(lowering.code) else "gcc")
        for check in (check_products, check_one_value_everywhere):
            in_child(check, call, lowering.code)


@every_lowering
def test_refusals(lowering: Lowering) -> None:
    check_refusals(lowering)


@every_lowering
def test_packing_and_unpacking_are_inverse(lowering: Lowering) -> None:
    given = block(lowering, (37, 45, 19))
    for operand, matrix in zip(lowering.operands, (given.a, given.b, given.c), strict=True):
        found = operand.pack(matrix)
        np.testing.assert_array_equal(operand.unpack(found, *matrix.shape), matrix)
        assert found.nbytes == operand.bytes(*matrix.shape)


@every_lowering
def test_resources(lowering: Lowering) -> None:
    """Of compiled code where there is a compiler; of a function the bytes of its operands, and what a simulator counts."""
    if isinstance(lowering.code, MicroKernel):
        check_vector_registers(lowering, lowering.code)
    elif isinstance(lowering.code, KernelText):
        for architecture in ARCHITECTURES:
            check_compiled_text(lowering, lowering.code, architecture)
    else:
        rows, columns, depth = lowering.tile
        shapes = (rows, depth), (depth, columns), (rows, columns)
        used = [operand.bytes(*shape) for operand, shape in zip(lowering.operands, shapes, strict=True)]
        assert [size for _, size in lowering.resources.spaces] == used
        if lowering.device == "npu":
            check_simulated(lowering)


def check_simulated(lowering: Lowering) -> None:
    """A product of one tile moves and holds the declared bytes in the simulator; one of ragged extents takes whole tiles."""
    spaces = dict(lowering.resources.spaces)
    for m, n, k in (lowering.tile, (37, 50, 20)):
        a, b = (np.ones(shape, lowering.left.element_type) for shape in ((m, k), (k, n)))
        kernel = tw.jit(lambda a, b: a @ b, target="ascend910").lower(a, b).compile()
        kernel(a, b)
        (counts,) = kernel.report().launches
        assert counts.cubes == np.prod(lowering.tiles((m, n, k)))
        if (m, n, k) == lowering.tile:
            assert (counts.way("L1>L0A"), counts.way("L1>L0B")) == (spaces["L0A"], spaces["L0B"])
            assert {name: used for name, used, _ in counts.peak_bytes}["L0C"] == spaces["L0C"]


def check_vector_registers(lowering: Lowering, kernel: MicroKernel) -> None:
    """The loops of the whole tile use the declared vector registers, at most those that there are, and spill none."""
    if is_foreign(kernel):
        pytest.skip("machine code of another architecture is not read")
    if shutil.which("objdump") is None:
        pytest.skip("objdump is missing")
    rows, vectors = kernel.rows, kernel.columns // kernel.lanes
    code = full_tiles(kernel, "gcc")[f"product_{rows}x{vectors}"]
    assert spilled([code]) == []
    used = {number for body in code.loops() for text in body for number in VECTOR.findall(text)}
    assert lowering.resources.registers <= len(used) <= lowering.resources.most_registers, sorted(used)


def check_compiled_text(lowering: Lowering, code: KernelText, architecture: str) -> None:
    """No spill; registers within the declaration; shared bytes as declared; the declared unit computes."""
    pytest.importorskip("triton", reason="triton missing: kernels are not compiled")
    m, n, k = 512, 512, 512
    types = zip("abc", (TRITON_TYPES[name] for name in lowering.element_types), strict=True)
    constants = {"M": m, "N": n, "K": k, "A_ROW": k, "B_ROW": n, "C_ROW": n}
    kernel = OfflineKernel(code.text, code.function, tuple(types), tuple(constants.items()), code.warps, code.stages)
    facts = compile_offline(kernel, architecture).facts
    assert not facts.spills
    assert lowering.resources.registers <= facts.registers <= lowering.resources.most_registers
    assert dict(lowering.resources.spaces)["shared"] == facts.shared_bytes
    counts = {"mma.sync": facts.mma_sync, "wgmma": facts.wgmma}
    assert counts[lowering.resources.unit] > 0
    assert sum(counts.values()) == counts[lowering.resources.unit]


def test_the_loop_nest_is_the_product() -> None:
    a, b, c = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in ((5, 7), (7, 6), (5, 6)))
    np.testing.assert_allclose(PRODUCT_16X16.compute(a, b, c), a @ b + c, rtol=1e-5, atol=1e-6)


CHOICES = {
    ("x86-64-v4", "float32"): "avx512_6x4x2",
    ("a100", "float16"): "fragments_2x2_float16",
    ("h100", "bfloat16"): "fragments_2x2_bfloat16",
    ("ascend910", "float16"): "mad_16x16x16",
}
REFUSED = {
    ("x86-64-v2", "float32"): "avx512_6x4x2 is for other machines",
    ("x86-64-v4", "int8"): "avx512_6x4x2 takes float32",
    ("a100", "float32"): "fragments_2x2_float16 takes float16",
    ("ascend910", "bfloat16"): "mad_16x16x16 takes float16",
}


@pytest.mark.parametrize(("machine", "element_type"), CHOICES)
def test_machines_have_their_lowering(machine: str, element_type: str) -> None:
    types = (element_type, element_type)
    assert lowerings.for_machine(Machine.named(machine), PRODUCT_16X16, types).name == CHOICES[machine, element_type]


@pytest.mark.parametrize(("machine", "element_type"), REFUSED)
def test_a_product_that_no_lowering_computes_is_refused(machine: str, element_type: str) -> None:
    with pytest.raises(UnsupportedOperation, match=REFUSED[machine, element_type]):
        lowerings.for_machine(Machine.named(machine), PRODUCT_16X16, (element_type, element_type))


@pytest.mark.parametrize("target", ["a100", "ascend910"])
@pytest.mark.parametrize("lacks", ["units", "spaces"])
def test_machines_without_the_unit_or_the_room_are_refused(target: str, lacks: str) -> None:
    machine = Machine.named(target)
    assert machine.accelerator is not None
    lesser = replace(machine, accelerator=replace(machine.accelerator, **{lacks: ()}))
    with pytest.raises(UnsupportedOperation, match="is for other machines"):
        lowerings.for_machine(lesser, PRODUCT_16X16, ("float16", "float16"))


def test_registers_are_those_of_the_paper() -> None:
    assert lowerings.named("avx512_6x4x2").resources.registers == 30  # MI NI + NI + MII (Chimera, V-B)


MAD = lowerings.named("mad_16x16x16")
FRAGMENTS = lowerings.named("fragments_2x2_float16")
CONTRADICTIONS = {
    "name": replace(MAD, name="no name"),
    "tile": replace(MAD, tile=(16, 0, 16)),
    "left": replace(MAD, left=MAD.right),
    "right": replace(MAD, right=replace(MAD.right, blocks=(("column", 48),))),
    "target": replace(FRAGMENTS, target=replace(FRAGMENTS.target, element_type="float16")),
    "edges": replace(MAD, edges=Edges.MASKED),
    "resources": replace(FRAGMENTS, resources=replace(FRAGMENTS.resources, registers=1000)),
    "code": replace(MAD, code="no code"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("field", CONTRADICTIONS)
def test_a_contradiction_is_refused(field: str) -> None:
    with pytest.raises(TilewrightError, match=f"^{field}="):
        lowerings.register(CONTRADICTIONS[field])


def test_a_name_in_use_and_a_name_of_nothing_are_refused() -> None:
    for refused in (lambda: lowerings.register(MAD), lambda: lowerings.unregister(MAD.name), lambda: lowerings.named("none")):
        with pytest.raises(TilewrightError):
            refused()
