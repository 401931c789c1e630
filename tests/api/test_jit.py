"""From a decorated function to a native kernel: right answers, however it is called. Planned for a named machine."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tilewright.backends import loading

pytestmark = pytest.mark.needs("avx2", "fma")
jit = functools.partial(tw.jit, target="x86-64-v3", threads=1)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = tw.einsum("bmk,bkl->bml", q, k)
    return tw.einsum("bml,bln->bmn", tw.softmax(scores, axis=-1), v)


def operands(b: int = 2, m: int = 21, k: int = 8, rows: int = 19, n: int = 12) -> tuple[np.ndarray, ...]:
    return random(b, m, k), random(b, k, rows, seed=1), random(b, rows, n, seed=2)


def exact(function: Any, *arrays: np.ndarray) -> Any:
    """The function interpreted by NumPy in float64."""
    return tw.jit(function)(*(np.asarray(array, np.float64) for array in arrays), interpret=True)


def close(actual: Any, expected: Any) -> None:
    assert np.asarray(actual).dtype == np.float32
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=2e-5, atol=2e-5)


@pytest.fixture(scope="module")
def compiled_attention() -> Any:
    return jit(attention)


def test_attention_on_numpy_arrays(compiled_attention: Any) -> None:
    q, k, v = operands()
    for _ in range(2):
        close(compiled_attention(q, k, v), exact(attention, q, k, v))


def test_keywords_and_out_take_the_same_kernel(compiled_attention: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = operands()
    compiled_attention(q, k, v)
    monkeypatch.setattr(loading, "load", None)
    close(compiled_attention(q, v=v, k=k), exact(attention, q, k, v))
    out = np.empty((2, 21, 12), np.float32)
    assert compiled_attention(q, k, v, out=out) is out
    close(out, exact(attention, q, k, v))


def test_kinds_of_calls_share_kernels_and_check_what_they_get(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    function = jit(lambda x, y: x @ y)
    x, y = random(4, 5), random(5, 6, seed=1)
    expected = exact(lambda x, y: x @ y, x, y)
    out = np.empty((4, 6), np.float32)
    assert function(x, y, out=out) is out
    close(out, expected)
    monkeypatch.setattr(loading, "load", None)
    kernel = function.kernels[0]
    for call in (function, kernel):
        for arguments, options in [((x, y), {}), ((x,), {"y": y}), ((), {"y": y, "x": x}), ((x, torch.from_numpy(y)), {})]:
            assert type(call(*arguments, **options)) is np.ndarray
            close(call(*arguments, **options), expected)
            out[...] = 0
            assert call(*arguments, out=out, **options) is out
            close(out, expected)
        tensors = torch.from_numpy(x), torch.from_numpy(y)
        assert isinstance(call(*tensors), torch.Tensor)
        close(call(*tensors), expected)
        with pytest.raises(tw.ShapeError, match="argument out has shape"):
            call(x, y, out=np.empty((6, 4), np.float32))
        with pytest.raises(tw.DTypeError, match="argument out has element type float64"):
            call(x, y, out=np.empty((4, 6)))
        with pytest.raises(tw.TilewrightError, match="share memory"):
            call(x, y, out=np.lib.stride_tricks.as_strided(out, (4, 6), (4, 4)))
    assert len(function.kernels) == 1


def test_a_transposed_output_of_its_own_memory_is_written() -> None:
    x = random(4, 4)
    out = np.zeros((2, 4, 4), np.float32)
    first, second = out[0].T, out[1, ::-1]
    jit(lambda x: (x + 1, x * 2))(x, out=(first, second))
    close(first, x + 1)
    close(second, x * 2)


def test_dumps_of_one_name_have_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path))
    for factor in (2.0, 3.0):
        jit(lambda x, factor=factor: x * factor, static_argnames="factor").lower(random(3))
    traces = [path.read_text() for path in sorted(tmp_path.glob("*-lambda.trace.txt"))]
    assert len(traces) == 2
    assert traces[0] != traces[1]
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path / "file" / "dumps"))
    with pytest.raises(tw.TilewrightError, match=r"file/dumps.* cannot be written"):
        jit(lambda x: x * 2).lower(random(3))


def test_any_strides_and_overlapping_output(compiled_attention: Any) -> None:
    q, k, v = operands()
    strided = np.asfortranarray(np.repeat(q, 2, axis=2))[:, :, ::2]
    close(compiled_attention(strided, k[:, ::-1], v[:, :, ::-1]), exact(attention, strided, k[:, ::-1], v[:, :, ::-1]))
    out = np.zeros((2, 12, 21), np.float32).transpose(0, 2, 1)
    close(compiled_attention(q, k, v, out=out), exact(attention, q, k, v))


def test_torch_tensors_come_back_as_torch_tensors(compiled_attention: Any) -> None:
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(array) for array in operands()]
    result = compiled_attention(*tensors)
    assert isinstance(result, torch.Tensor)
    close(result.numpy(), exact(attention, *operands()))
    out = torch.empty((2, 21, 12))
    assert compiled_attention(*tensors, out=out) is out
    close(out.numpy(), exact(attention, *operands()))
    with pytest.raises(tw.UnsupportedOperation, match="requires a gradient"):
        compiled_attention(tensors[0].requires_grad_(), *tensors[1:])


def test_lowered_and_kernel() -> None:
    q, k, v = operands()
    lowered = jit(attention).lower(q, k, v)
    assert [operator.kind for operator in lowered.graph.operators] == ["einsum", "softmax", "einsum"]
    assert lowered.model_plan.plans
    assert "attention" in lowered.explain()
    kernel = lowered.compile()
    close(kernel(q, k, v), exact(attention, q, k, v))
    close(kernel(q, k, v=v), exact(attention, q, k, v))
    assert "tw_context" in kernel.source
    assert kernel.explain() == lowered.explain()
    assert kernel.memory_stats() is not None
    with pytest.raises(tw.ShapeError, match="argument k has shape"):
        kernel(q, q, v)
    with pytest.raises(tw.ShapeError, match="do not have the structure"):
        kernel(q, (k, v), None)


def test_several_chains_have_no_single_plan() -> None:
    lowered = jit(attention, fuse=False).lower(*operands())
    with pytest.raises(tw.TilewrightError, match="chains, so there is no single plan") as caught:
        _ = lowered.plan
    assert ".model_plan" in caught.value.hint
    assert len(lowered.model_plan.plans) > 1
    close(lowered.compile()(*operands()), exact(attention, *operands()))


def test_symbolic_extents_serve_every_size() -> None:
    s = tw.Dim("s", low=1, high=64, hint=32)
    specs = [tw.spec((2, 21, 8)), tw.spec((2, 8, s)), tw.spec((2, s, 12))]
    kernel = jit(attention).lower(*specs).compile()
    for rows in (1, 7, 32, 64):
        arrays = operands(rows=rows)
        close(kernel(*arrays), exact(attention, *arrays))
    with pytest.raises(tw.ShapeError, match=r"1\.\.64"):
        kernel(*operands(rows=65))


def test_constants_containers_and_several_outputs() -> None:
    weight, bias = random(6, 5, seed=3), random(5, seed=4)

    @jit
    def layer(params: dict[str, Any], x: Any) -> dict[str, Any]:
        hidden = tw.relu(x @ weight + bias)
        return {"hidden": hidden, "scaled": (hidden * params["scale"], None)}

    x = random(4, 6)
    for scale in (2.0, 3.0):
        result = layer({"scale": scale}, x)
        expected = np.maximum(x.astype("f8") @ weight + bias, 0)
        close(result["hidden"], expected)
        close(result["scaled"][0], expected * scale)
        assert result["scaled"][1] is None
    assert len(layer.kernels) == 1


def test_masks_and_conditions() -> None:
    mask = np.tri(9, dtype=bool)

    def causal(x: Any) -> Any:
        return tw.softmax(tw.where(mask, x @ x.mT, -np.inf)) * (x.sum() > 0)

    x = np.abs(random(9, 5))
    close(jit(causal)(x), exact(causal, x))


WEIGHTED = {
    "right": lambda a, x: a @ tw.softmax(x, axis=0),
    "right, scaled": lambda a, x: (a @ tw.softmax(x, axis=0)) * 0.1,
    "left": lambda a, x: tw.softmax(a, axis=1) @ x,
    "left, scaled": lambda a, x: (tw.softmax(a, axis=1) @ x) * 0.1,
}


@pytest.mark.parametrize("columns", [5, 64, 70])
@pytest.mark.parametrize("side", WEIGHTED)
def test_shares_on_either_side_of_a_product(side: str, columns: int) -> None:
    """A softmax has its totals along the product's rows, or along its columns."""
    arrays = random(48, 64), random(64, columns, seed=1)
    for fuse in (True, False):
        close(jit(WEIGHTED[side], fuse=fuse)(*arrays), exact(WEIGHTED[side], *arrays))


def test_row_operators_and_maps_together() -> None:
    def normalized(x: Any, weight: Any) -> Any:
        centred = x - tw.mean(x, axis=-1, keepdims=True)
        deviation = tw.sqrt(tw.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
        return tw.silu(centred / deviation @ weight).max(axis=0) - tw.sum(x) ** 2

    arrays = random(7, 16), random(16, 5, seed=1)
    close(jit(normalized)(*arrays), exact(normalized, *arrays))


def test_heads_split_and_merged_by_index_changes() -> None:
    def layer(x: Any, wq: Any, wk: Any, wv: Any) -> Any:
        q, k, v = ((x @ w).reshape(2, 10, 3, 8).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
        return (tw.softmax(q @ k.mT / np.sqrt(8)) @ v).transpose(0, 2, 1, 3).reshape(2, 10, 24) + x

    arrays = random(2, 10, 24), *(random(24, 24, seed=seed) * np.float32(0.2) for seed in (1, 2, 3))
    close(jit(layer)(*arrays), exact(layer, *arrays))


def test_static_arguments_have_kernels_of_their_own() -> None:
    function = jit(lambda x, axis: tw.softmax(x, axis=axis), static_argnames="axis")
    x = random(5, 6)
    for axis in (0, 1, 0):
        close(function(x, axis), exact(lambda x, axis=axis: tw.softmax(x, axis=axis), x))
    assert len(function.kernels) == 2


def test_a_static_tensor_is_known_by_identity_not_by_shape() -> None:
    torch = pytest.importorskip("torch")
    function = jit(lambda x, factor: x * float(factor), static_argnames="factor")
    x = torch.from_numpy(random(5, 6))
    for factor in (2.0, 3.0):
        close(function(x, torch.tensor(factor)), x.numpy() * factor)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_small_and_empty_arrays(shape: tuple[int, int]) -> None:
    def gram(x: Any) -> Any:
        return x @ x.T

    x = random(*shape)
    close(jit(gram)(x), exact(gram, x))


def test_many_threads_compile_a_signature_once(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []
    original = loading.load

    def counted(*args: Any, **options: Any) -> Any:
        builds.append(threading.get_ident())
        return original(*args, **options)

    monkeypatch.setattr(loading, "load", counted)
    function = jit(lambda x, y: tw.relu(x @ y))
    x, y = random(16, 16), random(16, 16, seed=1)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: function(x, y), range(16)):
            close(result, np.maximum(x.astype("f8") @ y, 0))
    assert len(builds) == 1


def test_a_plan_for_another_machine_is_explained_but_not_run() -> None:
    lowered = tw.jit(attention, target="neoverse-v2").lower(*operands())
    assert "neoverse-v2" in lowered.explain()
    with pytest.raises(tw.TilewrightError, match="cannot run on this machine"):
        lowered.compile()


def test_a_known_call_takes_every_array_of_its_shape() -> None:
    double = tw.jit(lambda x: x + x)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = double(x)
    read_only = x.copy()
    read_only.flags.writeable = False
    others = [np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1].copy()[::-1], read_only, x.astype(">f4")]
    for other in (*others, x.view(np.matrix), memoryview(x)):
        for _ in range(2):
            np.testing.assert_array_equal(double(other), expected)
    with pytest.raises(tw.DTypeError, match="masked"):
        double(np.ma.masked_array(x))
    assert double(x.astype(np.int32)).dtype == np.int32
    assert double(x[0]).shape == (4,)
    out = np.empty_like(x)
    assert double(x, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_some_channels_of_pixels_become_planes(dtype: str) -> None:
    planes = tw.jit(lambda x: tw.transpose(x.astype(np.float32), (2, 0, 1)), dynamic=False)
    image = np.random.default_rng(0).integers(-99, 100, (3, 37, 4)).astype(dtype)
    for chosen in (image, image[..., :3], image[..., 1:], image[:, ::-1, :3], image[:, ::2, 1:]):
        np.testing.assert_array_equal(planes(chosen), chosen.astype(np.float32).transpose(2, 0, 1))
