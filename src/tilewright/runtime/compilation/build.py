"""One compilation: sources become objects, each kept as soon as a compiler has finished it, and objects become a library.

A preparation that is interrupted, or whose process is killed, therefore goes on with what is left.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from tilewright import progress, settings
from tilewright.errors import ToolchainError
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.translation_units import joinable, joined
from tilewright.machine.cores import usable_cores
from tilewright.records import record
from tilewright.runtime import workers
from tilewright.runtime.compilation.processes import Processes, TimeIsUp
from tilewright.runtime.store.objects import Objects

CRASHED, AFTER_A_CRASH = b"internal compiler error", "-O2"
"""What gcc says of its own errors, and what is asked then: gcc 12 does at -O1 not take comparisons of int64 in SSE2 apart that
are known in part (gimple_expand_vec_cond_expr)."""
ERROR_LINES = 12
MOST_JOINED = 6
"""Sources of one object. GCC 12 takes 0.65 to 0.7 of the time for four to eight tile shapes together."""
MOST_ASSEMBLED = 16
"""The same of assembly, of which an assembler makes objects in a fiftieth of the time: every source keeps the whole object."""
PREPROCESSED = ("#include", "#define", "#if")


@record
class Compilation:
    """The files of a compilation, and the compilers that run for it."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    """Of a library."""
    directory: Path
    """For temporary files."""
    objects: Objects | None = None
    processes: Processes = field(default_factory=Processes)

    def library(self, sources: Sequence[KernelSource]) -> bytes:
        """The shared library of sources, the file of the entry points first. Raises `ToolchainError`.

        One source takes one command; several take one each, as many at a time as there are usable cores, then a link. Objects
        that are kept are copied first: a process that prunes the cache meanwhile takes nothing away.
        """
        output = self.directory / "out.so"
        paths = [self._file(0, sources[0])] if len(sources) == 1 else self._objects(sources)
        self._run_all([_Command((*self.command, *self.flags, "-o", str(output), *map(str, paths)), output)], sources)
        return output.read_bytes()

    def keep(self, sources: Sequence[KernelSource]) -> None:
        """Have the objects of sources kept. Raises `ToolchainError`."""
        lacking = [source for source in sources if self._kept(source) is None]
        self._run_all([self._command(number, group) for number, group in enumerate(_groups(lacking, 1))], lacking)

    def _objects(self, sources: Sequence[KernelSource]) -> list[Path]:
        """The objects of sources, which may be fewer. Large files are compiled first, so that all cores end together."""
        found = {source: self._kept(source) for source in sources}
        number = {source: place for place, source in enumerate(sources)}
        lacking = [source for source, octets in found.items() if octets is None]
        commands = [self._command(number[group[0]], group) for group in _groups(lacking, usable_cores())]
        self._run_all(sorted(commands, key=lambda command: -command.characters), sources)
        kept = {octets: number[source] for source, octets in found.items() if octets is not None}
        paths = [self._file(place, KernelSource(SourceKind.OBJECT, octets)) for octets, place in kept.items()]
        return [*(command.output for command in commands), *paths]

    def _kept(self, source: KernelSource) -> bytes | None:
        """The object of a source, if there is no need to compile it."""
        if source.kind is SourceKind.OBJECT:
            return source.octets
        return None if self.objects is None else self.objects.find(source)

    def _command(self, number: int, sources: Sequence[KernelSource]) -> _Command:
        """Makes one object of sources that may be joined, or of one."""
        whole = sources[0] if len(sources) == 1 else _joined(sources)
        path = self._file(number, whole)
        output = path.with_suffix(".o")
        flags = [flag for flag in self.flags if flag != "-shared"]
        words = (*self.command, *flags, "-c", "-o", str(output), str(path))
        return _Command(words, output, tuple(sources), len(whole.octets))

    def _file(self, number: int, source: KernelSource) -> Path:
        path = self.directory / f"source{number}{_suffix(source)}"
        path.write_bytes(source.octets)
        return path

    def _run_all(self, commands: Sequence[_Command], sources: Sequence[KernelSource]) -> None:
        """Raises `ToolchainError` for the first command that fails, and stores nothing of it."""
        with workers.pool(usable_cores()) as pool:
            try:
                failures = list(progress.counted(pool.map(self._run, commands), "compiling", len(commands)))
            except BaseException:
                self.processes.kill()  # else the pool would wait for them
                raise
        for command, failure in zip(commands, failures, strict=True):
            if failure is not None:
                failure.where = shlex.join(command.words)
                failure.hint = "; ".join(part for part in (failure.hint, _dump(sources)) if part)
                raise failure

    def _run(self, command: _Command) -> ToolchainError | None:
        """None when the compiler succeeds: its object is kept then. Zig's own caches go where the temporary files go."""
        environment = {
            **os.environ,
            "LC_ALL": "C",
            "ZIG_GLOBAL_CACHE_DIR": str(self.directory / "zig-global"),
            "ZIG_LOCAL_CACHE_DIR": str(self.directory / "zig-local"),
        }
        limit_s = settings.current().cc_timeout_s
        try:
            answer = self.processes.run(command.words, limit_s, environment)
            if CRASHED in answer.stderr:
                answer = self.processes.run((*command.words, AFTER_A_CRASH), limit_s, environment)
        except OSError as problem:
            return ToolchainError("the C compiler failed", why=str(problem))
        except TimeIsUp:
            hint = "set TILEWRIGHT_CC_TIMEOUT to more seconds, or TILEWRIGHT_CC to another compiler"
            return ToolchainError("the C compiler was given up", why=f"it did not finish within {limit_s:g} s", hint=hint)
        if answer.returncode == 0:
            for source in command.sources:
                if self.objects is not None:
                    self.objects.keep(source, command.output.read_bytes())
            return None
        lines = answer.stderr.decode(errors="replace").splitlines()
        why = "\n".join(lines[:ERROR_LINES]) or f"exit status {answer.returncode}, nothing on stderr"
        return ToolchainError("the C compiler failed", why=why)


@record
class _Command:
    """What a compiler is asked: the object of sources, or a library."""

    words: tuple[str, ...]
    output: Path
    sources: tuple[KernelSource, ...] = ()
    characters: int = 0


def _groups(sources: Sequence[KernelSource], cores: int) -> list[list[KernelSource]]:
    """The sources by object, in the order of the first of each: those that join together, but as many objects as cores."""
    joining = [source for source in sources if source.joins and source.kind is SourceKind.C]
    size = max(1, min(MOST_JOINED, -(-len(joining) // cores)))
    groups: dict[KernelSource, list[KernelSource]] = {}
    for places in joinable([str(source.content) for source in joining]):
        groups |= _parted([joining[place] for place in places], size)
    groups |= _parted([source for source in sources if source.joins and source.kind is SourceKind.ASSEMBLY], MOST_ASSEMBLED)
    return [groups.get(source, [source]) for source in sources if source in groups or not source.joins]


def _parted(sources: Sequence[KernelSource], size: int) -> dict[KernelSource, list[KernelSource]]:
    """Groups of so many sources, by the first of each."""
    return {sources[start]: [*sources[start : start + size]] for start in range(0, len(sources), size)}


def _joined(sources: Sequence[KernelSource]) -> KernelSource:
    """One source for several of a kind."""
    texts = [str(part.content) for part in sources]
    return KernelSource(sources[0].kind, joined(texts) if sources[0].kind is SourceKind.C else "".join(texts))


def _suffix(source: KernelSource) -> str:
    """Assembly goes through the preprocessor (.S) only where it has directives: `#` also starts a comment."""
    if source.kind is SourceKind.ASSEMBLY:
        lines = source.octets.decode().splitlines()
        return ".S" if any(line.startswith(PREPROCESSED) for line in lines) else ".s"
    return {SourceKind.C: ".c", SourceKind.OBJECT: ".o"}[source.kind]


def _dump(sources: Sequence[KernelSource]) -> str:
    """Keep the sources of a failed compilation in TILEWRIGHT_DUMP_DIR, and say where."""
    dump_dir = settings.current().dump_dir
    if dump_dir is None:
        return "set TILEWRIGHT_DUMP_DIR to a directory to keep the text that was compiled"
    directory = dump_dir / f"failed-{hashlib.sha256(sources[0].octets).hexdigest()[:16]}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for number, source in enumerate(sources):
            (directory / f"source{number}{_suffix(source)}").write_bytes(source.octets)
    except OSError as problem:
        return f"the text could not be kept in TILEWRIGHT_DUMP_DIR: {problem}"
    return f"the text was kept in {directory / f'source0{_suffix(sources[0])}'}"
