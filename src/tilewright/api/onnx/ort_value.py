"""`OrtValue` and `IOBinding` of onnxruntime: values outside of feeds, and where results go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tilewright.errors import DTypeError, ShapeError, TilewrightError
from tilewright.frontend.onnx.element_types import element_type as known_type
from tilewright.frontend.onnx.element_types import onnx_name, onnx_number
from tilewright.ort_errors import RefusedByBinding, raised_as
from tilewright.runtime.arrays import as_array


class Runs(Protocol):
    """What a binding asks of a session."""

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """The results of a run."""

    def get_inputs(self) -> Sequence[Any]:
        """The inputs that a call must give."""

    def get_overridable_initializers(self) -> Sequence[Any]:
        """The inputs that have a default."""

    def run_into(self, targets: Mapping[str, Any], input_feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """The same of the outputs of these names, which may be written to the arrays behind the names."""


class OrtValue:
    """A value that a session takes or gives: an array or a list of arrays; its memory is shared."""

    def __init__(self, content: Any) -> None:
        self._content = content

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """A value with the memory of an array. Raises `RefusedByBinding` for another device than the CPU."""
        _check_device(device_type)
        return OrtValue(as_array(numpy_obj))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int],
        element_type: Any,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: Any = None,
    ) -> OrtValue:
        """A value of zeros. Raises `DTypeError` for an element type that there is not, by ONNX's number or by NumPy's name."""
        _check_device(device_type)
        try:
            return OrtValue(np.zeros(tuple(shape), known_type(element_type)))
        except DTypeError as problem:
            raise raised_as(problem, RefusedByBinding) from None

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Any, onnx_element_type: int) -> OrtValue:
        """A value with the memory of an array, whose bytes are elements of an ONNX type (uint16 holds bfloat16, 16).

        Raises `DTypeError` for types of other sizes.
        """
        array, dtype = as_array(data), known_type(onnx_element_type)
        if array.dtype.itemsize != dtype.itemsize:
            raise DTypeError(f"elements of {array.dtype} cannot hold {dtype}", where="ortvalue_from_numpy_with_onnx_type")
        return OrtValue(array.view(dtype))

    @staticmethod
    def from_dlpack(data: Any) -> OrtValue:
        """A value with the memory of a tensor of another library."""
        return OrtValue(np.from_dlpack(data))

    def numpy(self) -> Any:
        """The array, or the list of arrays."""
        return self._content

    def shape(self) -> list[int]:
        """The extents."""
        return list(np.shape(self._content))

    def data_type(self) -> str:
        """`tensor(float)` and so on."""
        return f"tensor({onnx_name(np.asarray(self._content).dtype)})"

    def element_type(self) -> int:
        """The number of the element type in ONNX."""
        return onnx_number(np.asarray(self._content).dtype)

    def tensor_size_in_bytes(self) -> int:
        """The bytes of all elements."""
        return int(np.asarray(self._content).nbytes)

    def is_tensor_sequence(self) -> bool:
        """Whether it is a list of arrays."""
        return isinstance(self._content, list)

    def is_sparse_tensor(self) -> bool:
        """No."""
        return False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._content, dtype) if not copy else np.array(self._content, dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._content.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._content.__dlpack_device__()

    def device_name(self) -> str:
        """cpu."""
        return "cpu"

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._content.ctypes.data)

    def is_tensor(self) -> bool:
        """Whether it is an array."""
        return isinstance(self._content, np.ndarray)

    def has_value(self) -> bool:
        """Whether it is anything."""
        return self._content is not None

    def update_inplace(self, data: Any) -> None:
        """Copy an array into it. Raises `ShapeError` for one of another shape (a RuntimeError, too)."""
        if np.shape(data) != np.shape(self._content):
            why = f"the value has {self.shape()}"
            problem = ShapeError(f"the array has shape {np.shape(data)}", where="update_inplace", why=why)
            raise raised_as(problem, RefusedByBinding)
        np.copyto(self._content, data, casting="unsafe")


class IOBinding:
    """Inputs and outputs that are bound before a run."""

    def __init__(self, session: Runs) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """An input. Raises `RefusedByBinding` (a RuntimeError) for a name that the model does not have."""
        self._check_input(name)
        self._inputs[name] = as_array(arr_on_cpu)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """An input. Raises as `bind_cpu_input`."""
        self._check_input(name)
        self._inputs[name] = ortvalue.numpy()

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Any, buffer_ptr: int) -> None:
        """Refused: Raises `RefusedByBinding`."""
        hint = "use bind_cpu_input or bind_ortvalue_input"
        raise RefusedByBinding("inputs at addresses are refused", where="bind_input", hint=hint)

    def _check_input(self, name: str) -> None:
        names = [one.name for one in (*self._session.get_inputs(), *self._session.get_overridable_initializers())]
        if name not in names:
            why = f"its inputs are {', '.join(names) or 'none'}"
            raise RefusedByBinding(f"the model has no input {name!r}", where="IOBinding", why=why)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """An output, in memory of its own. Raises `RefusedByBinding` (a RuntimeError) for an address and for another device."""
        _check_device(device_type)
        if buffer_ptr:
            raise RefusedByBinding("outputs at addresses are refused", where="bind_output", hint="use bind_ortvalue_output")
        self._outputs[name] = None

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """An output that is written to this value."""
        self._outputs[name] = ortvalue

    def run(self, run_options: Any = None) -> None:
        """Run the session on what is bound. Every error is a RuntimeError, too."""
        try:
            self._run(run_options)
        except TilewrightError as problem:
            raise raised_as(problem, RefusedByBinding) from problem.__cause__

    def _run(self, run_options: Any) -> None:
        if not self._outputs:
            self._results = [OrtValue(result) for result in self._session.run(None, self._inputs, run_options)]
            return
        targets = {name: None if target is None else target.numpy() for name, target in self._outputs.items()}
        results = self._session.run_into(targets, self._inputs, run_options)
        self._results = [_stored(target, result) for target, result in zip(self._outputs.values(), results, strict=True)]

    def is_of(self, session: Runs) -> bool:
        """Whether a session made it."""
        return self._session is session

    def get_outputs(self) -> list[OrtValue]:
        """The results of the last run."""
        return self._results

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The results of the last run as arrays."""
        return [value.numpy() for value in self._results]

    def synchronize_inputs(self) -> None:
        """Nothing to wait for."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for."""

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs.clear()


def _stored(target: OrtValue | None, result: Any) -> OrtValue:
    if target is None:
        return OrtValue(result)
    if result is target.numpy():
        return target
    if np.shape(target.numpy()) != np.shape(result):
        why = f"the result has {np.shape(result)}"
        raise ShapeError(f"a bound output has shape {target.shape()}", where="IOBinding", why=why)
    target.update_inplace(result)
    return target


def _check_device(device_type: str) -> None:
    if device_type != "cpu":
        raise RefusedByBinding(f"there is no device {device_type!r}", hint="use 'cpu'")


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    """Copy values into others. Raises as `OrtValue.update_inplace`."""
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source.numpy())
