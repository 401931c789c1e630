"""Who computes a model: eager torch, torch.compile with a backend, or onnxruntime. Each has a copy of the module of its own.

Dynamo keeps compiled code by code object, and resetting it drops all: the function that calls a module is made anew, too.
"""

from __future__ import annotations

import copy
import io
import logging
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from benchmarks.studies.torch_models.models import Model

Results = list[Any]
Contender = Callable[[], Any]
"""Calls the model with its tensors."""


def eager(model: Model) -> Contender:
    """ATen, operator by operator."""
    return _calling(copy.deepcopy(model.module), model)


def onnxruntime(model: Model) -> Contender:
    """A session of the graph that torch.export gives, of one thread."""
    import onnxruntime as library

    options = library.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = library.InferenceSession(exported(model), options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    feeds = {name: arg.numpy() for name, arg in zip(names, model.args, strict=True)}
    return lambda: session.run(None, feeds)


def exported(model: Model) -> bytes:
    """The model as an ONNX file."""
    level, file = logging.root.manager.disable, io.BytesIO()
    logging.disable(logging.WARNING)
    try:
        torch.onnx.export(copy.deepcopy(model.module), model.args, dynamo=True, verbose=False).save(file)
    finally:
        logging.disable(level)
    return file.getvalue()


def tilewright(model: Model) -> Contender:
    """One graph by the backend of this checkout, whether or not it is installed."""
    from tilewright.torch import backend

    return _compiled(model, backend)


def inductor(model: Model) -> Contender:
    """One graph by inductor."""
    return _compiled(model, "inductor")


def freezing(model: Model) -> Contender:
    """The same with weights as constants: Dynamo must know it while it traces, so that options of the backend do not do."""
    with torch._inductor.config.patch(freezing=True):
        contender = _compiled(model, "inductor")
        contender()
    return contender


def _compiled(model: Model, backend: Any) -> Contender:
    torch._dynamo.config.allow_rnn = True
    return _calling(torch.compile(_of_its_own_code(copy.deepcopy(model.module)), backend=backend, fullgraph=True), model)


def _calling(function: Callable[..., Any], model: Model) -> Contender:
    args = model.args
    return lambda: function(*args)


def _of_its_own_code(module: Any) -> Callable[..., Any]:
    def call(*tensors: Any) -> Any:
        return module(*tensors)

    return types.FunctionType(call.__code__.replace(), call.__globals__, "call", None, call.__closure__)


CONTENDERS: Mapping[str, Callable[[Model], Contender]] = {
    contender.__name__: contender for contender in (tilewright, eager, inductor, freezing, onnxruntime)
}
"""By name; the first is judged by the others."""


def arrays(results: Any) -> Results:
    """Results of any contender as arrays of float64."""
    several = results if isinstance(results, tuple | list) else (results,)
    return [np.asarray(one.detach().numpy() if isinstance(one, torch.Tensor) else one, np.float64) for one in several]


def in_float64(model: Model) -> Results:
    """What torch computes in float64."""
    wide = [arg.double() if arg.is_floating_point() else arg for arg in model.args]
    return arrays(copy.deepcopy(model.module).double()(*wide))


def error(found: Results, exact: Results) -> float:
    """The largest difference of a result, over its largest value; of several results the worst.

    >>> error([np.array([1.0, 2.5])], [np.array([1.0, 2.0])])
    0.25
    """
    return max(float(np.abs(one - other).max() / np.abs(other).max()) for one, other in zip(found, exact, strict=True))
