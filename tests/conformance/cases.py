"""The cases of `onnx.backend.test`: models with inputs and the outputs that are expected."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import base
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from onnx.reference.ops import op_pool_common

from tests.conformance.expected import TOLERANCES

KINDS = ("node", "simple", "real", "pytorch-converted", "pytorch-operator")
FAMILIES = re.compile(
    r"test_(attention|conv|basic_conv|matmul|gemm|softmax|logsoftmax|averagepool|maxpool|globalaveragepool|globalmaxpool|lppool"
    r"|batchnorm|instancenorm|group_norm|layer_normalization|rms_normalization|lpnormalization|l[12]normalization|mvn|lrn"
    r"|relu|leakyrelu|prelu|elu|selu|celu|gelu|sigmoid|hardsigmoid|hardswish|swish|mish|softplus|softsign|tanh_|tanh$|thresholdedrelu"
    r"|hardmax|rotary_embedding)"
)
"""Node tests that are always compiled. They are run at every change, with some of the others (`Case.is_drawn`); of attention with
its heads in rows, which only splits them, as many as of the others."""
DRAWN = re.compile("test_bernoulli")
"""Tests whose results are drawn at random."""
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
_LOOPS = op_pool_common.pool


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One case: a model, and pairs of inputs and expected outputs."""

    kind: str
    name: str
    test: Any

    def model(self) -> onnx.ModelProto:
        """The model."""
        if self.test.model is not None:
            return self.test.model
        if self.kind == "real":
            return onnx.load(LIGHT / Path(self.test.url).name)
        return onnx.load(Path(self.test.model_dir) / "model.onnx")

    def data_sets(self, model: onnx.ModelProto) -> Iterator[tuple[list[Any], list[Any]]]:
        """Inputs and expected outputs."""
        if self.test.data_sets is not None:
            yield from (([*map(_array, inputs)], [*map(_array, outputs)]) for inputs, outputs in self.test.data_sets)
        elif self.kind == "real":
            yield _real_data(model, Path(self.test.url).stem)
        else:
            for directory in sorted(Path(self.test.model_dir).glob("test_data_set_*")):
                yield (
                    [_loaded(directory / f"input_{i}.pb", one.type) for i, one in enumerate(_fed(model, directory))],
                    [_loaded(directory / f"output_{i}.pb", one.type) for i, one in enumerate(model.graph.output)],
                )

    def is_drawn(self) -> bool:
        """Whether it is in the fixed third, by a hash of its name; of the graphs that ONNX makes of operators, a ninth is."""
        return hashlib.sha256(self.name.encode()).digest()[0] % (9 if "_expanded" in self.name else 3) == 0

    def is_of_family(self) -> bool:
        """Whether it is of a family that is compiled; what ONNX makes of such an operator is a case like all others."""
        return self.kind == "node" and FAMILIES.match(self.name) is not None and "_expanded" not in self.name

    def is_everyday(self) -> bool:
        """Whether it is run at every change: whole networks, which take a minute, are swept; small ones are in tests/models."""
        is_always = self.kind == "simple" or (self.is_of_family() and not self.name.startswith("test_attention"))
        return self.kind != "real" and (is_always or self.is_drawn())

    def check(self, outputs: Any, expected: Any) -> None:
        """Raise `AssertionError` unless the outputs are the expected ones, by the suite's own comparison.

        Sequences are compared element by element, since the suite fails at those of 0-d tensors. Of draws, which the standard
        leaves to the implementation, only shapes and types count, and that they are 0 or 1.
        """
        assert [*map(_form, outputs)] == [*map(_form, expected)]
        found, wanted = ([*_tensors(values)] for values in (outputs, expected))
        if DRAWN.match(self.name):
            found = [np.where((one == 0) | (one == 1), other, one) for one, other in zip(found, wanted, strict=True)]
        rtol, _ = TOLERANCES.get(self.name, (self.test.rtol, ""))
        Runner.assert_similar_outputs(wanted, found, rtol=rtol, atol=self.test.atol, model_dir=self.name)


@cache
def cases() -> tuple[Case, ...]:
    """All cases. Of the 6 s that onnx takes to make those of nodes, three large pools take 5; texts for its documentation, 1."""
    pools, texts = patch.object(op_pool_common, "pool", _pooled), patch.object(base, "process_snippet", lambda *_: ("", ""))
    with warnings.catch_warnings(), np.errstate(all="ignore"), pools, texts:
        warnings.simplefilter("ignore")
        return tuple(Case(kind, test.name, test) for kind in KINDS for test in load_model_tests(kind=kind))


def _pooled(padded: Any, shape: Any, kernel: Any, strides: Any, out_shape: Any, kind: str, *others: Any, **options: Any) -> Any:
    """The pool of onnx's reference implementation; all windows at once where nothing is padded, in steps of one."""
    if others or options.keys() - {"p"} or set(strides) != {1}:
        return _LOOPS(padded, shape, kernel, strides, out_shape, kind, *others, **options)
    spatial = tuple(range(2, padded.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, spatial)
    inner = tuple(range(-len(kernel), 0))
    if kind == "LPPOOL":
        p = options["p"]
        return ((np.abs(windows) ** p).sum(axis=inner) ** (1 / p)).astype(padded.dtype)
    return windows.max(axis=inner) if kind == "MAX" else windows.mean(axis=inner)


def _form(value: Any) -> Any:
    """How sequences are nested: lists of forms, None for a tensor."""
    return [_form(one) for one in value] if isinstance(value, list) else None


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in sequences, in order."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)
    elif value is not None:
        yield value


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _fed(model: onnx.ModelProto, directory: Path) -> list[Any]:
    count = len(list(directory.glob("input_*.pb")))
    return list(model.graph.input)[:count]


def _loaded(path: Path, kind: Any) -> Any:
    content = path.read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def _real_data(model: onnx.ModelProto, stem: str) -> tuple[list[Any], list[Any]]:
    """The input that the suite generates, and the outputs that lie beside the model."""
    constants = {one.name for one in model.graph.initializer}
    inputs = []
    for one in model.graph.input:
        if one.name not in constants:
            shape = tuple(dim.dim_value if dim.HasField("dim_value") else 1 for dim in one.type.tensor_type.shape.dim)
            size = int(np.prod(shape))
            inputs.append((np.arange(size).reshape(shape) / size).astype(np.float32))
    outputs = [LIGHT / f"{stem}_output_{number}.pb" for number in range(len(model.graph.output))]
    return inputs, [_loaded(path, one.type) for path, one in zip(outputs, model.graph.output, strict=True)]
