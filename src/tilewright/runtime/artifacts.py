"""What planning and code generation gave, on disk: a later process that asks for the same neither plans nor generates.

One store holds both kinds of results: generated code of graphs, an entry each, and all fusion partitions of a machine in one
(`plan/whole_model/kept_divisions.py`). An entry is a file of the kernel cache, `<key>.planned`: JSON (`graph/data_format.py`),
of partitions a line each, behind which the cache puts its checksum. Its key is a digest of the question and of all that decides
the result: the machine, every file of this package with its size and time, and the micro kernels of others. Entries are
accelerators. What is damaged, belongs to another name, or cannot be written is made again.

Reading an entry runs nothing that is in it, whoever wrote it. The C text that it holds is compiled and run afterwards: hence
the directory must be private.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tilewright import package_files, settings
from tilewright.artifact import Artifact
from tilewright.errors import CacheError, InternalError
from tilewright.graph import data_format
from tilewright.graph.constant_recipe import Recipe
from tilewright.graph.types import Graph
from tilewright.machine.machine import Machine
from tilewright.package_files import PACKAGE
from tilewright.precision import Precision
from tilewright.records import record
from tilewright.runtime.store import cache as kernel_cache
from tilewright.runtime.store.cache import KernelCache
from tilewright.runtime.store.directories import TUNING_DATABASE
from tilewright.runtime.switches import switched_on

SUFFIX = ".planned"

_ignored = ContextVar("artifacts_ignored", default=False)


def ignored() -> AbstractContextManager[None]:
    """Inside, everything is planned and generated: somebody looks at the stages."""
    return switched_on(_ignored)


@record
class PlanningStore:
    """Results of planning for a machine, by the text of their question."""

    cache: KernelCache
    common: str
    """What all questions have in common."""

    def key(self, question: str) -> str:
        """The name of the file of a question, without its suffix."""
        return hashlib.sha256(f"{question}\0{self.common}".encode()).hexdigest()

    def find(self, question: str) -> bytes | None:
        """The result; None where it is missing or damaged."""
        return self.named(self.key(question))

    def named(self, key: str) -> bytes | None:
        """The result of the question with this key."""
        with contextlib.suppress(OSError, CacheError):
            return self.cache.find(key + SUFFIX)
        return None

    def keep(self, question: str, result: bytes) -> None:
        """Keep a result, where it can be kept."""
        with contextlib.suppress(OSError, CacheError):
            self.cache.keep(self.key(question) + SUFFIX, result)


PARTITIONS = "partitions"
"""The question whose result are the fusion partitions of a machine."""
MOST_PARTITIONS = 1024
"""Fusion partitions that are kept, those found last: a network has 50 to 200, of 1 to 4 kB."""


@dataclass(slots=True)
class Partitions:
    """Fusion partitions for a machine by the text of their question: read at the first one, written together."""

    store: PlanningStore
    known: dict[str, str] | None = None
    """What the entry holds, by the digest of the question; None until it was read."""
    found: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    """What is to be added to it."""

    def find(self, question: str) -> bytes | None:
        """The result; None where it is missing or damaged."""
        if self.known is None:
            self.known = self._read()
        result = self.known.get(_digest(question))
        return None if result is None else result.encode()

    def keep(self, question: str, result: Callable[[], bytes]) -> None:
        """Take a result that `write` asks for."""
        self.found[_digest(question)] = result

    def write(self) -> None:
        """Keep all results behind those that other processes have kept meanwhile; without those that no file can hold."""
        if not self.found:
            return
        kept = self._read()
        for key, result in self.found.items():
            with contextlib.suppress(data_format.Unreadable):
                kept[key] = result().decode()
        self.store.keep(PARTITIONS, "\n".join(map(" ".join, [*kept.items()][-MOST_PARTITIONS:])).encode())
        self.found.clear()

    def _read(self) -> dict[str, str]:
        lines = (self.store.find(PARTITIONS) or b"").decode(errors="replace").splitlines()
        return {key: result for key, _, result in (line.partition(" ") for line in lines)}


def _digest(question: str) -> str:
    return hashlib.sha256(question.encode()).hexdigest()


@contextlib.contextmanager
def partitions(machine: Machine, precision: Precision = Precision.FLOAT32) -> Iterator[Partitions | None]:
    """The fusion partitions of `store`; those found inside are kept."""
    kept = store(machine, precision)
    found = None if kept is None else Partitions(kept)
    try:
        yield found
    finally:
        if found is not None:
            found.write()


def store(machine: Machine, precision: Precision = Precision.FLOAT32) -> PlanningStore | None:
    """Results for a machine, with the kernels that are registered and that a precision allows; None where nothing is remembered,
    while stages are dumped or logged."""
    if not _remembers():
        return None
    common = _described(machine) + sources() + "flushing" * precision.flushes + _registered()
    return PlanningStore(kernel_cache.default(), common)


def models_store() -> PlanningStore | None:
    """What models say of themselves, whatever the machine; None as `store`."""
    return PlanningStore(kernel_cache.default(), sources()) if _remembers() else None


def _remembers() -> bool:
    knobs = settings.current()
    return not (_ignored.get() or set(knobs.log) - {"torch"} or knobs.dump_dir is not None)


def _registered() -> str:
    """A digest of the micro kernels of others. Who has registered or removed any has imported the registry: nobody else need."""
    registry = sys.modules.get("tilewright.kernels.registry")
    return registry.digest() if registry is not None else ""


def remembered(
    graph: Graph, machine: Machine, fuse: bool | None, generate: Callable[[], Artifact], precision: Precision = Precision.FLOAT32
) -> Artifact:
    """What `generate` makes of a graph for a machine, from the store where it is there; errors pass through."""
    kept = store(machine, precision)
    if kept is None:
        return generate()
    question = request(graph, machine, fuse, precision)
    content = kept.find(question)
    found = None if content is None else decode(content)
    if found is not None and _answers(found, graph):
        return found
    artifact = generate()
    with contextlib.suppress(data_format.Unreadable):  # no file can hold it
        kept.keep(question, encode(artifact))
    return artifact


def request(graph: Graph, machine: Machine, fuse: bool | None, precision: Precision = Precision.FLOAT32) -> str:
    """The question for the code of a graph."""
    return f"{graph.digest}\0{choices(machine, fuse, precision)}"


def choices(machine: Machine, fuse: bool | None, precision: Precision) -> str:
    """What decides the code of a graph beside the graph and what all questions have in common."""
    return "\0".join((repr(fuse), precision.value, _tuned(machine)))


def _tuned(machine: Machine) -> str:
    """A digest of the plans of the tuning database; empty without any. Without a database nothing is imported for it."""
    if not (settings.current().cache_dir / TUNING_DATABASE).exists():
        return ""
    from tilewright.runtime.tuning import plans as tuned_plans

    return tuned_plans.digest(machine)


def _described(machine: Machine) -> str:
    """Every field of a machine. Sets of text come in another order in every process, so features are sorted."""
    described = {name: getattr(machine, name) for name in Machine.__dataclass_fields__ if name != "features"}
    return repr((described, sorted(machine.features)))


@lru_cache(maxsize=1)
def sources(package: str = PACKAGE) -> str:
    """A digest of the package's files, wherever they lie: other code plans and generates otherwise."""
    digest = hashlib.sha256()
    for name, content in sorted(package_files.contents(package)):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def encode(artifact: Artifact) -> bytes:
    """The content of an entry; `decode` is its inverse. Raises `Unreadable` for what no file can hold."""
    return data_format.encode(artifact, Artifact)


def decode(content: bytes) -> Artifact | None:
    """The artifact of an entry; None where it is none of ours."""
    try:
        artifact = data_format.decode(content, Artifact)
        _check_recipe(artifact.recipe)
    except (data_format.Unreadable, InternalError):
        return None
    return artifact


def _check_recipe(recipe: Recipe) -> None:
    """Raise `InternalError` where its operators are not well formed and that is looked for."""
    if recipe.graph.outputs:
        from tilewright.graph.verifier import verify_stage

        verify_stage(replace(recipe.graph, inputs=tuple(name for name, _ in recipe.origins)))


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
