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

from tilewright.backends.triton_gpu.interpreter import mend


def main() -> None:
    """All tasks of one kernel."""
    given = pickle.loads(sys.stdin.buffer.read())
    mend()
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


def _tensor(array: Any) -> Any:
    import numpy
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


if __name__ == "__main__":
    main()
