"""`tw.jit`: a NumPy-style function becomes planned, compiled and cached native kernels."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from tilewright.api import by_name, dynamo, logs
from tilewright.api.ahead import prepare_all, stand_in
from tilewright.api.building import Options
from tilewright.api.calls import pytree
from tilewright.api.calls.calling import Array, Binder, Called, FlatCall, TracedCall, check_dtypes, record_call, trace_call
from tilewright.api.calls.plain_calls import PlainCalls
from tilewright.api.choices import checked_choice
from tilewright.api.dynamo import opaque
from tilewright.api.kernel import FixedResult, Kernel, Lowered, output_arrays
from tilewright.api.lengths import with_planned_matrices
from tilewright.api.ranges import Extents
from tilewright.api.recent import Recent
from tilewright.api.signatures import Maker, Signatures, extents_of, with_extents
from tilewright.api.tracebacks import Shortened
from tilewright.errors import DTypeError, TilewrightError, UnsupportedOperation
from tilewright.frontend.tracing.dynamic_dimensions import NeedsValue
from tilewright.frontend.tracing.trace import TensorSpec
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Extent, Graph, SymbolicExtent, Tensor
from tilewright.interpreter_settings import collector_waits
from tilewright.machine.machine import Machine
from tilewright.precision import Precision, checked
from tilewright.progress import preparing
from tilewright.records import record
from tilewright.runtime import calibration
from tilewright.runtime.arrays import is_torch_tensor, like

if TYPE_CHECKING:
    from tilewright.backends.registry import AnyBackend

KernelSignatures: TypeAlias = Signatures[TracedCall, Kernel | FixedResult]
MOST_KERNELS = 256
"""Of a function. Kernels that were not called while a third as many were made are let go: the cache on disk has them."""
MOST_STRUCTURES = 4096
"""Of calls: containers, static values, ranks and element types."""


class JitOptions(TypedDict, total=False):
    """Options of `jit`, for type checkers."""

    target: str | Machine | None
    threads: int | None
    fuse: bool | None
    precision: str
    static_argnames: str | Sequence[str]
    dynamic: bool | None


@overload
def jit(fn: Callable[..., Any], **options: Unpack[JitOptions]) -> Jitted: ...


@overload
def jit(fn: None = None, **options: Unpack[JitOptions]) -> Callable[[Callable[..., Any]], Jitted]: ...


@opaque
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    target: str | Machine | None = None,
    threads: int | None = None,
    fuse: bool | None = None,
    precision: str = "float32",
    static_argnames: str | Sequence[str] = (),
    dynamic: bool | None = None,
) -> Jitted | Callable[[Callable[..., Any]], Jitted]:
    """Compile a NumPy-style function, for every signature when it is first called; a decorator with or without arguments.

    `target` is the machine to plan for (a name, a `Machine`; None: this one). `threads` is the number of threads of a call
    (None: `TILEWRIGHT_NUM_THREADS`, or the CPUs that this process may use). `fuse` of None lets the prices decide, True and
    False force it. `static_argnames` are arguments whose values are part of the signature.

    `precision` says which algorithms the prices may choose: "strict" those that sum the products that the function names, in any
    order; "float32" also those whose errors are relative to the largest element of a small tile of an image, with NaN and
    infinities in the same places (a call that meets one is computed again as by "strict"); "fast" also those of larger tiles, in
    which NaN and infinities spread; "bf16" is "float32" with operands of products with constant weights rounded to bfloat16
    (docs/correctness.md has the bounds); "tf32", of targets with units for it, rounds operands of float32 products to tf32.

    `dynamic` of None specialises the first call; an extent that is met with a second value is known at run time from then on,
    and one kernel serves all its values (but 0; ranges are split where the function asks questions about it). True takes every
    extent above 1 for such a length at once, and raises where the function cannot be traced or planned so; False specialises
    every call. Arrays may have any strides: slices of a growing buffer need no kernel of their own.

    Arguments are arrays of any kind (NumPy, torch CPU tensors, DLPack, buffers), nested in tuples, lists, dicts and
    dataclasses. Booleans, strings, enums and None are static. Numbers are traced as 0-d arrays of float32, of float64 where an
    argument is a float64 array; beside float16 arrays they are float16, beside integers that float32 does not hold refused.

    Element types are promoted as in NumPy: a result has NumPy's type and value, or `DTypeError` is raised, and is computed in its
    type (halves in float32). int8 + float32 is float32, int32 + float32 is float64, sums of int8 are int64 and means float64,
    integers wrap; sums of truth values alone are refused, which are no numbers. Python's and NumPy's numbers inside the function
    take the type of the arrays beside them; `where(condition, 1.0, 0.0)` has the default type, float32. Types of 2, 4 and 8 bits
    that are no integers of a byte are moved and converted. `interpret=True` follows the same rules:
    `frontend/tracing/promotion.py` has the table.

    Targets with an accelerator compute in fewer types, as their backend says: float32, halves, whose sums are of float32, and
    bytes, whose sums are of int32. A product of int8 is int8, as in NumPy; that of a.astype(numpy.int32) and
    b.astype(numpy.int32) is int32, and reads the bytes. Tensors of the device are taken as they are, and results are there, too.

    >>> import numpy as np
    >>> double = jit(lambda x: x * 2)
    >>> double(np.ones(2, np.float32), interpret=True).tolist()
    [2.0, 2.0]
    """
    if fn is None:
        others = {"fuse": fuse, "precision": precision, "static_argnames": static_argnames, "dynamic": dynamic}
        return functools.partial(jit, target=target, threads=threads, **others)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    return Jitted(fn, _Told(target, threads, fuse, checked(precision, "tw.jit"), names, dynamic))


@record
class _Told:
    """What a decorator was told, as in `jit`; wrong values are refused."""

    target: str | Machine | None
    threads: int | None
    fuse: bool | None
    precision: Precision
    static_names: tuple[str, ...]
    dynamic: bool | None

    def __post_init__(self) -> None:
        threads: object = self.threads
        target: object = self.target
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise TilewrightError(f"threads={threads!r} is no number of threads", where="tw.jit", hint="use 1, 2, ... or None")
        checked_choice("fuse", self.fuse, "tw.jit", "price")
        checked_choice("dynamic", self.dynamic, "tw.jit", "what calls show")
        if isinstance(target, str):
            from tilewright.machine import targets

            targets.check_known(target)
        elif target is not None and not isinstance(target, Machine):
            raise TilewrightError(f"target={target!r} is no machine", where="tw.jit", hint="use a name, a tw.Machine or None")

    def named_machine(self) -> Machine | None:
        """The machine that was named, if one was."""
        return Machine.named(self.target) if isinstance(self.target, str) else self.target

    def options(self) -> Options:
        """For the machine that was named, else for this one."""
        machine = self.named_machine() or calibration.ensure()
        return Options(machine, self.fuse, self.precision, self.threads, self.target is not None)


class Jitted(PlainCalls["Kernel | FixedResult"]):
    """A function with a kernel per signature: structure, static values, element types, extents or ranges of them.

    Safe from several threads. Pickled as its function is, by name where its name is bound to it; a copy is the same object.
    """

    __name__: str

    def __init__(self, function: Callable[..., Any], told: _Told) -> None:
        self._function = function.function if isinstance(function, Jitted) else function
        super().__init__(Binder(inspect.signature(self._function), told.static_names))
        _check_parameters(self._binder)
        self._told = told
        self._plain_signatures: dict[tuple[Any, ...], KernelSignatures] = {}
        self._kernels: Recent[tuple[object, Extents], Kernel | FixedResult] = Recent(MOST_KERNELS, self._plain.clear)
        self._signatures: Recent[tuple[Any, ...], KernelSignatures] = Recent(MOST_STRUCTURES, self._plain_signatures.clear)
        functools.update_wrapper(self, self._function)
        self._dynamo_name = dynamo.name(self)
        dynamo.mark()

    @property
    def function(self) -> Callable[..., Any]:
        """The function that was decorated."""
        return self._function

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of late, in the order in which calls asked for them; `explain` tells their lengths.

        >>> import numpy as np
        >>> double = jit(lambda x: x * 2)
        >>> [double(np.ones(n, np.float32)).size for n in (3, 20, 30)], len(double.kernels)
        ([3, 20, 30], 2)
        """
        return tuple(kernel for kernel in dict.fromkeys(self._kernels.values()) if isinstance(kernel, Kernel))

    @opaque
    def prepare(self, *args: Any, **options: Any) -> None:
        """Compile ahead what calls like this will run: arguments are arrays, or `tw.spec`s whose `Dim`s say which extents vary.

        A kernel serves all values of a dimension, unless the function asks questions that divide them: then all kernels of its
        range are made. Extents that are told so are dynamic from then on; results do not depend on the range. Raises what calls
        would.

        >>> import numpy as np
        >>> import tilewright as tw
        >>> double = jit(lambda x: x * 2)
        >>> double.prepare(tw.spec((tw.Dim("rows", 1, 100), 4)))
        >>> len(double.kernels), double(np.ones((7, 4), np.float32)).shape, len(double.kernels)
        (1, (7, 4), 1)
        """
        with Shortened():
            call = self._binder.flatten(args, options)
            specs = call.specs()
            extents = [extent for described in specs for extent in described.shape]
            symbolic = {number: extent for number, extent in enumerate(extents) if isinstance(extent, SymbolicExtent)}
            names = {number: extent.name for number, extent in symbolic.items()}
            if names and self._told.dynamic is False:
                hint = "leave out dynamic=False, or prepare every shape by a call of its own"
                raise TilewrightError("dimensions cannot vary", where="prepare", why="dynamic=False specialises them", hint=hint)

            def make(values: Mapping[str, int]) -> object:
                chosen = call._replace(leaves=tuple(stand_in(described, values) for described in specs))
                inputs = chosen.arrays()
                self._signatures_of(chosen, inputs).tell(names, len(extents))
                return self._kernel(chosen, inputs)

            prepare_all({extent.name: range(extent.low, extent.high + 1) for extent in symbolic.values()}, make)

    def save(self, path: str | Path) -> None:
        """Write a package of the kernels that were made so far, by calls or by `prepare`; `tw.load` reads it.

        Raises `TilewrightError` where there are none, where it cannot be written, or where a package has no place for a call.
        """
        from tilewright.api.saved_functions import save_function

        with Shortened():
            save_function(self._function.__name__, self._binder, self._signatures.items(), self._kernels.values(), path)

    @opaque
    def lower(self, *args: Any, **options: Any) -> Lowered:
        """Plan for these arguments (arrays, or `tw.spec`s for symbolic extents); no compiler is run."""
        with Shortened():
            lowered = self._lowered(self._trace(self._binder.flatten(args, options)))
            _ = lowered.model_plan  # what cannot be planned is told here
            return lowered

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __copy__(self, memo: object = None) -> Jitted:
        return self

    __deepcopy__ = __copy__

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        function = self._function
        if isinstance(function, FunctionType) and by_name.bound_to(function.__qualname__, function.__module__) is self:
            if protocol < by_name.FIRST_PROTOCOL:
                return function.__qualname__
            function = self._named
        return _restored, (function, self._told)

    @property
    def _named(self) -> Any:
        """The function as `by_name` pickles it, the same one always; None where it is no function of Python."""
        function = self._function
        return self.__dict__.setdefault("_copy", by_name.named(function)) if isinstance(function, FunctionType) else None

    def _call(self, args: tuple[Any, ...], out: Any, interpret: bool, options: dict[str, Any]) -> Any:
        call = self._binder.flatten(args, options)
        if Traced in map(type, call.leaves):
            return self._function(*args, **options)
        if interpret:
            return self._interpret(call, call.arrays(), out)
        if self._backend.takes_tensors:
            return self._kernel(call, call.outlines()).run(call.given(), call.first_array(), out)
        try:
            inputs = call.arrays()
        except UnsupportedOperation:
            if out is not None or not _stand_for_others(call.leaves):
                raise
            from tilewright.api.torch_operators import calls

            return calls.computed(self, args, options)
        return self._kernel(call, inputs).run(inputs, call.first_array(), out)

    def _recorded(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        from tilewright.api.torch_operators import calls

        return calls.recorded(self._dynamo_name or "", args, options)

    def _outlined(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[TracedCall, tuple[Any, ...]]:
        """The graph of a call whose arguments are specs and numbers, and these one by one. Raises what the call would."""
        call = self._binder.flatten(args, options)
        traced = self._trace(call)
        if traced.graph.outputs:
            _check_outputs(traced.graph, self._element_types)
        return traced, call.leaves

    def _record_into(
        self, builder: Builder, args: tuple[Any, ...], options: dict[str, Any], tensors: Sequence[tuple[TensorSpec, Tensor]]
    ) -> tuple[Tensor, ...]:
        """The results of such a call on tensors of a graph under construction, each with the spec that stands for it.

        Raises `UnsupportedOperation` for options of its own, which cannot be kept there.
        """
        if self._told != _Told(None, None, None, Precision.FLOAT32, self._told.static_names, self._told.dynamic):
            raise UnsupportedOperation(f"{self.__name__} has a target, threads, a fusion or a precision of its own")
        return record_call(self._function, self._binder.flatten(args, options), builder, tensors)

    def _plain_kernel(self, args: tuple[Any, ...], inputs: tuple[Array, ...]) -> Kernel | FixedResult:
        """The kernel of a call whose arguments are plain arrays: the way of every step of a loop over growing lengths."""
        kinds = tuple([(array.ndim, array.dtype) for array in inputs])
        signatures = self._plain_signatures.get(kinds)
        if signatures is None:
            call = self._binder.flatten(args, {})
            signatures = self._plain_signatures[kinds] = self._signatures_of(call, inputs)
        kernel = signatures.find(extents_of(inputs))
        return self._kernel(self._binder.flatten(args, {}), inputs) if kernel is None else kernel

    def _kernel(self, call: FlatCall, inputs: tuple[Array, ...]) -> Kernel | FixedResult:
        signatures, extents = self._signatures_of(call, inputs), extents_of(inputs)
        kernel = signatures.find(extents)
        maker = Maker(functools.partial(with_planned_matrices, functools.partial(self._trace, call)), self._compiled)
        return signatures.find_or_make(extents, maker) if kernel is None else kernel

    def _signatures_of(self, call: FlatCall, inputs: tuple[Array, ...]) -> KernelSignatures:
        key = (call.structure, *[(array.ndim, array.dtype) for array in inputs])
        try:
            found = self._signatures.get(key)
            if found is None:
                made: KernelSignatures = Signatures(self._told.dynamic, self._kernels, ranks=[array.ndim for array in inputs])
                found = self._signatures.setdefault(key, made)
            return found
        except TypeError:
            call.check_statics()
            raise

    def _trace(self, call: FlatCall, extents: Sequence[Extent] | None = None) -> TracedCall:
        """`extents` of all arrays, where they are not those of the call."""
        call.check_statics()
        specs = call.specs() if extents is None else with_extents(call.specs(), extents)
        check_dtypes(specs, call.leaves, self._element_types)
        try:
            return trace_call(self._function, call, specs, self._element_types)
        except NeedsValue:
            from tilewright.frontend.tracing.trace import with_traced_arrays

            same = with_traced_arrays(self._function)
            if same is None:
                raise
        return trace_call(same, call, specs, self._element_types)

    def _lowered(self, traced: TracedCall) -> Lowered:
        logs.configure()
        _check_outputs(traced.graph, self._element_types)
        return Lowered(traced, self._told.options(), self._binder)

    def _compiled(self, traced: TracedCall) -> Kernel | FixedResult:
        with preparing(traced.graph.name), collector_waits():
            if traced.graph.outputs:
                return self._lowered(traced).compile()
            return FixedResult(Called(traced.graph.name, self._binder, traced.call, traced.result))

    @property
    def _element_types(self) -> tuple[str, ...] | None:
        """What kernels compute in and return; None: every type."""
        return self._backend.element_types

    @functools.cached_property
    def _backend(self) -> AnyBackend:
        """What makes kernels."""
        from tilewright.backends.registry import for_machine

        return for_machine(self._told.named_machine() or Machine.detect())

    def _interpret(self, call: FlatCall, arrays: tuple[Array, ...], out: Any) -> Any:
        from tilewright.graph.interpreter import evaluate

        call.check_statics()
        traced = trace_call(self._function, call, call.specs())
        results = evaluate(traced.graph, dict(zip(traced.graph.inputs, arrays, strict=True)))
        outputs = [results[name] for name in traced.graph.outputs]
        if out is None:
            first = call.first_array()
            return pytree.unflatten(traced.result, [like(first, output) for output in outputs])
        for target, output in zip(output_arrays(traced.result, out), outputs, strict=True):
            np.copyto(target, output, casting="same_kind")
        return out


def _restored(function: Callable[..., Any], told: _Told) -> Jitted:
    """What was pickled: the object that has this function, or a new one."""
    owner = by_name.owner(function)
    return owner if isinstance(owner, Jitted) else Jitted(function, told)


def _stand_for_others(leaves: Sequence[Any]) -> bool:
    """Whether torch traces the call outside of Dynamo, with tensors that have no values."""
    if not any(map(is_torch_tensor, leaves)):
        return False
    from tilewright.api.torch_operators import calls

    return calls.stand_for_others(leaves)


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
        hint = "rename it, or wrap the function: tw.jit(lambda x: function(x))"
        raise TilewrightError(f"a jitted function cannot have a parameter {reserved[0]!r}", where="tw.jit", why=why, hint=hint)


def _check_outputs(graph: Graph, element_types: tuple[str, ...] | None) -> None:
    if not graph.outputs:
        why = "its result holds no array, so there is nothing to compute"
        raise TilewrightError(f"{graph.name} cannot be planned", why=why, hint="call it, which gives its result as it is")
    for name in graph.outputs:
        dtype = graph.tensor(name).dtype
        if element_types is not None and dtype not in element_types:
            raise DTypeError(
                f"{graph.name} returns {'truth values' if dtype == 'bool' else f'{dtype} elements'} ({name})",
                why=f"compiled kernels write {', '.join(element_types)}",
                hint="return where(condition, 1.0, 0.0) or x.astype(numpy.float32), or pass interpret=True",
            )
