"""Functions over arrays in L2 against torch, onnxruntime and NumPy: `python -m benchmarks.studies.function_speed [names]`.

One thread each, 65,536 float32 or 32,768 float64 numbers, calls in turns, the least time of each. onnxruntime runs a model of one
operator on bound arrays.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnx import helper

from benchmarks.studies.parts.function_loops import Library, loop
from benchmarks.studies.parts.function_references import OF_TWO, REFERENCES
from tilewright.tile.dialects.registry import dialects
from tilewright.tile.functions.registry import FAST, FLOATS

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], Any]
BYTES = 1 << 18
UNROLLED = 2
"""Registers that a loop takes at a time."""
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "pow"), (0.01, 10.0)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-0.99, 0.99)),
    "log1p": (-0.9, 10.0),
    "acosh": (1.01, 10.0),
}
OTHERS = (-6.0, 6.0)
ACTIVATIONS: Mapping[str, Callable[..., Any]] = {
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    **{name: getattr(torch.nn.functional, name) for name in ("silu", "softplus", "mish", "elu", "selu", "hardswish")},
}
OPERATORS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{name: (name.capitalize(), {}) for name in ("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh")},
    **{name: (name.capitalize(), {}) for name in ("tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "pow", "sqrt")},
    **{name: (name.capitalize(), {}) for name in ("softplus", "mish", "elu", "selu", "gelu")},
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
    "hardswish": ("HardSwish", {}),
}
"""ONNX operators and their attributes."""


def by_torch(name: str, operands: Sequence[Array], result: Array) -> Call | None:
    """Into an array where the function can."""
    tensors, out = [torch.from_numpy(one) for one in operands], torch.from_numpy(result)
    if name in ACTIVATIONS:
        return lambda: ACTIVATIONS[name](*tensors)
    function = getattr(torch, name, None)
    return (lambda: function(*tensors, out=out)) if function else None


def by_onnxruntime(name: str, operands: Sequence[Array], result: Array) -> Call | None:
    """A session of one operator; None where there is none of the type."""
    if name not in OPERATORS:
        return None
    operator, attributes = OPERATORS[name]
    kind, shape = helper.np_dtype_to_tensor_dtype(result.dtype), [result.size]
    names = [f"x{i}" for i in range(len(operands))]
    inputs = [helper.make_tensor_value_info(one, kind, shape) for one in names]
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "function", inputs, [helper.make_tensor_value_info("y", kind, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception:
        return None
    binding = session.io_binding()
    for one, array in zip(names, operands, strict=True):
        binding.bind_ortvalue_input(one, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(result))
    return lambda: session.run_with_iobinding(binding)


def by_numpy(name: str, operands: Sequence[Array], result: Array) -> Call | None:
    """Functions that are NumPy's."""
    function = getattr(np, f"arc{name[1:]}" if name.startswith("a") else {"pow": "power"}.get(name, name), None)
    return (lambda: function(*operands, out=result)) if isinstance(function, np.ufunc) else None


def least(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Seconds of each, in turns."""
    times = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            started = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - started)
    return times


def measured(library: Library, name: str, dtype: str, rounds: int) -> dict[str, float]:
    """Seconds of all that have the function."""
    size, rng = BYTES // np.dtype(dtype).itemsize, np.random.default_rng(3)
    operands = [rng.uniform(*RANGES.get(name, OTHERS), size).astype(dtype) for _ in range(1 + (name in OF_TWO))]
    arrays = [np.zeros(size, dtype) for _ in range(5)]
    calls: dict[str, Call | None] = {
        "tilewright": library.call(f"{name}_{dtype}", *operands, arrays[0]),
        "torch": by_torch(name, operands, arrays[1]),
        "onnxruntime": by_onnxruntime(name, operands, arrays[2]),
        "numpy": by_numpy(name, operands, arrays[3]),
    }
    if name in FAST and dtype == "float32":
        calls["fast form"] = library.call(f"fast_{name}_{dtype}", *operands, arrays[4])
    return least({who: call for who, call in calls.items() if call}, rounds)


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    """Print a line for each function, and geometric means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(REFERENCES))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--dialect", default="avx512")
    given = parser.parse_args()
    torch.set_num_threads(1)
    dialect = dialects()[given.dialect]
    ratios: dict[str, list[float]] = {}
    for dtype in ("float32", "float64"):
        lanes = UNROLLED * dialect.lanes(dtype)
        forms = {name: FLOATS[name] for name in given.names}
        if dtype == "float32":
            forms |= {f"fast_{name}": FAST[name] for name in given.names if name in FAST}
        library = Library(
            dialect, [loop(f"{name}_{dtype}", one, dtype, 1 + (name in OF_TWO), lanes) for name, one in forms.items()]
        )
        for name in given.names:
            times = measured(library, name, dtype, given.rounds)
            ours = times.pop("tilewright")
            others = "  ".join(f"{who} {seconds / ours:5.2f}" for who, seconds in times.items())
            cycles = 1e9 * ours * 64 / BYTES
            print(f"{name:10} {dtype} {1e6 * ours:8.1f} us, {cycles:6.2f} ns a vector; {others}", flush=True)
            for who, seconds in times.items():
                ratios.setdefault(who, []).append(seconds / ours)
    for who, found in ratios.items():
        print(f"{who}: {geometric_mean(found):.2f} times our time, at least {min(found):.2f}, of {len(found)} functions")


if __name__ == "__main__":
    main()
