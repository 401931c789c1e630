"""`SessionOptions`, `RunOptions` and the enumerations of onnxruntime: what means nothing here is accepted and kept."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum
from typing import Any

from tilewright import __version__
from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.model import Declared

PROVIDER = "CPUExecutionProvider"
"""The name that scripts ask for: everything runs on the CPU."""


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


class SessionOptions:
    """The options of a session. `intra_op_num_threads` is respected (0: all usable CPUs); other fields are kept as they are."""

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.enable_profiling = False
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_cpu_mem_arena = True
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "tilewright_profile_"
        self.use_deterministic_compute = True
        self._entries: dict[str, str] = {}
        self._by_name: dict[str, int] = {}
        self._by_denotation: dict[str, int] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Kept, and otherwise ignored."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """What was added under the key. Raises `TilewrightError` if nothing was."""
        if key not in self._entries:
            raise TilewrightError(f"there is no session option {key!r}", where="SessionOptions")
        return self._entries[key]

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
        raise TilewrightError("libraries of custom operators cannot be loaded", where=path, why="they are made for onnxruntime")

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


class RunOptions:
    """Accepted and kept."""

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.terminate = False
        self.only_execute_path_to_fetches = False

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Ignored."""


def get_version_string() -> str:
    """Tilewright's version."""
    return __version__


def get_available_providers() -> list[str]:
    """The one provider."""
    return [PROVIDER]


def get_all_providers() -> list[str]:
    """The one provider."""
    return [PROVIDER]


def get_device() -> str:
    """CPU."""
    return "CPU"


def set_default_logger_severity(severity: int) -> None:
    """Ignored: see `TILEWRIGHT_LOG`."""


def set_seed(seed: int) -> None:
    """Ignored."""
