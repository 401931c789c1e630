"""`SessionOptions`, `RunOptions` and the enumerations of onnxruntime: what means nothing here is accepted and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from operator import index
from typing import Any, ClassVar
from warnings import warn

from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.model import Declared
from tilewright.ort_errors import ArgumentTypeError, Fail, NotImplementedHere, RefusedByBinding, UnknownOption

PROVIDER = "CPUExecutionProvider"
"""The name that scripts ask for: everything runs on the CPU."""


OWN_KEYWORDS = ("target", "prepare", "precision", "fuse", "mapped")
IGNORED_KEYWORDS = ("disabled_optimizers", "enable_fallback", "read_config_from_model")
"""Of onnxruntime's sessions."""


class GraphOptimizationLevel(IntEnum):
    """Accepted and ignored: rewrites that keep results are always on."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Accepted and ignored: operators run one after the other, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """Accepted and ignored."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Options:
    """Fields of a fixed set, each of the type of its default: what else is set is refused, as by onnxruntime's classes."""

    _defaults: ClassVar[Mapping[str, Any]]

    def __init_subclass__(cls) -> None:
        """What a class declares are its fields, and their values the defaults."""
        cls._defaults = {name: getattr(cls, name) for name in cls.__annotations__}

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field. Raises `UnknownOption` (an AttributeError) and `ArgumentTypeError` (a TypeError)."""
        if name not in self._defaults and not name.startswith("_"):
            from difflib import get_close_matches

            near = get_close_matches(name, self._defaults, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self._defaults)}"
            raise UnknownOption(f"{type(self).__name__!r} object has no attribute {name!r}", hint=hint)
        object.__setattr__(self, name, _of_type(name, value, self._defaults[name]) if name in self._defaults else value)

    def _add(self, key: str, value: str) -> None:
        """Kept, and otherwise ignored. Raises `ArgumentTypeError` for what is no text."""
        self._entries[_of_type("the key", key, "")] = _of_type(f"the value of {key!r}", value, "")

    def _entry(self, key: str) -> str:
        """What was added under the key. Raises `RefusedByBinding` (a RuntimeError) if nothing was."""
        if key not in self._entries:
            raise RefusedByBinding(f"there is no entry {key!r}", where=type(self).__name__)
        return self._entries[key]


def _of_type(name: str, value: Any, like: Any) -> Any:
    """The value as the type of another. Raises `ArgumentTypeError`."""
    if isinstance(like, bool) and (value is None or isinstance(value, int)):
        return bool(value)
    if type(like) is int and hasattr(value, "__index__"):
        return index(value)
    if isinstance(value, type(like)) and not isinstance(like, bool):
        return value
    raise ArgumentTypeError(f"{name} cannot be {value!r}", why=f"it is of type {type(like).__name__}")


class SessionOptions(_Options):
    """The options of a session. `intra_op_num_threads` is respected (0: all usable CPUs), and `enable_profiling` with
    `profile_file_prefix`; `optimized_model_filepath` is refused by sessions, and other fields are kept as they are.

    There are no other fields: one that is misspelt raises `UnknownOption`, which is an AttributeError.
    """

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    enable_profiling: bool = False
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_cpu_mem_arena: bool = True
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "tilewright_profile_"
    use_deterministic_compute: bool = True
    use_per_session_threads: bool = True

    def __init__(self) -> None:
        super().__init__()
        self._by_name: dict[str, int] = {}
        self._by_denotation: dict[str, int] = {}

    add_session_config_entry = _Options._add
    get_session_config_entry = _Options._entry

    def has_providers(self) -> bool:
        """False: there is one provider, which needs no word."""
        return False

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Fix the dimensions of inputs that the model calls by this name: a session whose shapes are all known so is compiled
        when it is created, for these shapes alone. Raises `TilewrightError` for what is no extent."""
        self._by_name[name] = _checked_extent(name, value)

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """The same of dimensions of this denotation (DATA_BATCH). Where both apply, the name counts."""
        self._by_denotation[denotation] = _checked_extent(denotation, value)

    def overridden(self, declared: Declared) -> Declared:
        """An input or output with the extents that were fixed."""
        if declared.shape is None or not (self._by_name or self._by_denotation):
            return declared
        denotations = declared.denotations or ("",) * len(declared.shape)
        return replace(declared, shape=tuple(map(self._extent, declared.shape, denotations)))

    def _extent(self, extent: int | str | None, denotation: str) -> int | str | None:
        if isinstance(extent, int):
            return extent
        return self._by_name.get(extent or "", self._by_denotation.get(denotation, extent))

    def register_custom_ops_library(self, path: str) -> None:
        """Raises `TilewrightError`: such a library is made for another runtime."""
        raise Fail("libraries of custom operators cannot be loaded", where=path, why="they are made for onnxruntime")

    def threads(self) -> int | None:
        """The number of threads of a call; None for all usable CPUs. Raises `TilewrightError` for what is none."""
        count: Any = self.intra_op_num_threads
        if not isinstance(count, int) or count < 0:
            raise TilewrightError(f"intra_op_num_threads cannot be {count!r}", hint="use 1, 2, ... or 0 for all usable CPUs")
        return count or None


def _checked_extent(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TilewrightError(f"the dimension {name!r} cannot have the extent {value!r}", where="SessionOptions")
    return value


class RunOptions(_Options):
    """The options of a run: `terminate` is respected, others are kept. There are no other fields, as in `SessionOptions`."""

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    terminate: bool = False
    only_execute_path_to_fetches: bool = False

    add_run_config_entry = _Options._add
    get_run_config_entry = _Options._entry


def is_to_end(options: Any) -> bool:
    """Whether a run is to end before it begins. Raises `ArgumentTypeError` for what is no `RunOptions`."""
    if not hasattr(options, "terminate"):
        raise ArgumentTypeError(f"run_options cannot be a {type(options).__name__}", hint="use tilewright.onnx.RunOptions()")
    return bool(options.terminate)


def checked_options(options: SessionOptions | None) -> SessionOptions:
    """Raises `ArgumentTypeError` for what is none, and `NotImplementedHere` for what would have to write a model."""
    if options is None:
        return SessionOptions()
    if not isinstance(options, SessionOptions):
        raise ArgumentTypeError(f"sess_options cannot be a {type(options).__name__}", hint="use tilewright.onnx.SessionOptions()")
    if options.optimized_model_filepath:
        raise NotImplementedHere(
            "no optimised model can be written",
            where="SessionOptions.optimized_model_filepath",
            why="a session becomes a library, and its graph is no ONNX model",
            hint="leave it out; libraries are kept in the cache, and session.explain() shows the plan",
        )
    return options


def check_keywords(given: Mapping[str, Any]) -> None:
    """Raises `ArgumentTypeError` for a keyword that no session has."""
    unknown = [name for name in given if name not in IGNORED_KEYWORDS]
    if unknown:
        raise ArgumentTypeError(f"InferenceSession has no argument {unknown[0]!r}", hint=f"{', '.join(OWN_KEYWORDS)} are there")


def check_providers(providers: Sequence[Any] | None) -> None:
    """Warn of providers that are not there, or are there twice, as onnxruntime does: everything runs on the CPU."""
    names = [str(one[0] if isinstance(one, (tuple, list)) and one else one) for one in _listed(providers)]
    for name, count in Counter(names).items():
        if name != PROVIDER:
            text = f"Specified provider {name!r} is not in available provider names. Available providers: {PROVIDER!r}"
            warn(text, stacklevel=3)
        if count > 1:
            warn(f"Duplicate provider {name!r} encountered, ignoring.", stacklevel=3)


def _listed(providers: Any) -> Sequence[Any]:
    return [providers] if isinstance(providers, str) else list(providers or ())
