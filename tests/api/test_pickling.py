"""Jitted functions are pickled as functions are: by name where their name is bound to them, by value where a pickler does so."""

from __future__ import annotations

import copy
import importlib
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import numpy as np
import pytest
from onnx import parser

import tilewright as tw
import tilewright.onnx as ort
from tilewright.errors import NotPicklable, TilewrightError
from tilewright.plan import reasons  # noqa: F401  # whose error takes more than a message
from tilewright.tune.schedules import chain_case  # noqa: F401  # the same

MODULE = """
import tilewright as tw

@tw.jit(precision="strict")
def double(x, *, factor=2):
    return x * factor

def plain(x):
    return x + 1

one_more = tw.jit(plain, dynamic=False)

class Space:
    @tw.jit
    def halve(x):
        return x / 2

def scaled(factor):
    @tw.jit
    def scale(x):
        return x * factor
    return scale
"""
X = np.arange(6, dtype=np.float32)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that other processes can import, too."""
    tmp_path.joinpath("pickled_functions.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.delitem(sys.modules, "pickled_functions", raising=False)
    return importlib.import_module("pickled_functions")


def dump_in_python(value: object, protocol: int) -> bytes:
    """As Python's pickler, of which joblib's hash is a kind, does it; not C's."""
    return pickle._dumps(value, protocol)  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dump", [pickle.dumps, dump_in_python, cloudpickle.dumps])
def test_a_name_that_is_bound_to_it_is_enough(module: ModuleType, dump: Callable[..., bytes], protocol: int) -> None:
    for function in (module.double, module.Space.halve):
        assert pickle.loads(dump(function, protocol)) is function


def test_a_function_that_was_jitted_under_another_name_is_pickled_with_the_options(module: ModuleType) -> None:
    loaded = pickle.loads(pickle.dumps(module.one_more))
    assert loaded is not module.one_more
    assert loaded.function is module.plain
    assert loaded._told == module.one_more._told


def test_cloudpickle_takes_closures_and_lambdas_along(module: ModuleType) -> None:
    for function in (module.scaled(3.0), tw.jit(lambda x, factor=5: x * factor, static_argnames="factor")):
        loaded = pickle.loads(cloudpickle.dumps(function))
        np.testing.assert_array_equal(loaded(X, interpret=True), function(X, interpret=True))
        assert (loaded.__qualname__, loaded._binder.static_names) == (function.__qualname__, function._binder.static_names)


def test_what_pickle_says_of_a_closure_names_it(module: ModuleType) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match=r"scaled\.<locals>\.scale"):
        pickle.dumps(module.scaled(3.0))


def all_kinds(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for below in kind.__subclasses__():
        yield from all_kinds(below)


@pytest.mark.parametrize("kind", sorted({*all_kinds(TilewrightError)}, key=lambda kind: kind.__name__))
def test_errors_come_back_from_other_processes(kind: type[TilewrightError]) -> None:
    error = kind.__new__(kind, "message")
    TilewrightError.__init__(error, "message", where="here", hint="this")
    error.more = (1, 2)
    loaded = pickle.loads(pickle.dumps(error))
    assert (type(loaded), str(loaded), vars(loaded), loaded.args) == (kind, str(error), vars(error), error.args)


MAIN = """
import cloudpickle, pickle, sys
import tilewright as tw

@tw.jit(precision="strict")
def exponential(x):
    return tw.exp(x)

@tw.jit
def softplus(x):
    return tw.log(exponential(x) + 1)

assert pickle.loads(pickle.dumps(softplus)) is softplus
sys.stdout.buffer.write(cloudpickle.dumps(softplus))
"""


def test_cloudpickle_takes_functions_of_main_along(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(MAIN)
    pickled = subprocess.run([sys.executable, str(script)], capture_output=True, check=True).stdout
    loaded = pickle.loads(pickled)
    assert isinstance(loaded, tw.Jitted)
    assert (loaded.__module__, loaded.__qualname__) == ("__main__", "softplus")
    np.testing.assert_allclose(loaded(X, interpret=True), np.log(np.exp(X) + 1), rtol=1e-6)


def call(function: Callable[[Any], Any], x: Any) -> Any:
    return function(x)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_call_them(module: ModuleType, method: str) -> None:
    module.double(X)
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.starmap(module.double, [(X,), (2 * X,)])
    np.testing.assert_array_equal(found, [2 * X, 4 * X])


def test_a_copy_is_the_same_object() -> None:
    function = tw.jit(lambda x: x * 2)
    kernel = function.lower(X).compile()
    for value in (function, kernel):
        assert copy.copy(value) is value
        assert copy.deepcopy({"value": value})["value"] is value


def test_what_was_planned_is_compiled_elsewhere() -> None:
    weights = np.arange(12, dtype=np.float32).reshape(6, 2)
    lowered = tw.jit(lambda x: {"y": x @ weights}, target="x86-64-v2", precision="strict").lower(tw.spec((tw.Dim("n", 1, 9), 6)))
    loaded = pickle.loads(pickle.dumps(lowered))
    assert loaded.explain() == lowered.explain()
    x = np.ones((3, 6), np.float32)
    np.testing.assert_array_equal(loaded.compile()(x)["y"], x @ weights)


@pytest.mark.parametrize("dump", [pickle.dumps, cloudpickle.dumps])
def test_what_lives_in_one_process_says_so(dump: Callable[[object], bytes]) -> None:
    model = parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }')
    session = ort.InferenceSession(model.SerializeToString(), prepare=False)
    for value, advice in ((tw.jit(lambda x: x * 2).lower(X).compile(), "lower"), (session, "path")):
        with pytest.raises(NotPicklable, match="cannot be pickled") as caught:
            dump(value)
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, TilewrightError)
        assert advice in caught.value.hint
    with pytest.raises(NotPicklable):
        copy.deepcopy(session)
