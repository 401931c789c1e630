"""What a device that plans chains by itself needs of the compiler and of `tw.jit`, with an interpreter in its place."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.backends.interpreter_backend import ALGORITHM, Device, FarTensor, missing_machine
from tilewright.api.kernel import Lowered
from tilewright.backends import registry
from tilewright.errors import DTypeError, InternalError, PlanningError, TilewrightError, UnsupportedOperation
from tilewright.package_files import module_names
from tilewright.plan.reasons import NotExecutable
from tilewright.precision import Precision

MACHINE = missing_machine()
HALVES = [np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)]
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5}


@pytest.fixture
def device() -> Iterator[Device]:
    with registered(Device()) as backend:
        yield backend


@contextmanager
def registered(backend: Device) -> Iterator[Device]:
    registry.register(backend)
    try:
        yield backend
    finally:
        registry.unregister(backend.name)


def arrays(*shapes: tuple[int, ...], dtype: Any = "float16") -> list[Any]:
    random = np.random.default_rng(7)
    return [(random.standard_normal(shape) / np.sqrt(shape[-1])).astype(dtype) for shape in shapes]


def lower(function: Callable[..., Any], *given: Any, **options: Any) -> Lowered:
    return tw.jit(function, target=MACHINE, **options).lower(*given)


def attention(q, k, v):
    return tw.softmax(q @ k.T, axis=-1) @ v


def perceptron(x, w, b, u):
    return tw.maximum(x @ w + b, b - b) @ u


def three_products(a, b, c, d):
    return a @ b @ c @ d


def in_double(function: Callable[..., Any], *given: Any) -> Any:
    return function(*(np.asarray(array, np.float64) for array in given))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (attention, ((33, 16), (20, 16), (20, 24))),
        (perceptron, ((17, 12), (12, 40), (40,), (40, 8))),
        (lambda x, w: tw.softmax(x @ w, axis=-1), ((9, 8), (8, 12))),
        (lambda x: tw.layer_norm(x), ((5, 16),)),
    ],
    ids=["attention", "perceptron", "rows", "norm"],
)
def test_halves_come_and_go_as_they_are(
    device: Device, function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], dtype: Any
) -> None:
    given = arrays(*shapes, dtype=dtype)
    found = lower(function, *given).compile(runner="interpreter")(*given)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(float), in_double(function, *given), atol=TOLERANCE[dtype.name], rtol=0.05)


def test_no_map_converts_halves(device: Device) -> None:
    lowered = lower(perceptron, *arrays((17, 12), (12, 40), (40,), (40, 8)))
    tensors = lowered.model_plan.graph.tensors
    assert {tensor.dtype for tensor in tensors} == {"float16"}
    assert {
        operator.accumulator for plan in lowered.model_plan.plans for operator in plan.chain.operators if operator.reduction
    } == {"float32"}


def test_a_product_of_two_types_is_one_of_float32(device: Device) -> None:
    given = [*arrays((8, 16)), *arrays((16, 4), dtype="float32")]
    found = lower(lambda a, b: a @ b, *given).compile(runner="interpreter")(*given)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, in_double(np.matmul, *given), atol=1e-5)


def test_bytes_are_summed_in_int32(device: Device) -> None:
    random = np.random.default_rng(3)
    a, b = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((9, 300), (300, 7)))
    lowered = lower(lambda a, b: a.astype(np.int32) @ b.T.astype(np.int32), a, np.ascontiguousarray(b.T))
    (product,) = lowered.plan.chain.operators
    assert [lowered.plan.chain.tensor(access.tensor).dtype for access in product.accesses()] == ["int8", "int8", "int32"]
    wide = lowered.compile(runner="interpreter")(a, np.ascontiguousarray(b.T))
    assert wide.dtype == np.int32
    np.testing.assert_array_equal(wide, a.astype(np.int32) @ b.astype(np.int32))
    short = lower(lambda a, b: a @ b, a, b).compile(runner="interpreter")(a, b)
    assert short.dtype == np.int8
    np.testing.assert_array_equal(short, a @ b)


def test_an_image_of_bytes_is_padded_as_bytes(device: Device) -> None:
    random = np.random.default_rng(4)
    x, w = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 3, 6, 6), (4, 3, 3, 3)))
    lowered = lower(lambda x, w: tw.conv2d(x.astype(np.int32), w.astype(np.int32), padding=1), x, w)
    (product,) = lowered.plan.chain.operators
    assert [lowered.plan.chain.tensor(access.tensor).dtype for access in product.accesses()] == ["int8", "int8", "int32"]
    expected = tw.conv2d(x.astype(np.float64), w.astype(np.float64), padding=1)
    np.testing.assert_array_equal(lowered.compile(runner="interpreter")(x, w), expected)


def test_attention_is_one_chain_though_a_product_with_its_rows_alone_is_none(device: Device) -> None:
    plan = lower(attention, *arrays((33, 16), (20, 16), (20, 24))).plan
    assert sum(operator.is_contraction() for operator in plan.chain.operators) == 2
    assert plan.unfused_price is not None
    assert plan.price.seconds < plan.unfused_price.seconds
    assert plan.rejected


def test_rows_without_a_second_product_are_cut_with_the_planners_reason(device: Device) -> None:
    model_plan = lower(lambda x, w: tw.softmax(x @ w, axis=-1), *arrays((9, 8), (8, 12))).model_plan
    (cut,) = model_plan.cuts
    names = [operator.name for operator in model_plan.graph.operators]
    assert isinstance(cut.reason, NotExecutable)
    assert set(cut.reason.operators) <= set(names)


def test_what_one_kernel_cannot_hold_is_several(device: Device) -> None:
    given = arrays((8, 16), (16, 8), (8, 16), (16, 8))
    lowered = lower(three_products, *given)
    assert [len(plan.chain.operators) for plan in lowered.model_plan.plans] == [2, 1]
    np.testing.assert_allclose(lowered.compile(runner="interpreter")(*given), in_double(three_products, *given), atol=5e-3)
    alone = lower(three_products, *given, fuse=False)
    assert len(alone.model_plan.plans) == 3


def test_a_long_model_is_planned_without_searches(device: Device) -> None:
    def layers(x, w):
        for _ in range(20):
            x = tw.maximum(x @ w, 0.0)
        return x

    given = arrays((8, 16), (16, 16))
    lowered = lower(layers, *given)
    assert len(lowered.model_plan.plans) == 10
    assert all(plan.taken_over is None for plan in lowered.model_plan.plans)


def test_tensors_between_chains_lie_row_by_row(device: Device) -> None:
    lowered = lower(lambda x, w: tw.softmax(x @ w, axis=-1), *arrays((64, 64), (64, 1024)))
    assert [layout.row_padding for _, layout in lowered.model_plan.layouts] == [0]


def test_algorithms_and_rewrites_are_the_devices(device: Device) -> None:
    lowered = lower(attention, *arrays((33, 16), (20, 16), (20, 24)), precision="tf32")
    assert all(operator.kind.startswith(ALGORITHM) for operator in lowered.model_plan.graph.operators)
    assert device.told == [Precision.TF32]


def test_a_convolution_of_halves_reads_its_image_with_padding(device: Device) -> None:
    given = arrays((1, 3, 6, 6), (4, 3, 3, 3))
    lowered = lower(lambda x, w: tw.conv2d(x, w, padding=1), *given)
    (operator,) = lowered.plan.chain.operators
    assert operator.is_product_sum()
    assert not operator.is_contraction()
    expected = tw.conv2d(*(array.astype(np.float32) for array in given), padding=1)
    np.testing.assert_allclose(lowered.compile(runner="interpreter")(*given), expected, atol=2e-3)


@pytest.mark.parametrize("function", [attention, three_products], ids=["one chain", "two chains"])
def test_every_time_of_a_device_is_predicted(device: Device, function: Callable[..., Any]) -> None:
    given = arrays((8, 16), (8, 16), (8, 16)) if function is attention else arrays((8, 16), (16, 8), (8, 16), (16, 8))
    text = lower(function, *given).explain(full=True)
    times = re.findall(r"\d (?:s|ms|us|ns)\b.{0,10}", text)
    assert len(times) > 5
    assert [time for time in times if not time.split(" ", 2)[2].startswith("predicted")] == []
    assert "thread" not in text
    assert "absent_dot by absent_16x16x16" in text
    assert "mma.sync float16" in text


def test_a_text_is_there_without_the_device(device: Device) -> None:
    lowered = lower(perceptron, *arrays((17, 12), (12, 40), (40,), (40, 8)))
    assert lowered.source.startswith("{")
    assert lowered.source == lowered.compile(runner="interpreter").source


def test_the_text_for_a_cpu_is_that_of_its_kernel() -> None:
    lowered = tw.jit(lambda x: x + 1).lower(tw.spec((5,)))
    assert lowered.source == lowered.compile().source


def test_a_kernel_of_a_device_cannot_be_saved(device: Device, tmp_path: Path) -> None:
    kernel = lower(lambda a, b: a @ b, *arrays((8, 16), (16, 8))).compile(runner="interpreter")
    with pytest.raises(TilewrightError, match="a kernel of this device cannot be saved"):
        kernel.save(tmp_path / "kernel.tw")


def test_a_call_says_what_is_missing_and_what_runs_here(device: Device) -> None:
    given = arrays((8, 16), (16, 8))
    with pytest.raises(TilewrightError, match="cannot run on this machine") as caught:
        tw.jit(lambda a, b: a @ b, target=MACHINE)(*given)
    assert caught.value.why == "it lacks an absent device"
    assert "compile(runner='interpreter')" in caught.value.hint


def test_tensors_of_the_device_are_neither_read_nor_copied() -> None:
    x, w = arrays((8, 16), (16, 4))
    with registered(Device(is_there=True)):
        function = tw.jit(lambda x, w: {"product": x @ w}, target=MACHINE)
        found = function(FarTensor(x), FarTensor(w))["product"]
        assert isinstance(found, FarTensor)
        np.testing.assert_allclose(found.there.astype(float), in_double(np.matmul, x, w), atol=2e-3)
        out = {"product": FarTensor(np.zeros((8, 4), np.float16))}
        assert function(FarTensor(x), w, out=out) is out
        np.testing.assert_array_equal(out["product"].there, found.there)
        assert len(function.kernels) == 1
        np.testing.assert_array_equal(function(x, w)["product"], found.there)
        (kernel,) = function.kernels
        assert isinstance(kernel(FarTensor(x), FarTensor(w))["product"], FarTensor)
        with pytest.raises(UnsupportedOperation, match="cannot be read through DLPack"):
            function(FarTensor(x), FarTensor(w), interpret=True)
    with pytest.raises(UnsupportedOperation, match="cannot be read through DLPack"):
        tw.jit(lambda x: x + 1)(FarTensor(x.astype(np.float32)))


class OfNoType(FarTensor):
    dtype = "far.bits9"


def test_tensors_of_types_that_nobody_knows_are_refused() -> None:
    with registered(Device()), pytest.raises(DTypeError, match=r"a tensor of far.bits9 cannot be passed to a kernel"):
        lower(lambda x: x, OfNoType(np.zeros(3)))


def test_torch_tensors_of_a_device_have_shapes_and_types() -> None:
    torch = pytest.importorskip("torch")
    with registered(Device()):
        there = [torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in ((8, 16), (16, 4))]
        (operator,) = lower(lambda x, w: x @ w, *there).plan.chain.operators
    assert operator.is_contraction()
    with pytest.raises(UnsupportedOperation, match="a tensor on device meta cannot be passed to a kernel"):
        tw.jit(lambda x: x + 1)(there[0].float())


def test_a_kernel_that_counts_nothing_has_no_report(device: Device) -> None:
    given = arrays((8, 16), (16, 8))
    kernel = lower(lambda a, b: a @ b, *given).compile(runner="interpreter")
    with pytest.raises(TilewrightError, match="nothing counts what this kernel does"):
        kernel.report()


def test_unknown_runners_are_refused(device: Device) -> None:
    lowered = lower(lambda a, b: a @ b, *arrays((8, 16), (16, 8)))
    with pytest.raises(TilewrightError, match="runner='abacus' does not run kernels for absent-1") as caught:
        lowered.compile(runner="abacus")
    assert caught.value.why == "runners of the backend absent: 'interpreter'"
    with pytest.raises(TilewrightError, match="runner='interpreter' does not run kernels") as caught:
        tw.jit(lambda a: a + 1).lower(tw.spec((3,))).compile(runner="interpreter")
    assert caught.value.why == "runners of the backend c_cpu: none"


@pytest.mark.parametrize("target", ["cascadelake-6240", None])
def test_cpus_compute_no_tf32(target: str | None) -> None:
    with pytest.raises(UnsupportedOperation, match="precision='tf32' is not available for"):
        tw.jit(lambda a, b: a @ b, target=target, precision="tf32").lower(tw.spec((4, 4)), tw.spec((4, 4)))


def test_specs_have_all_element_types() -> None:
    assert [tw.spec((2,), dtype).dtype for dtype in ("f2", "bfloat16", ml_dtypes.bfloat16, "int8")] == [
        "float16",
        "bfloat16",
        "bfloat16",
        "int8",
    ]
    with pytest.raises(DTypeError, match="is no element type"):
        tw.spec((2,), "bfloat17")


@pytest.mark.parametrize(
    ("figures", "error", "message"),
    [
        ({"used_bytes": 1 << 20}, PlanningError, "no plan of .* fits shared"),
        ({"second_s": float("inf")}, InternalError, "no price that could be true"),
        ({"most_products": 0}, PlanningError, "no kernel holds it"),
    ],
)
def test_plans_that_cannot_be_are_refused(figures: dict[str, float], error: type[Exception], message: str) -> None:
    with registered(Device(**figures)), pytest.raises(error, match=message):
        lower(lambda a, b: a @ b, *arrays((8, 16), (16, 8)))


ALONE = """
import sys
import tilewright
from importlib import import_module
first = [name for name in sys.modules if name.startswith("tilewright.backends.")]
module = import_module("tilewright.backends." + sys.argv[1])
others = [name for name in sys.argv[2:] if "tilewright.backends." + name in sys.modules]
foreign = [name for name in ("torch", "triton") if name in sys.modules]
print(first, getattr(module, "BACKEND", None) is not None, others, foreign)
"""
BACKENDS = [name for name in module_names("tilewright.backends") if name not in registry.NO_BACKENDS]


@pytest.mark.parametrize("name", BACKENDS)
def test_each_backend_imports_alone(name: str) -> None:
    others = [other for other in BACKENDS if other != name]
    done = subprocess.run([sys.executable, "-c", ALONE, name, *others], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, _, rest = done.stdout.partition("] ")
    assert first == "[", "`tilewright` alone imports no backend"
    assert rest.endswith("[] []\n"), done.stdout


def test_a_cpu_is_served_without_any_other_backend() -> None:
    text = "import sys\nfrom tilewright.backends import registry\nfrom tilewright.machine import Machine\n"
    text += "registry.for_machine(Machine.named('zen4'))\n"
    text += "print(sorted(name for name in sys.modules if name.startswith('tilewright.backends.')))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert "c_cpu" in done.stdout
    assert all(f"backends.{name}'" not in done.stdout for name in BACKENDS if name != "c_cpu")
