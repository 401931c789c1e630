"""Models as large as published: `pytest -m sweep -s tests/sweeps/test_whole_models.py` prints distances and compilations.

Exports take minutes. With TILEWRIGHT_TEST_MODELS=DIRECTORY they stay there for the next run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")

import tilewright.onnx as ort  # noqa: E402
from benchmarks.onnx_models.cases import make  # noqa: E402
from benchmarks.onnx_models.published import NETWORKS  # noqa: E402
from tests.support.whole_models import distance, exported, feeds, onnxruntime_results, tolerance  # noqa: E402

FULL = ("bert", "vit", "gpt2", "gpt2_cached", *NETWORKS)
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
LENGTHS = range(8, 513)
SAMPLED = (8, 17, 100, 128, 300, 512)

pytestmark = [pytest.mark.sweep, pytest.mark.needs("ssse3", "sse4_1")]


@pytest.fixture(autouse=True)
def _this_machine(monkeypatch):
    """Plans are those of this machine, as users get them."""
    from tilewright.machine import Machine
    from tilewright.runtime import calibration

    machine = Machine.detect()
    monkeypatch.setattr(calibration, "ensure", lambda **_: machine)


@pytest.fixture
def directory(tmp_path) -> Path:
    kept = os.environ.get("TILEWRIGHT_TEST_MODELS")
    return Path(kept) if kept else tmp_path


def _file(case: Any, name: str, directory: Path, *, dynamic: bool = False) -> Path:
    exporter = "torchscript" if dynamic else "dynamo"
    path = directory / f"{name}-{exporter}{'-dynamic' if dynamic else ''}.onnx"
    return path if path.exists() else exported(case, path, exporter, dynamic=dynamic)


@pytest.mark.parametrize("name", FULL)
def test_full_size(name, directory):
    case = make(name)
    path = _file(case, name, directory)
    session = ort.InferenceSession(path)
    given = feeds(case, session)
    found, exact = session.run(None, given), case.in_float64()
    peer = onnxruntime_results(path, given)
    ours, theirs = distance(found, exact), distance(peer, exact) if peer is not None else float("nan")
    print(f"\n{name}: {ours:.1e} from float64 (onnxruntime {theirs:.1e}), allowed {tolerance(case.module):.1e}")
    assert not session.numpy_operators
    assert session.compilation_count == 1
    assert ours <= tolerance(case.module)
    assert peer is None or distance(found, peer) <= 2 * tolerance(case.module)


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_light_models(path):
    """Their weights are constants that the files compute, and their results, which have no float64 form, come with them."""
    session = ort.InferenceSession(path)
    generator = np.random.default_rng(0)
    given = {one.name: generator.random(one.shape, np.float32) for one in session.get_inputs()}
    found, peer = session.run(None, given), onnxruntime_results(path, given)
    if peer is None:
        pytest.skip("onnxruntime is not installed")
    print(f"\n{path.stem}: {distance(found, peer):.1e} from onnxruntime")
    assert not session.numpy_operators
    assert distance(found, peer) <= 1e-4


def _of_length(case: Any, length: int, vocabulary: int) -> Any:
    """Operands of that many tokens, of which an eighth is padding."""
    generator = np.random.default_rng(length)
    mask = np.ones((1, length), np.int64)
    mask[:, length - length // 8 :] = 0
    ids = generator.integers(0, vocabulary, (1, length))
    return dict(zip(case.input_names, (ids, mask, np.zeros_like(ids)), strict=True))


def _in_float64(case: Any, given: dict[str, Any]) -> list[Any]:
    wide = [torch.from_numpy(given[name]) for name in case.input_names]
    with torch.no_grad():
        results = case.module.double()(*(one.double() if one.is_floating_point() else one for one in wide))
    case.module.float()
    return [one.numpy() for one in results]


@pytest.mark.parametrize(("small", "lengths"), [(True, LENGTHS), (False, SAMPLED)], ids=["every length", "full size"])
def test_bert_of_any_length(small, lengths, directory):
    case = make("bert", small=small)
    session = ort.InferenceSession(_file(case, f"bert{'-small' if small else ''}", directory, dynamic=True))
    worst = 0.0
    for length in lengths:
        given = _of_length(case, length, 100 if small else 30522)
        found = session.run(None, given)
        if length in SAMPLED or length % 37 == 0:
            worst = max(worst, distance(found, _in_float64(case, given)))
    print(f"\n{len(lengths)} lengths: {session.compilation_count} compilations, {worst:.1e} from float64")
    assert session.compilation_count <= 8
    assert worst <= tolerance(case.module)


@pytest.mark.parametrize(("small", "steps"), [(True, 600), (False, 24)], ids=["many steps", "full size"])
def test_a_decoding_loop(small, steps, directory):
    case = make("gpt2_cached", small=small)
    session = ort.InferenceSession(_file(case, f"gpt2_cached{'-small' if small else ''}", directory, dynamic=True))
    given, worst = case.feeds(), 0.0
    for step in range(steps):
        given["input_ids"] = np.array([[step * 7 % 100]])
        results = session.run(None, given)
        if step % (steps // 6) == 0:
            worst = max(worst, distance(results, _in_float64(case, given)))
        given.update(zip(case.input_names[1:], results[1:], strict=True))
    print(f"\n{steps} steps: {session.compilation_count} compilations, {worst:.1e} from float64")
    assert session.compilation_count <= 8
    assert worst <= tolerance(case.module)
