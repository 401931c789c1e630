"""Kernels and jitted functions in packages."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import jit

WEIGHTS = np.random.default_rng(9).standard_normal((8, 20), np.float32)
Pair = namedtuple("Pair", "first second")


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def layer(x: Any, options: Any, *, scale: float = 2.0, kind: str = "relu") -> Any:
    y = x @ WEIGHTS
    return {"y": tw.relu(y) * scale if kind == "relu" else y, "rest": [options["bias"] + y, kind, None]}


def test_a_kernel_is_called_like_the_function(tmp_path: Path) -> None:
    args = random(5, 8), {"bias": random(20, seed=1)}
    kernel = jit(layer, static_argnames=("kind",)).lower(*args, kind="none").compile()
    kernel.save(tmp_path / "layer.tw")
    loaded = tw.load(tmp_path / "layer.tw", threads=1)
    expected, found = kernel(*args, kind="none"), loaded(*args, kind="none")
    np.testing.assert_array_equal(found["y"], expected["y"])
    np.testing.assert_array_equal(found["rest"][0], expected["rest"][0])
    assert found["rest"][1:] == ["none", None]
    with pytest.raises(tw.ShapeError, match="do not have the structure"):
        loaded(*args, kind="relu")
    with pytest.raises(TypeError, match="missing a required argument"):
        loaded(args[0])
    with pytest.raises(tw.TilewrightError, match="a saved kernel has no"):
        _ = loaded.source
    assert loaded.explain() == kernel.explain()
    loaded.save(tmp_path / "again.tw")
    assert (tmp_path / "again.tw").read_bytes() == (tmp_path / "layer.tw").read_bytes()


def test_a_function_has_the_kernels_that_were_made(tmp_path: Path) -> None:
    function = jit(lambda x, y: tw.exp(x) + y)
    with pytest.raises(tw.TilewrightError, match="has no kernels to save"):
        function.save(tmp_path / "none.tw")
    for rows in (3, 4, 9):
        function(random(rows, 8), random(8))
    function(random(2, 3, 8), random(8))
    function.save(tmp_path / "function.tw")
    loaded = tw.load(tmp_path / "function.tw")
    assert len(loaded.kernels) == len(function.kernels)
    for x in (random(3, 8), random(70, 8), random(2, 3, 8)):
        np.testing.assert_array_equal(loaded(x, random(8)), function(x, random(8)))
        out = np.empty_like(x)
        assert loaded(x, random(8), out=out) is out
    with pytest.raises(tw.ShapeError, match="has no kernel for this call"):
        loaded(random(5, 4, 8), random(8))
    with pytest.raises(tw.ShapeError, match="has no kernel for this call"):
        loaded(random(3, 9), random(9))


def test_classes_of_a_program_are_not_saved(tmp_path: Path) -> None:
    kernel = jit(lambda pair: pair.first + pair.second).lower(Pair(random(3), random(3))).compile()
    with pytest.raises(tw.TilewrightError, match="takes or returns a Pair cannot be saved"):
        kernel.save(tmp_path / "pair.tw")
    with pytest.raises(tw.TilewrightError, match="cannot be saved to"):
        jit(lambda x: x + 1).lower(random(3)).compile().save(tmp_path / "nowhere" / "kernel.tw")
    assert list(tmp_path.iterdir()) == []
