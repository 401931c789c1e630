"""`tw.jit`: a NumPy-style function becomes planned, compiled and cached native kernels."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from tilewright.api import logs, pytree
from tilewright.api.calling import Array, Binder, FlatCall, TracedCall, check_dtypes, trace_call
from tilewright.api.kernel import FixedResult, Kernel, Lowered, output_arrays
from tilewright.errors import DTypeError, TilewrightError
from tilewright.frontend.tracing import TensorSpec
from tilewright.frontend.tracing_value import Traced
from tilewright.graph.types import Graph
from tilewright.machine.machine import Machine
from tilewright.runtime import calibration
from tilewright.runtime.arrays import like, views


@overload
def jit(
    fn: Callable[..., Any],
    *,
    target: str | Machine | None = None,
    threads: int | None = None,
    fuse: bool | None = None,
    precision: str = "float32",
    static_argnames: str | Sequence[str] = (),
) -> Jitted: ...


@overload
def jit(
    fn: None = None,
    *,
    target: str | Machine | None = None,
    threads: int | None = None,
    fuse: bool | None = None,
    precision: str = "float32",
    static_argnames: str | Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    target: str | Machine | None = None,
    threads: int | None = None,
    fuse: bool | None = None,
    precision: str = "float32",
    static_argnames: str | Sequence[str] = (),
) -> Jitted | Callable[[Callable[..., Any]], Jitted]:
    """Compile a NumPy-style function, for every signature when it is first called; a decorator with or without arguments.

    `target` is the machine to plan for (a name, a `Machine`; None: this one). `threads` is the number of threads of a call
    (None: `TILEWRIGHT_NUM_THREADS`, or the CPUs that this process may use). `fuse` of None lets the prices decide, True and
    False force it. `static_argnames` are arguments whose values are part of the signature.

    Arguments are arrays of any kind (NumPy, torch CPU tensors, DLPack, buffers), nested in tuples, lists, dicts and
    dataclasses. Numbers are traced as 0-d float32 arrays; booleans, strings, enums and None are static.

    >>> import numpy as np
    >>> double = jit(lambda x: x * 2)
    >>> double(np.ones(2, np.float32), interpret=True).tolist()
    [2.0, 2.0]
    """
    if fn is None:
        return functools.partial(
            jit, target=target, threads=threads, fuse=fuse, precision=precision, static_argnames=static_argnames
        )
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Jitted(fn, target, threads, fuse, precision, names)


class Jitted:
    """A function with a kernel per signature (structure, shapes, element types, static values). Safe from several threads."""

    def __init__(
        self,
        function: Callable[..., Any],
        target: str | Machine | None,
        threads: int | None,
        fuse: bool | None,
        precision: str,
        static_names: tuple[str, ...],
    ) -> None:
        self._function = function.function if isinstance(function, Jitted) else function
        self._binder = Binder(inspect.signature(self._function), static_names)
        _check_parameters(self._binder)
        _check_options(target, threads, fuse, precision)
        self._target = target
        self._threads = threads
        self._fuse = fuse
        self._plain: dict[tuple[Any, ...], Kernel | FixedResult] = {}
        self._kernels: dict[tuple[Any, ...], Kernel | FixedResult] = {}
        self._lock = threading.RLock()
        functools.update_wrapper(self, self._function)

    @property
    def function(self) -> Callable[..., Any]:
        """The function that was decorated."""
        return self._function

    def __call__(self, *args: Any, out: Any = None, interpret: bool = False, **options: Any) -> Any:
        """Run the kernel for these arguments; the first call of a signature compiles it.

        `out` takes the results (one array, or containers nested like the result; elements share no memory) and is returned.
        `interpret=True` runs the NumPy meaning instead, in any element type. Inside another traced function the function is
        simply inlined.
        """
        is_plain = not (options or interpret or self._binder.static_names)
        inputs = views(args) if is_plain else None
        if inputs is None:
            return self._call(args, out, interpret, options)
        key = tuple([(array.shape, array.dtype) for array in inputs])
        kernel = self._plain.get(key)
        if kernel is None:
            kernel = self._plain[key] = self._kernel(self._binder.flatten(args, options), inputs)
        return kernel.run(inputs, args[0] if args else None, out)

    def lower(self, *args: Any, **options: Any) -> Lowered:
        """Plan for these arguments (arrays, or `tw.spec`s for symbolic extents); no compiler is run."""
        lowered = self._lowered(self._trace(self._binder.flatten(args, options)))
        _ = lowered.model_plan  # what cannot be planned is told here
        return lowered

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _call(self, args: tuple[Any, ...], out: Any, interpret: bool, options: dict[str, Any]) -> Any:
        call = self._binder.flatten(args, options)
        if Traced in map(type, call.leaves):
            return self._function(*args, **options)
        inputs = call.arrays()
        if interpret:
            return self._interpret(call, inputs, out)
        return self._kernel(call, inputs).run(inputs, call.first_array(), out)

    def _kernel(self, call: FlatCall, inputs: tuple[Array, ...]) -> Kernel | FixedResult:
        key = (call.structure, *[(array.shape, array.dtype) for array in inputs])
        try:
            kernel = self._kernels.get(key)
        except TypeError:
            call.check_statics()
            raise
        return self._compile(key, call) if kernel is None else kernel

    def _compile(self, key: tuple[Any, ...], call: FlatCall) -> Kernel | FixedResult:
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                traced = self._trace(call)
                kernel = self._lowered(traced).compile() if traced.graph.outputs else FixedResult(traced.result)
                self._kernels[key] = kernel
            return kernel

    def _trace(self, call: FlatCall) -> TracedCall:
        call.check_statics()
        specs = call.specs()
        check_dtypes(specs)
        return trace_call(self._function, call, specs, compiled=True)

    def _lowered(self, traced: TracedCall) -> Lowered:
        logs.configure()
        _check_outputs(traced.graph)
        return Lowered(traced, self._machine(), self._fuse, self._binder, self._threads, self._target is not None)

    def _machine(self) -> Machine:
        if self._target is None:
            return calibration.ensure()
        return self._target if isinstance(self._target, Machine) else Machine.named(self._target)

    def _interpret(self, call: FlatCall, arrays: tuple[Array, ...], out: Any) -> Any:
        from tilewright.graph.interpreter import evaluate

        call.check_statics()
        specs = [TensorSpec(array.shape, array.dtype.name, name) for array, name in zip(arrays, call.names, strict=True)]
        traced = trace_call(self._function, call, specs, compiled=False)
        results = evaluate(traced.graph, dict(zip(traced.graph.inputs, arrays, strict=True)))
        outputs = [results[name] for name in traced.graph.outputs]
        if out is None:
            first = call.first_array()
            return pytree.unflatten(traced.result, [like(first, output) for output in outputs])
        for target, output in zip(output_arrays(traced.result, out), outputs, strict=True):
            np.copyto(target, output, casting="same_kind")
        return out


def _check_options(target: object, threads: object, fuse: object, precision: object) -> None:
    if precision != "float32":
        raise DTypeError(f"precision={precision!r} is not available", where="tw.jit", hint="use 'float32'")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise TilewrightError(f"threads={threads!r} is no number of threads", where="tw.jit", hint="use 1, 2, ... or None")
    if fuse is not None and not isinstance(fuse, bool):
        raise TilewrightError(f"fuse={fuse!r} is no choice", where="tw.jit", hint="use True, False or None (by price)")
    if isinstance(target, str):
        from tilewright.machine import targets

        targets.check_known(target)
    elif target is not None and not isinstance(target, Machine):
        raise TilewrightError(f"target={target!r} is no machine", where="tw.jit", hint="use a name, a tw.Machine or None")


def _check_parameters(binder: Binder) -> None:
    parameters = binder.signature.parameters
    variadic = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    unknown = [name for name in binder.static_names if name not in parameters and not variadic]
    if unknown:
        why = f"parameters: {', '.join(parameters)}"
        raise TilewrightError(f"static_argnames has {unknown[0]!r}, which is no parameter", why=why)
    reserved = [name for name in ("out", "interpret") if name in parameters]
    if reserved:
        why = "jitted functions take it themselves"
        raise TilewrightError(f"a jitted function cannot have a parameter {reserved[0]!r}", where="tw.jit", why=why)


def _check_outputs(graph: Graph) -> None:
    if not graph.outputs:
        why = "its result holds no array, so there is nothing to compute"
        raise TilewrightError(f"{graph.name} cannot be planned", why=why, hint="call it, which gives its result as it is")
    for name in graph.outputs:
        dtype = graph.tensor(name).dtype
        if dtype != "float32":
            raise DTypeError(
                f"{graph.name} returns {'truth values' if dtype == 'bool' else f'{dtype} elements'} ({name})",
                why="compiled kernels write float32",
                hint="return where(condition, 1.0, 0.0) or x.astype(numpy.float32), or pass interpret=True",
            )
