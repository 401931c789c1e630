"""A process in which Triton interprets a kernel: a pickled task on standard input, the memory of C of every run on the output.

`TRITON_INTERPRET` is set before Triton is imported, which functions of its language need, too.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any


def main() -> None:
    """All tasks of one kernel."""
    given = pickle.loads(sys.stdin.buffer.read())
    _widen_bfloat16_dots()
    answer = sys.stdout.buffer
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "interpreted_kernel.py"
        file.write_text(given["text"])
        spec: Any = importlib.util.spec_from_file_location("interpreted_kernel", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function = getattr(module, given["function"])
        warnings.simplefilter("ignore")  # of NumPy, about NaN and infinities
        found = [_run(function, task) for task in given["tasks"]]
    answer.write(pickle.dumps(found))


def _run(function: Any, task: dict[str, Any]) -> Any:
    tensors = [_tensor(array) for array in task["memory"]]
    function[task["grid"]](*tensors, **task["constants"])
    return tensors[2].numpy()


def _widen_bfloat16_dots() -> None:
    """Triton 3.9.0 interprets a dot of bfloat16 as one of the integers that hold their bits: give it float32, which is exact."""
    import numpy
    import triton.language as tl
    from triton.runtime import interpreter

    builder: Any = interpreter.InterpreterBuilder
    plain = builder.create_dot

    def widened(operand: Any) -> Any:
        if operand.dtype.scalar != tl.bfloat16 or operand.data.dtype != numpy.uint16:
            return operand
        bits = operand.data.astype(numpy.uint32) << 16
        return interpreter.TensorHandle(bits.view(numpy.float32), tl.float32)

    builder.create_dot = lambda self, a, b, *others: plain(self, widened(a), widened(b), *others)


def _tensor(array: Any) -> Any:
    import numpy
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


if __name__ == "__main__":
    main()
