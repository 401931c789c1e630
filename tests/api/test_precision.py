"""Precision: algorithms whose errors are larger are used by whoever allows them, and by nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.onnx as ort
from tests.support.onnx_models import info, model
from tilewright.cli.main import main
from tilewright.errors import DTypeError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import Tensor
from tilewright.plan.algorithms import as_written
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.whole_model import algorithm_choice
from tilewright.precision import Precision

pytestmark = pytest.mark.unverified
X, W = np.ones((6, 5), np.float32), np.ones((5, 4), np.float32)
SIGNS = {"strict": 1, "float32": 1, "fast": -1}
"""Of the product with every precision."""


def negated(problem: Problem, builder: Builder) -> Tensor:
    """A product with the wrong sign: whoever uses it shows that."""
    return builder.map("negative", builder.matmul(problem.operand(0), problem.operand(1)))


NEGATED = Algorithm(
    "negated", Licence.RANGE, lambda problem: problem.operator.is_contraction(), negated, precision=Precision.FAST
)


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An algorithm of the least accuracy computes products wherever it is allowed; no test finds kernels of it."""

    def applicable(problem: Problem, precision: Precision) -> tuple[Algorithm, ...]:
        is_allowed = NEGATED.is_allowed(problem, precision) and NEGATED.applies(problem)
        return (NEGATED if is_allowed else as_written.AS_WRITTEN,)

    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(algorithm_choice, "applicable", applicable)


def product(x: Any, w: Any) -> Any:
    return x @ w


def product_model() -> bytes:
    from onnx import helper

    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [6, 5]), info("w", [5, 4])], [info("y", [6, 4])])
    return proto.SerializeToString()


def test_functions() -> None:
    """In turns, with one cache."""
    for precision, sign in SIGNS.items():
        function = tw.jit(product, precision=precision)
        assert (function(X, W) == 5 * sign).all()
        assert ("negative" in function.lower(X, W).explain()) == (sign < 0)
        assert ("negative" in function.kernels[0].explain()) == (sign < 0)


def test_sessions() -> None:
    for precision, sign in SIGNS.items():
        session = ort.InferenceSession(product_model(), precision=precision)
        assert (session.run(None, {"x": X, "w": W})[0] == 5 * sign).all()
        assert ("negative" in session.explain()) == (sign < 0)


def test_the_default_is_float32() -> None:
    assert (tw.jit(product)(X, W) == 5).all()
    assert (ort.InferenceSession(product_model()).run(None, {"x": X, "w": W})[0] == 5).all()


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(product_model())
    for precision, sign in SIGNS.items():
        for command in (["explain", str(path)], ["explain", "G1"]):
            assert main([*command, "--target", "zen4", "--precision", precision]) == 0
            assert ("negative" in capsys.readouterr().out) == (sign < 0)
    for name, array in (("x", X), ("w", W)):
        np.save(tmp_path / f"{name}.npy", array)
    inputs = [text for name in "xw" for text in ("--input", f"{name}={tmp_path / name}.npy")]
    assert main(["run", str(path), *inputs, "--precision", "fast"]) == 0
    assert "-5 to -5" in capsys.readouterr().out


def test_what_is_no_precision_is_refused() -> None:
    with pytest.raises(DTypeError, match="precision='half' is not available"):
        ort.InferenceSession(product_model(), precision="half")
    with pytest.raises(DTypeError, match="precision=16 is not available"):
        tw.jit(product, precision=16)  # type: ignore[call-overload]
