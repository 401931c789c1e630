"""A process whose cache is full needs no compiler, and looks for none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.hand_written import dot
from tilewright.runtime import executable, libraries, toolchain
from tilewright.runtime.cache import KernelCache
from tilewright.runtime.library_index import LibraryIndex

USER = """
import hashlib, json
import numpy as np
import tilewright as tw
import tilewright.onnx as ort
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)

@tw.jit
def attention(q, k, v):
    scores = tw.einsum("bmk,bkl->bml", q, k)
    return tw.einsum("bml,bln->bmn", tw.softmax(scores, axis=-1), v)

q, k, v = (random.standard_normal(shape, np.float32) for shape in ((2, 5, 4), (2, 4, 6), (2, 6, 3)))
weights = random.standard_normal((8, 2, 3, 3), np.float32)
graph = helper.make_graph(
    [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])],
    "small",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 6, 6])],
    [numpy_helper.from_array(weights, "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
session = ort.InferenceSession(model.SerializeToString())
results = [attention(q, k, v), *session.run(None, {"x": random.standard_normal((1, 2, 6, 6), np.float32)})]
print(json.dumps([hashlib.sha256(np.ascontiguousarray(one)).hexdigest() for one in results]))
"""
BLOCKED = """
import sys
sys.modules["ziglang"] = None
refused = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
def hook(event, arguments):
    looks = event == "open" and str(arguments[0]).endswith("toolchains.json")
    if event in refused or looks:
        raise AssertionError(f"a compiler was probed: {event} {arguments}")
sys.addaudithook(hook)
"""


def results(cache: Path, *, blocked: bool, **variables: str) -> list[str]:
    """Digests of what a process computes with a cache; `blocked`, it has no PATH, no ziglang, and may start no process."""
    environment = {name: value for name, value in os.environ.items() if name not in ("TILEWRIGHT_CC", "TILEWRIGHT_DUMP_DIR")}
    environment |= {"TILEWRIGHT_CACHE_DIR": str(cache), **({"PATH": ""} if blocked else {}), **variables}
    command = [sys.executable, "-c", (BLOCKED if blocked else "") + USER]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert answer.returncode == 0, answer.stderr
    return list(json.loads(answer.stdout))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A cache, and what the process that filled it computed."""
    cache = tmp_path_factory.mktemp("filled") / "cache"
    return cache, results(cache, blocked=False)


def test_a_full_cache_serves_without_a_compiler(filled: tuple[Path, list[str]]) -> None:
    cache, expected = filled
    (cache / toolchain.PROBE_FILE).unlink()
    assert results(cache, blocked=True) == expected
    assert not (cache / toolchain.PROBE_FILE).exists()
