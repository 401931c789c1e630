"""Packages of kernels on the command line: called by the names of their arrays, as sessions of models are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.errors import TilewrightError


class KernelSession:
    """A kernel, asked and called as an `InferenceSession`: inputs are called as in its program, results by their places."""

    def __init__(self, kernel: Any) -> None:
        """`kernel` is what `tw.load` gives of a package of a kernel."""
        self._kernel = kernel

    def get_inputs(self) -> list[Any]:
        """The arrays of a call, as `NodeArg`s."""
        from tilewright.api.onnx.session import NodeArg
        from tilewright.dtypes import dtype_named
        from tilewright.frontend.onnx.element_types import onnx_name

        return [
            NodeArg(slot.name, f"tensor({onnx_name(dtype_named(slot.dtype))})", list(slot.shape)) for slot in self._kernel.inputs
        ]

    def get_outputs(self) -> list[Any]:
        """The arrays of the result, as `NodeArg`s of which the names are known: `result`, `result[0]`, `result['loss']`."""
        from tilewright.api.onnx.session import NodeArg

        return [NodeArg(name, "", []) for name in self._kernel.result_names]

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The least and the largest extent of every dimension."""
        return self._kernel.ranges  # type: ignore[no-any-return]

    def run(self, output_names: None, feeds: Mapping[str, Any]) -> list[Any]:
        """The arrays of the result. Raises `TilewrightError` for names of no input, and as a call of the kernel."""
        from tilewright.api.calls import pytree
        from tilewright.api.calls.calling import is_array

        names = [slot.name for slot in self._kernel.inputs]
        if unknown := [name for name in feeds if name not in names]:
            why = f"its inputs are {', '.join(names) or 'none'}"
            raise TilewrightError(f"the kernel has no input {unknown[0]!r}", where="--input", why=why)
        result = self._kernel.run(tuple(feeds[name] for name in names), None, None)
        return list(pytree.flatten(result, is_array).leaves)

    def profile(self, feeds: Mapping[str, Any]) -> str:
        """Raises `TilewrightError`: nobody knows what the chains of a saved kernel should take."""
        hint = "profile the jitted function, or the model"
        raise TilewrightError("a saved kernel cannot be profiled", where="--profile", hint=hint)


def of_package(path: str, threads: int | None = None) -> Any:
    """The session of a package, be it of a model or of a kernel. Raises `TilewrightError` for all else, and as `tw.load`."""
    import tilewright as tw
    from tilewright.api.kernel import Kernel
    from tilewright.api.onnx.session import InferenceSession

    loaded = tw.load(path, threads=threads)
    if isinstance(loaded, InferenceSession):
        return loaded
    return KernelSession(_only_kernel(loaded, path, Kernel))


def explanation(path: str, *, full: bool) -> str:
    """The plan that a package has. Raises `TilewrightError` where it has none, and as `tw.load`."""
    import tilewright as tw
    from tilewright.api.kernel import Kernel
    from tilewright.api.onnx.session import InferenceSession

    loaded = tw.load(path)
    found = loaded if isinstance(loaded, InferenceSession) else _only_kernel(loaded, path, Kernel)
    return found.explain(full=full)


def _only_kernel(loaded: Any, path: str, kind: type) -> Any:
    if isinstance(loaded, kind):
        return loaded
    what = f"the function {loaded.__name__}" if hasattr(loaded, "__name__") else "a function without arrays"
    hint = f"call it: tilewright.load({path!r})(...)"
    raise TilewrightError(f"this package has {what}, not one kernel or a model", where=path, hint=hint)
