"""`InferenceSession`: an ONNX model that runs, by the names and conventions of onnxruntime."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from sys import modules
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright.api import dynamo, logs
from tilewright.api.choices import checked_choice
from tilewright.api.dynamo import opaque, unmarked
from tilewright.api.onnx.at_once import AtOnce
from tilewright.api.onnx.feeds import Feeds
from tilewright.api.onnx.options import PROVIDER, SessionOptions, check_keywords, check_providers, checked_options, is_to_end
from tilewright.api.onnx.values import NO_VALUES
from tilewright.api.tracebacks import Shortened, shorten
from tilewright.errors import DTypeError, FeedError, InvalidModel, NotPicklable, ShapeError, TilewrightError
from tilewright.frontend.onnx.model import Declared
from tilewright.interpreter_settings import collector_waits
from tilewright.ort_errors import ArgumentTypeError, Fail, InvalidArgument, of_loading, of_run, raised_as
from tilewright.precision import checked
from tilewright.records import record
from tilewright.runtime.packages import reading
from tilewright.runtime.packages.layout import Content

if TYPE_CHECKING:
    from pathlib import Path

    from tilewright.api.onnx.model_source import ModelSource
    from tilewright.api.onnx.ort_value import IOBinding, OrtValue
    from tilewright.api.onnx.reports import Profile
    from tilewright.api.onnx.saved_sessions import LoadedSubgraph, SavedSession
    from tilewright.api.onnx.steps import RemainingSubgraph
    from tilewright.api.onnx.trace import Trace
    from tilewright.frontend.onnx.description import Description
    from tilewright.machine.machine import Machine
    from tilewright.plan.types import ModelPlan
    from tilewright.runtime.packages.reading import Package
    from tilewright.runtime.packages.writing import PackageWriter


WHERE = "InferenceSession"


@record
class NodeArg:
    """An input or output: `shape` has integers, names and None; `type` is `tensor(float)` and so on."""

    name: str
    type: str
    shape: list[int | str | None]


@record
class ModelMetadata:
    """What a model says of itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


class InferenceSession:
    """A model, compiled for the shapes that it declares, or for those of its first calls. Safe from several threads.

    `path_or_bytes` is a path, bytes or an `onnx.ModelProto`. `sess_options.intra_op_num_threads` is respected; of `providers`
    those that are not there are warned about.
    Raises `InvalidModel` for what is no model, and `UnsupportedOperation` listing all operators that are not known: both are
    also of onnxruntime's classes (`tilewright.onnx.capi.onnxruntime_pybind11_state`). Copying and pickling raise `NotPicklable`.
    """

    _subgraphs: dict[frozenset[str], RemainingSubgraph | LoadedSubgraph]
    """By the defaults that calls override."""

    @opaque
    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        *,
        target: str | Machine | None = None,
        prepare: bool = True,
        precision: str = "float32",
        fuse: bool | None = None,
        mapped: bool | None = None,
        **options: Any,
    ) -> None:
        """`target` is the machine to plan for, for `explain`; without `prepare`, nothing is compiled before the first call.

        `precision` says which algorithms may be chosen, "strict", "float32", "fast" or "bf16", and `fuse` what decides on
        fusion, as in `tw.jit`: None the prices; True fuses whatever can be executed, False nothing. `options` are those of
        onnxruntime (`disabled_optimizers`, ...), which mean nothing here; others raise `ArgumentTypeError`.

        Weights that later compilations read (dynamic dimensions) are copied, and the session goes on whatever becomes of the
        model's files. With `mapped` they stay there and take no memory: calls that need another library raise `InvalidModel`
        once a file was written to, and who truncates one while a library is made may end the process.

        A path may be that of a package that `save` wrote: `target`, `precision` and `fuse` are its own then, and its constants
        are mapped, unless `mapped` is False.
        """
        with Shortened(of_loading), collector_waits():
            check_keywords(options)
            check_providers(providers)
            freedom, fusion = checked(precision, WHERE), checked_choice("fuse", fuse, WHERE, "price")
            logs.configure()
            settings = checked_options(sess_options)
            if reading.is_package(path_or_bytes):
                self._open(reading.open_package(path_or_bytes, mmap=mapped is not False), settings)
                return
            from tilewright.api.onnx.model_source import ModelSource
            from tilewright.api.onnx.steps import SessionContext, recent_steps

            source = ModelSource(path_or_bytes)
            self._set_up(settings, source.description)
            self._source: ModelSource | None = source
            self._package: Package | None = None
            self._explained: Callable[..., str] | None = None
            from tilewright.machine.machine import Machine

            machine = Machine.named(target) if isinstance(target, str) else target
            threads, is_mapped = settings.threads(), bool(mapped)
            self._context = SessionContext(threads, machine, freedom, fusion, check_files=source.check_files, mapped=is_mapped)
            self._context.steps = recent_steps(self._at_once.forget)
            self._reported, self._compiled = self._context.reported, self._context.compiled
            if not (prepare and self._prepare()) and not mapped:
                source.hold()
                self._subgraphs = {}

    def _open(self, package: Package, settings: SessionOptions) -> None:
        """Make this the session of a package. Raises `InvalidPackage`."""
        from tilewright.api.onnx import saved_sessions
        from tilewright.api.onnx.saved_sessions import SavedSession

        saved = package.plan(Content.SESSION, SavedSession)
        self._set_up(settings, saved.description)
        self._source, self._package = None, package
        self._explained = None if saved.explanation is None else package.explanation(saved.explanation)
        self._subgraphs.update(saved_sessions.loaded_subgraphs(saved, package, settings.threads()))
        self._reported, self._compiled = saved_sessions.numpy_operators(saved), saved_sessions.compiled_graphs(saved)

    def _set_up(self, settings: SessionOptions, description: Description) -> None:
        """Inputs and outputs, by the model and what the options override."""
        inputs, outputs = (tuple(map(settings.overridden, values)) for values in (description.inputs, description.outputs))
        self._options, self._description = settings, replace(description, inputs=inputs, outputs=outputs)
        self._optional = tuple(value for value in inputs if value.unique in description.defaults)
        self._inputs = tuple(value for value in inputs if value.unique not in description.defaults)
        self._outputs = {value.name: value for value in outputs}
        self._all_outputs = [value.unique for value in outputs]
        self._feeds = Feeds(self._inputs, self._optional)
        self._input_names, self._output_names = [value.name for value in self._inputs], [value.name for value in outputs]
        self._at_once = AtOnce(self._input_names)
        self._subgraphs = {}
        self._lock = allocate_lock()
        self._trace: Trace | None = None
        if settings.enable_profiling:
            from tilewright.api.onnx.trace import Trace

            self._trace = Trace(self, settings.profile_file_prefix)

    def save(self, path: str | Path) -> None:
        """Write a package of what was compiled so far; `InferenceSession(path)` and `tw.load` read it without model and onnx.

        A session of a package copies it. Operators that run as NumPy do so from the package, too: they are logged. Raises
        `TilewrightError` where nothing was compiled, where it cannot be written, and for values that a package has no place for.
        """
        from tilewright.runtime.packages import writing

        with Shortened():
            if self._package is not None:
                writing.replace(path, [self._package.copy()])
                return
            from tilewright.api.onnx.saving_sessions import write_target

            writer = writing.PackageWriter(Content.SESSION)
            write_target(self._saved(writer), writer, path)
            writer.write(path)

    def _saved(self, writer: PackageWriter, explanation: str = "") -> SavedSession:
        """The record of the session, whose sections are written. Raises as `save`."""
        from tilewright.api.onnx.saved_sessions import SavedSession
        from tilewright.api.onnx.saving_sessions import saved_subgraph

        subgraphs = tuple((given, saved_subgraph(one, writer)) for given, one in self._made() if one.samples())
        if not subgraphs:
            hint = "run the session, or prepare() its shapes, before it is saved"
            raise TilewrightError("the session has compiled nothing that could be saved", where="save", hint=hint)
        return SavedSession(self._description, subgraphs, writer.section(explanation.encode()) if explanation else None)

    def _made(self) -> list[tuple[frozenset[str], RemainingSubgraph]]:
        """What was made of the model, by the defaults that calls override."""
        from tilewright.api.onnx.steps import RemainingSubgraph

        with self._lock:
            return [(given, one) for given, one in self._subgraphs.items() if isinstance(one, RemainingSubgraph)]

    def _check_model(self, what: str) -> ModelSource:
        """The model. Raises `TilewrightError` where the session came from a package."""
        if self._source is None:
            hint = "make a session of the model; packages that `tilewright compile` writes can be explained"
            raise TilewrightError(f"a session of a package cannot be {what}", why="it has no model", where=WHERE, hint=hint)
        return self._source

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a session cannot be pickled",
            why="its libraries, packed weights and threads belong to the process that made it",
            hint="make a session in each process, of the model's path; the cache has the libraries",
        )

    @opaque
    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """The outputs of these names (none: all), for arrays by input name.

        Raises `FeedError` for inputs that are missing or unknown, `InvalidArgument` for outputs that the model does not have,
        `ShapeError` and `DTypeError` for arrays that do not fit. All are also of onnxruntime's classes: `InvalidArgument` for
        what is fed, and for positions out of range, `Fail` for what goes wrong behind it.
        """
        if unmarked and "torch" in modules:
            dynamo.mark()
            return self.run(output_names, input_feed, run_options)
        try:
            if run_options is None and (not output_names or output_names == self._output_names):
                outputs = self._at_once(input_feed)
                if outputs is not None:
                    return outputs
            return self._run(output_names, input_feed, run_options)
        except Exception as problem:
            of_run(problem)
            shorten(problem)
            raise

    @opaque
    def run_into(self, targets: Mapping[str, Any], input_feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """The outputs of the names of `targets`, as `run` does; an output may be written to its target, which is the result then.

        A target is an array or None; who wants outputs there copies those that are elsewhere.
        """
        with Shortened(of_run):
            return self._run(list(targets), input_feed, run_options, targets)

    def _run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any,
        targets: Mapping[str, Any] = NO_VALUES,
    ) -> list[Any]:
        if run_options is not None and is_to_end(run_options):
            raise Fail("the run is terminated", where="run", why="terminate is set in its options")
        if isinstance(output_names, str):
            hint = f"use [{output_names!r}]"
            raise ArgumentTypeError(f"output_names cannot be a text, {output_names!r}", where="run", hint=hint)
        wanted = [self._declared_output(name).unique for name in output_names] if output_names else self._all_outputs
        values = self._feeds(input_feed)
        taken = list(values.values())
        step = self._remaining_for(values).step(values)
        if self._trace is not None:
            self._trace.run(step, values)
        else:
            self._at_once.remember(step, self._inputs, values, self._all_outputs)
            step.run(values, targets=_places(wanted, targets) if targets else NO_VALUES)
        return [_unshared(values[name], taken) for name in wanted]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], object],
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Run on another thread, and call `callback(outputs, user_data, error)` there: outputs and "", or none and a text.

        Raises `FeedError` for missing inputs before that.
        """
        values = dict(input_feed)
        self._feeds(values)

        from threading import Thread

        def work() -> None:
            try:
                outputs, error = self.run(output_names, values, run_options), ""
            except Exception as problem:
                outputs, error = [], str(problem)
            callback(outputs, user_data, error)

        Thread(target=work, daemon=True).start()

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: Any = None
    ) -> list[OrtValue]:
        """The same with `OrtValue`s."""
        from tilewright.api.onnx.ort_value import OrtValue

        return [OrtValue(result) for result in self.run(output_names, input_dict_ort_values, run_options)]

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Run on what is bound. Raises `FeedError` (a ValueError) for a binding of another session."""
        if not iobinding.is_of(self):
            raise FeedError("a binding is run by the session that made it", where="run_with_iobinding")
        iobinding.run(run_options)

    def io_binding(self) -> IOBinding:
        """Somewhere to bind inputs and outputs to."""
        from tilewright.api.onnx.ort_value import IOBinding

        return IOBinding(self)

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that a call must give."""
        return [_node_arg(declared) for declared in self._inputs]

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return [_node_arg(declared) for declared in self._outputs.values()]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have a default."""
        return [_node_arg(declared) for declared in self._optional]

    def get_providers(self) -> list[str]:
        """The one provider."""
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """No options."""
        return {PROVIDER: {}}

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Any = None) -> None:
        """Ignored but for a warning of those that are not there."""
        check_providers(providers)

    def disable_fallback(self) -> None:
        """Accepted and ignored."""

    def enable_fallback(self) -> None:
        """Accepted and ignored."""

    def get_session_options(self) -> SessionOptions:
        """The options of the session."""
        return self._options

    def end_profiling(self) -> str:
        """Write the trace of the runs so far, and return its file's name; "" without `enable_profiling`, or if that was done.

        Raises `TilewrightError` if it cannot be written.
        """
        return self._trace.end() if self._trace is not None else ""

    def get_profiling_start_time_ns(self) -> int:
        """When the trace begins, since 1970; 0 without `enable_profiling`."""
        return self._trace.begin_ns if self._trace is not None else 0

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str, device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A value of zeros."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type)

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says of itself."""
        model = self._description
        return ModelMetadata(model.producer, model.name, model.domain, model.text, "", model.version, dict(model.metadata))

    def prepare(self, **shapes: Any) -> None:
        """Compile ahead what calls of these shapes will run, so that none of them waits.

        `shapes` are extents by the names of dimensions, or Python ranges of them, and shapes by the names of inputs:
        `prepare(batch=8, length=range(1, 513))`. A library serves all values of every dimension, unless the model asks
        questions that divide them: then all libraries of the ranges are made. Results do not depend on what was prepared.
        Raises `ShapeError` for a shape that is missing, and what calls of these shapes would raise.
        """

        from tilewright.api.ahead import prepare_all

        def make(extents: Mapping[str, int]) -> object:
            return self._remaining(frozenset()).prepare(self._stand_ins({**shapes, **extents}, "prepare"))

        prepare_all({name: given for name, given in shapes.items() if isinstance(given, range)}, make)

    def explain(self, *, full: bool = False, **shapes: Any) -> str:
        """How the model will run for these shapes, and why: the plan of every chain; no compiler is run.

        `full` leaves out nothing, however long it is. `shapes` are extents by the names of dimensions and shapes by the names of
        inputs: `explain(batch=1)`, `explain(input_ids=(1, 128))`. Without them, a model of dynamic dimensions tells what has run
        so far. Raises `ShapeError` for what is missing.

        A session of a package that `tilewright compile` wrote has the explanation of its compilation, whatever is asked for; that
        of another package raises `TilewrightError`.
        """
        if self._explained is not None:
            return self._explained()
        from tilewright.api.onnx import reports

        self._check_model("explained")
        ran = [subgraph for _, subgraph in self._made() if subgraph.samples()]
        if ran and not shapes and not reports.has_fixed_shapes(self._inputs):
            return "\n\n".join(reports.explained_runs(subgraph, full=full) for subgraph in ran)
        return reports.explained(self._imported(frozenset()), self._stand_ins(shapes), full=full)

    def model_plans(self, **shapes: Any) -> list[ModelPlan]:
        """How the graph of the model is planned for these shapes, as `explain` tells it; empty where nothing is compiled.

        What comes behind nodes that run as NumPy is planned when a call has shown its shapes, and is not there.
        """
        from tilewright.api.onnx import reports

        self._check_model("explained")
        return reports.planned_stages(self._imported(frozenset()), self._stand_ins(shapes))

    def profile(self, input_feed: Mapping[str, Any]) -> Profile:
        """Run once with a clock: for every chain its time, what was predicted, its floor, its share of the peak and its bytes."""
        from tilewright.api.onnx import reports

        self._check_model("profiled")
        self.run(None, input_feed)
        values = self._feeds(input_feed)
        clock = reports.StepClock()
        self._remaining_for(values).step(values).run(values, clock)
        return reports.Profile(tuple(clock.times))

    @property
    def numpy_operators(self) -> dict[str, str]:
        """The operators that ran as NumPy so far, with the first node of each."""
        return dict(self._reported)

    @property
    def compilation_count(self) -> int:
        """How many graphs were compiled so far: one for a model of fixed shapes, one for all values of its dynamic dimensions."""
        return len(self._compiled)

    def _stand_ins(self, shapes: dict[str, Any], where: str = "explain") -> dict[str, Any]:
        """Arrays of zeros that take no memory, by unique name. Raises `ShapeError` for a shape that is missing."""
        from tilewright.api.onnx import reports

        known = reports.checked_shapes(self._inputs, shapes, where)
        return {declared.unique: _zeros(declared, known[declared.unique], where) for declared in self._inputs}

    def _remaining_for(self, values: Mapping[str, Any]) -> RemainingSubgraph | LoadedSubgraph:
        """What runs on the values of a call."""
        given = frozenset(value.unique for value in self._optional if value.unique in values) if self._optional else frozenset()
        return self._subgraphs.get(given) or self._remaining(given)

    def _remaining(self, given: frozenset[str]) -> RemainingSubgraph | LoadedSubgraph:
        """The whole model, where these of its defaults are overridden."""
        found = self._subgraphs.get(given)
        return self._imported(given) if found is None else found

    def _imported(self, given: frozenset[str]) -> RemainingSubgraph:
        """The same of a model that was read."""
        from tilewright.api.onnx.steps import RemainingSubgraph

        source = self._check_model(f"run with {', '.join(sorted(given)) or 'its defaults'}")
        with self._lock:
            found = self._subgraphs.get(given)
            if not isinstance(found, RemainingSubgraph):
                declared = {value.unique: value.shape for value in (*self._inputs, *self._optional) if value.shape is not None}
                self._subgraphs[given] = found = RemainingSubgraph(
                    source.description.name or "model",
                    partial(source.contents, given),
                    self._all_outputs,
                    self._context,
                    declared,
                    source.check_files,
                    None if given else source.description.needs,
                    source.kept(given),
                )
            return found

    def _prepare(self) -> bool:
        """Compile a model of known shapes; False where there is nothing yet."""
        remaining = self._imported(frozenset())
        described = {declared.unique: _stand_in(declared) for declared in self._inputs}
        needed = {name: described.get(name) for name in remaining.needs}
        if any(value is None for value in needed.values()):
            return False
        try:
            return remaining.prepare(needed) is not None
        except (ShapeError, DTypeError) as problem:
            refused = InvalidModel(problem.message, where=problem.where, why=problem.why, hint=problem.hint)
            raise raised_as(refused, Fail) from problem

    def _declared_output(self, name: str) -> Declared:
        if name not in self._outputs:
            why = f"its outputs are {', '.join(self._outputs)}"
            raise InvalidArgument(f"the model has no output {name!r}", where="run", why=why)
        return self._outputs[name]


def session_of(package: Package, threads: int | None) -> InferenceSession:
    """The session of a package. Raises `InvalidModel` for one of something else, or that is described wrongly."""
    session, settings = InferenceSession.__new__(InferenceSession), SessionOptions()
    settings.intra_op_num_threads = threads or 0
    session._open(package, settings)
    return session


def _node_arg(declared: Declared) -> NodeArg:
    return NodeArg(declared.name, declared.type, list(declared.shape or ()))


def _stand_in(declared: Declared) -> Any:
    """An array of a declared shape that takes no memory; None where an extent is not known."""
    if declared.kind != "tensor" or declared.dtype is None or declared.dtype.hasobject or declared.shape is None:
        return None
    extents = tuple(extent for extent in declared.shape if isinstance(extent, int))
    return _zeros(declared, extents, WHERE) if len(extents) == len(declared.shape) else None


def _zeros(declared: Declared, shape: tuple[int, ...], where: str) -> Any:
    if declared.kind != "tensor" or declared.dtype is None:
        raise TilewrightError(f"the input {declared.name!r} is no tensor", where=where)
    return np.broadcast_to(np.zeros((), declared.dtype), shape)


def _places(wanted: Sequence[str], targets: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arrays by the unique names of the outputs that may be written there; none where two of them overlap."""
    places = {unique: array for unique, array in zip(wanted, targets.values(), strict=True) if isinstance(array, np.ndarray)}
    are_apart = len(places) < 2 or not any(np.may_share_memory(*pair) for pair in combinations(places.values(), 2))
    return places if are_apart else NO_VALUES


def _unshared(value: Any, taken: list[Any]) -> Any:
    """A result in memory of its own: results do not share it with inputs, constants and each other, which are `taken`."""
    if isinstance(value, np.ndarray) and (not value.flags.writeable or any(value is earlier for earlier in taken)):
        return value.copy()
    taken.append(value)
    return value
