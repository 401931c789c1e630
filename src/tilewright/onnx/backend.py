"""`onnx.backend.base.Backend` on Tilewright, for models and single nodes: `import tilewright.onnx.backend as backend`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper
from onnx.backend.base import Backend, BackendRep

from tilewright.api.onnx.session import InferenceSession
from tilewright.errors import TilewrightError

__all__ = ["Representation", "TilewrightBackend", "prepare", "run_model", "run_node", "supports_device"]


class Representation(BackendRep):  # type: ignore[misc]
    """A model that is ready to run."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """The outputs for arrays in the order of the inputs, or by name."""
        if not isinstance(inputs, dict):
            given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            inputs = dict(zip((declared.name for declared in self.session.get_inputs()), given, strict=False))
        return tuple(self.session.run(None, inputs))


class TilewrightBackend(Backend):  # type: ignore[misc]
    """The backend."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **options: Any) -> Representation:
        """A model that is ready to run. Raises `TilewrightError` for another device than the CPU."""
        if not cls.supports_device(device):
            raise TilewrightError(f"there is no device {device!r}", hint="use 'CPU'")
        return Representation(InferenceSession(model))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
        """The outputs of a model."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **options: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one node of the newest opset (`opset_version=` for another)."""
        arrays = [np.asarray(value) for value in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        names = [name for name in node.input if name]
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays, strict=True)
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, outputs)
        versions = [helper.make_opsetid(node.domain, options["opset_version"])] if "opset_version" in options else None
        return cls.run_model(helper.make_model(graph, opset_imports=versions), arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether it is the CPU."""
        return device.split(":")[0] == "CPU"


prepare = TilewrightBackend.prepare
run_model = TilewrightBackend.run_model
run_node = TilewrightBackend.run_node
supports_device = TilewrightBackend.supports_device
