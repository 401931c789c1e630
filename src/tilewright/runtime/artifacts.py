"""Generated code on disk, under what it was generated from: a later process that asks for the same neither plans nor generates.

An entry is the artifact as JSON (`graph/data_format.py`) behind a line with the SHA-256 of its name and the JSON. Its name is a
digest of the request and of all that answers it: every file of this package counts with its size and time. Entries are
accelerators. What is damaged, belongs to another name, or cannot be written is generated again, in silence.

Reading an entry runs nothing that is in it, whoever wrote it. The C text that it holds is compiled and run afterwards: hence
the directory must be private.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tilewright import package_files, settings
from tilewright.codegen.artifact import Artifact
from tilewright.errors import CacheError, InternalError
from tilewright.graph import data_format
from tilewright.graph.constant_recipe import Recipe
from tilewright.graph.types import Graph
from tilewright.kernels import registry
from tilewright.kernels.contract import SourceKind
from tilewright.machine.machine import Machine
from tilewright.package_files import PACKAGE
from tilewright.precision import Precision
from tilewright.runtime import cache as kernel_cache
from tilewright.runtime.cache import KernelCache, checksum
from tilewright.runtime.cache_size import touch
from tilewright.runtime.directories import TUNING_DATABASE, check_private
from tilewright.runtime.switches import Switch

SUFFIX = ".artifact"
ANSWER_SUFFIX = ".plan"

_ignored = Switch(ContextVar("artifacts_ignored", default=False))


def ignored() -> AbstractContextManager[None]:
    """Inside, everything is planned and generated: somebody looks at the stages."""
    return _ignored.on()


def remembered(
    graph: Graph,
    machine: Machine,
    fuse: bool | None,
    generate: Callable[[], Artifact],
    precision: Precision = Precision.FLOAT32,
) -> Artifact:
    """What `generate` makes of a graph for a machine, from the cache directory where it is there; errors pass through.

    Nothing is remembered while stages are dumped or logged, with kernels that are not the package's own (nothing tells whether
    they changed), and where what is linked is no C.
    """
    if not _is_used():
        return generate()
    path = settings.current().cache_dir / (request_key(graph, machine, fuse, precision) + SUFFIX)
    found = _read(path)
    if found is not None and _answers(found, graph):
        return found
    artifact = generate()
    if all(source.kind is SourceKind.C for source in (*artifact.linked, *artifact.kernels)):
        _write(path, artifact)
    return artifact


def _is_used() -> bool:
    """Whether entries are read and written."""
    knobs = settings.current()
    return not (_ignored.is_on or knobs.log or knobs.dump_dir is not None or registry.is_customised())


def request_key(graph: Graph, machine: Machine, fuse: bool | None, precision: Precision = Precision.FLOAT32) -> str:
    """The digest of a request."""
    tuned = _tuned(machine)
    return _digest(repr(graph), _described(machine), repr(fuse), precision.value, sources(), *([tuned] if tuned else []))


def _tuned(machine: Machine) -> str:
    """A digest of the plans of the tuning database; empty without any. Without a database nothing is imported for it."""
    if not (settings.current().cache_dir / TUNING_DATABASE).exists():
        return ""
    from tilewright.runtime.tuning import plans as tuned_plans

    return tuned_plans.digest(machine)


def _described(machine: Machine) -> str:
    """Every field of a machine. Sets of text come in another order in every process, so features are sorted."""
    described = {name: value for name, value in _fields(machine) if name != "features"}
    return repr((described, sorted(machine.features)))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """Answers to questions of planning for a machine, as files of a cache (see `plan/whole_model/kept_divisions.py`)."""

    cache: KernelCache
    asked: str
    """What all questions have in common."""

    def find(self, question: str) -> bytes | None:
        """The answer to a question; None where it is missing or damaged."""
        with contextlib.suppress(OSError, CacheError):
            return self.cache.find(self._name(question))
        return None

    def keep(self, question: str, answer: bytes) -> None:
        """Keep an answer, where it can be kept."""
        with contextlib.suppress(OSError, CacheError):
            self.cache.keep(self._name(question), answer)

    def _name(self, question: str) -> str:
        return _digest(question, self.asked) + ANSWER_SUFFIX


def answers(machine: Machine, precision: Precision) -> KeptAnswers | None:
    """What is kept of planning for a machine, with the kernels that a precision allows; None where nothing is remembered."""
    if not _is_used():
        return None
    return KeptAnswers(kernel_cache.default(), _described(machine) + sources() + "flushing" * precision.flushes)


@lru_cache(maxsize=1)
def sources(package: Path = PACKAGE) -> str:
    """A digest of names, sizes and times of the package's files: other code plans and generates otherwise."""
    files = sorted(package_files.statuses(package))
    return hashlib.sha256(repr(files).encode()).hexdigest()


def encode(artifact: Artifact, name: str) -> bytes:
    """The content of the entry of a name; `decode` is its inverse. Raises `Unreadable` for what no file can hold."""
    content = data_format.encode(artifact, Artifact)
    return checksum(name, content) + b"\n" + content


def decode(content: bytes, name: str) -> Artifact | None:
    """The artifact of an entry; None where the content does not match its checksum and name, or is none of ours."""
    found, _, record = content.partition(b"\n")
    if found != checksum(name, record):
        return None
    try:
        artifact = data_format.decode(record, Artifact)
        _check_recipe(artifact.recipe)
    except (data_format.Unreadable, InternalError):
        return None
    return artifact


def _check_recipe(recipe: Recipe) -> None:
    """Raise `InternalError` where its operators are not well formed."""
    if recipe.graph.outputs:
        from tilewright.graph.verifier import verify

        verify(replace(recipe.graph, inputs=tuple(name for name, _ in recipe.origins)))


def _answers(artifact: Artifact, graph: Graph) -> bool:
    """Whether an entry has the arguments of a graph, and a recipe of all else that calls read and `prepare` packs."""
    signature = artifact.signature
    inputs, outputs = ([slot.name for slot in slots] for slots in (signature.inputs, signature.outputs))
    made = {*inputs[len(graph.inputs) :], *(slot.name for slot in signature.constants)}
    origins = {origin for _, origin in artifact.recipe.origins}
    return (
        inputs[: len(graph.inputs)] == list(graph.inputs)
        and outputs == list(graph.outputs)
        and made <= set(artifact.recipe.graph.outputs)
        and origins <= {name for name, _ in graph.constants}
    )


def _fields(machine: Machine) -> list[tuple[str, Any]]:
    return [(name, getattr(machine, name)) for name in Machine.__dataclass_fields__]


def _read(path: Path) -> Artifact | None:
    """What is kept there, if the directory is safe to load code from: text of it will be compiled and run."""
    try:
        check_private(path.parent)
        content = path.read_bytes()
    except (OSError, CacheError):
        return None
    touch(path)
    return decode(content, path.name)


def _write(path: Path, artifact: Artifact) -> None:
    try:
        check_private(path.parent)
        kernel_cache.at(path.parent).write(path.name, encode(artifact, path.name))
    except (OSError, CacheError, data_format.Unreadable):
        return
