"""torch.compile sees a call of a jitted function as one operator, that of a kernel or a session as a place where its graph ends.

Nothing inside of a call is traced. `test_torch_operators.py` has what is computed.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")

BEGIN = """
from pathlib import Path

@tw.jit
def product(x, w):
    return tw.relu(tw.matmul(x, w))

def traced():
    from torch._dynamo.convert_frame import input_codes
    package = str(Path(tw.__file__).parent)
    return {code.co_name for code in (seen() for seen in input_codes.seen) if code.co_filename.startswith(package)}
"""
FUNCTION = """
x, w = torch.randn(5, 6), torch.randn(6, 7)

def network(x, w):
    return product(x * 2, w) + product(x, w) + 1

expected = 3 * torch.relu(x @ w) + 1
assert torch.allclose(torch.compile(network, backend="eager")(x, w), expected, atol=1e-5)
assert torch.allclose(torch.compile(product, backend="eager")(x, w), torch.relu(x @ w), atol=1e-5)
print(len(traced()))
"""
OTHERS = """
import numpy as np, tilewright.onnx as ort
from onnx import parser
kernel = product.lower(x, w).compile()
model = parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[5, 6] x) => (float[5, 6] y) { y = Relu(x) }')
session = ort.InferenceSession(model.SerializeToString())

def of_a_kernel(x, w):
    return kernel(x, w) + 1

def of_a_session(x):
    return session.run(None, {"x": x * 2})[0] + 1

assert np.allclose(torch.compile(network, backend="eager")(x.numpy(), w.numpy()), expected, atol=1e-5)
assert torch.allclose(torch.compile(of_a_kernel, backend="eager")(x, w), torch.relu(x @ w) + 1, atol=1e-5)
assert np.allclose(torch.compile(of_a_session, backend="eager")(x), torch.relu(2 * x) + 1)
assert not traced(), traced()
torch._dynamo.reset()
assert torch.allclose(torch.compile(network, backend="eager", fullgraph=True)(x, w), expected, atol=1e-5)
try:
    torch.compile(of_a_kernel, backend="eager", fullgraph=True)(x, w)
except torch._dynamo.exc.Unsupported as problem:
    print("Tilewright runs a kernel of its own" in str(problem))
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nothing_inside_of_a_call_is_traced() -> None:
    assert run("import torch, tilewright as tw" + BEGIN + FUNCTION + OTHERS) == "0\nTrue\n"


@pytest.mark.ci
def test_nothing_is_traced_where_torch_is_imported_later() -> None:
    assert run("import tilewright as tw" + BEGIN + "import torch" + FUNCTION) == "0\n"


def test_torch_is_not_imported() -> None:
    assert run("import sys, tilewright as tw" + BEGIN + "print('torch' in sys.modules)") == "False\n"
