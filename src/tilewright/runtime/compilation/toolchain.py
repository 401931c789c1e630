"""The C compiler: which one is there, and how it turns generated text into a shared library.

`find` takes `TILEWRIGHT_CC` where it is set, else the first of cc, gcc, clang and the `ziglang` wheel that compiles a trivial
file.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright import settings
from tilewright.errors import ToolchainError
from tilewright.graph import data_format
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.records import record
from tilewright.runtime.compilation import flags as flag_tables
from tilewright.runtime.store.cache import KernelCache
from tilewright.runtime.store.directories import check_private, check_trusted, write_atomically
from tilewright.runtime.store.objects import Objects

if TYPE_CHECKING:
    from tilewright.runtime.compilation.build import Compilation
    from tilewright.runtime.compilation.processes import Processes

CANDIDATES = ("cc", "gcc", "clang")
PROBE_TEXT = '__attribute__((visibility("default"))) long tw_probe(long x) { return x + 1; }\n'
PROBE_FILE = "toolchains.json"
ANSWER_LIMIT_S = 60
"""For `--version`."""


@record
class Toolchain:
    """A compiler that works. `rejected` are the feature flags that it does not know (older than the CPU)."""

    command: tuple[str, ...]
    family: str
    """"gcc", "clang" or "zig"."""
    version: str
    rejected: frozenset[str] = frozenset()

    def flags(self, architecture: str, features: frozenset[str]) -> tuple[str, ...]:
        """Every flag of a compilation; part of the key of a cached library.

        >>> "-mavx2" in Toolchain(("cc",), "gcc", "12").flags("x86_64", frozenset({"avx2"}))
        True
        """
        chosen = flag_tables.for_features(self.family, architecture, features)
        return (*flag_tables.COMMON, *flag_tables.BY_FAMILY[self.family], *(flag for flag in chosen if flag not in self.rejected))

    @property
    def name(self) -> tuple[str, ...]:
        """Its command and its version, wherever it lies: machines that share a cache have it elsewhere."""
        return (os.path.basename(self.command[0]), *self.command[1:], self.family, self.version)

    def identity(self, architecture: str, features: frozenset[str]) -> tuple[str, ...]:
        """All that decides what it makes of a source: its name and every flag."""
        return (*self.name, *self.flags(architecture, features))

    def objects(self, cache: KernelCache, architecture: str, features: frozenset[str]) -> Objects:
        """The objects that a cache has of it, for an architecture with these features."""
        return Objects(cache, self.identity(architecture, features))

    def compile(
        self,
        text: str,
        linked: tuple[KernelSource, ...] = (),
        *,
        objects: Objects | None = None,
        architecture: str = "x86_64",
        features: frozenset[str] = frozenset(),
    ) -> bytes:
        """The shared library made of C `text` and the `linked` sources, as bytes.

        What `objects` has of them is not compiled; it takes what is, if there are several. Raises `ToolchainError` with the
        command and the compiler's first lines when it fails.
        """
        with self._compilation(objects, architecture, features) as compilation:
            return compilation.library((KernelSource(SourceKind.C, text), *linked))

    def keep_objects(
        self, files: Sequence[KernelSource], cache: KernelCache, architecture: str, features: frozenset[str], processes: Processes
    ) -> None:
        """Have a cache keep the objects of files; their compilers are some of `processes`. Raises as `compile`."""
        with self._compilation(self.objects(cache, architecture, features), architecture, features) as compilation:
            replace(compilation, processes=processes).keep(files)

    @contextlib.contextmanager
    def _compilation(self, objects: Objects | None, architecture: str, features: frozenset[str]) -> Iterator[Compilation]:
        from tilewright.runtime.compilation.build import Compilation  # libraries of the cache need none

        try:
            import tempfile

            with tempfile.TemporaryDirectory(prefix="tilewright-cc-") as directory:
                yield Compilation(self.command, self.flags(architecture, features), Path(directory), objects)
        except OSError as failure:
            raise ToolchainError(
                "a kernel cannot be compiled",
                where="the directory for temporary files",
                why=str(failure),
                hint="free some space, or set TMPDIR to a directory that can be written",
            ) from failure


@record
class Remembered:
    """A compiler that was found to work, on disk: it is not probed again, and may be gone."""

    chosen: str
    """TILEWRIGHT_CC, "" where it was not set."""
    identity: str
    toolchain: Toolchain

    def is_current(self) -> bool:
        """Whether no other compiler is in its place."""
        command = self.toolchain.command
        return not os.path.exists(command[0]) or _identity(command) == self.identity

    def is_plain(self) -> bool:
        """Whether TILEWRIGHT_CC gave it no options, which may ask for a sanitizer."""
        return not any(word.startswith("-") for word in self.toolchain.command)


def find() -> Toolchain:
    """The compiler to use, probed once per (PATH, TILEWRIGHT_CC) and remembered on disk.

    Raises `ToolchainError` that lists what was tried.
    """
    return _find(os.environ.get("PATH", ""), settings.current().cc, settings.current().cache_dir)


def named(name: str) -> Toolchain | None:
    """A compiler of `CANDIDATES` or `ziglang` where it is installed, whether or not it works: nothing is compiled."""
    command = dict(_candidates(os.environ.get("PATH", ""), None))[name]
    if command is None:
        return None
    version = _version(command)
    return Toolchain(command, _family(command, version), version)


def forget() -> None:
    """Delete what is remembered of compilers: the next `find` probes again."""
    _find.cache_clear()
    with contextlib.suppress(OSError):
        (settings.current().cache_dir / PROBE_FILE).unlink()


@lru_cache(maxsize=16)
def _find(path: str, chosen: str | None, cache_dir: Path) -> Toolchain:
    failures = []
    for name, command in _candidates(path, chosen):
        toolchain = _probe(command, chosen or "", cache_dir) if command else "not found"
        if isinstance(toolchain, Toolchain):
            return toolchain
        failures.append(f"{name}: {toolchain}")
    if chosen:
        raise ToolchainError(
            "the C compiler of TILEWRIGHT_CC cannot be used",
            where=f"TILEWRIGHT_CC={chosen}",
            why="; ".join(failures),
            hint="unset TILEWRIGHT_CC to let Tilewright choose among cc, gcc, clang and ziglang",
        )
    raise ToolchainError(
        "no working C compiler was found",
        where=f"PATH={path}",
        why="; ".join(failures),
        hint="install gcc or clang, or a compiler in a wheel: pip install ziglang",
    )


def _candidates(path: str, chosen: str | None) -> list[tuple[str, tuple[str, ...] | None]]:
    """Each candidate's name and its command, None where it is not installed."""
    if chosen:
        import shlex

        return [(chosen, _command(shlex.split(chosen), path))]
    return [*((name, _command([name], path)) for name in CANDIDATES), ("ziglang", _ziglang())]


def _command(words: Sequence[str], path: str) -> tuple[str, ...] | None:
    import shutil

    found = shutil.which(words[0], path=path) if words else None
    return (os.path.abspath(found), *words[1:]) if found else None


def _ziglang() -> tuple[str, ...] | None:
    """The zig binary of the `ziglang` wheel, called directly: its Python wrapper would cost an interpreter start."""
    specification = importlib.util.find_spec("ziglang")
    if specification is None or specification.origin is None:
        return None
    binary = Path(specification.origin).with_name("zig")
    return (str(binary), "cc") if binary.exists() else None


def _probe(command: tuple[str, ...], chosen: str, cache_dir: Path) -> Toolchain | str:
    """The toolchain behind a command, or why it cannot be used."""
    identity = _identity(command)
    for known in remembered():
        if (known.chosen, known.identity) == (chosen, identity):
            return known.toolchain
    version = _version(command)
    if not version:
        return "does not answer --version"
    toolchain = Toolchain(command, _family(command, version), version)
    same = next((known.toolchain for known in remembered() if known.toolchain.name == toolchain.name), None)
    if same is None:
        try:
            toolchain.compile(PROBE_TEXT, architecture=platform.machine())
        except ToolchainError as problem:
            return f"cannot compile a trivial file ({problem.why.splitlines()[0] if problem.why else problem.message})"
    toolchain = replace(toolchain, rejected=_rejected(toolchain) if same is None else same.rejected)
    _keep(cache_dir, Remembered(chosen, identity, toolchain))
    return toolchain


def _identity(command: tuple[str, ...]) -> str:
    """What changes when a compiler is replaced: its words, and the file behind each word that is one."""
    words: list[object] = [*command]
    for word in command:
        found = _file_of(word)
        if found:
            status = os.stat(found)
            words += [os.path.realpath(found), status.st_mtime_ns, status.st_size]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def _file_of(word: str) -> str | None:
    """The program that a word of a command is, if it is one."""
    if os.path.isabs(word):
        return word if os.path.exists(word) else None
    import shutil

    return shutil.which(word)


def _version(command: tuple[str, ...]) -> str:
    """The first line of `--version`, and of a script, which may do anything beside, a digest of its text.

    Zig, which answers with its clang's, is asked for its own version, too.
    """
    lines = _answer(*command, "--version")
    if lines and Path(command[0]).name == "zig":
        lines[0] += ", zig " + "".join(_answer(command[0], "version"))
    return lines[0] + _script(command[0]) if lines else ""


def _script(path: str) -> str:
    with open(path, "rb") as file:
        is_script = file.read(2) == b"#!"
        return f", script {hashlib.sha256(file.read()).hexdigest()[:16]}" if is_script else ""


def _answer(*command: str) -> list[str]:
    from tilewright.runtime.compilation.processes import Processes, TimeIsUp

    limit_s = min(ANSWER_LIMIT_S, settings.current().cc_timeout_s)
    try:
        answer = Processes().run(command, limit_s, os.environ)
    except (OSError, TimeIsUp):
        return []
    return answer.stdout.decode(errors="replace").splitlines() if answer.returncode == 0 else []


def _family(command: tuple[str, ...], version: str) -> str:
    if any(Path(word).name == "zig" for word in command):
        return "zig"
    return "clang" if "clang" in version.lower() else "gcc"


def _rejected(toolchain: Toolchain) -> frozenset[str]:
    """The x86-64 feature flags that the compiler does not know; one compilation where it knows them all."""
    if toolchain.family == "zig" or platform.machine() != "x86_64":
        return frozenset()
    everything = frozenset(flag_tables.X86_64)
    if _accepts(toolchain, everything):
        return frozenset()
    return frozenset(flag for feature, flag in flag_tables.X86_64.items() if not _accepts(toolchain, frozenset({feature})))


def _accepts(toolchain: Toolchain, features: frozenset[str]) -> bool:
    try:
        toolchain.compile(PROBE_TEXT, features=features)
    except ToolchainError:
        return False
    return True


def remembered() -> tuple[Remembered, ...]:
    """The compilers that were found with these cache directories, the last one of each first."""
    return tuple(known for directory in settings.current().cache_dirs for known in _read(directory))


def _read(cache_dir: Path) -> tuple[Remembered, ...]:
    """Nothing where the file is missing, damaged or not ours."""
    try:
        check_trusted(cache_dir)
        return data_format.decode((cache_dir / PROBE_FILE).read_bytes(), tuple[Remembered, ...])
    except Exception:  # the file is an accelerator: no damage to it may reach the user
        return ()


def _keep(cache_dir: Path, new: Remembered) -> None:
    """In the place of what was in its."""
    place = new.chosen, new.toolchain.command
    others = (one for one in _read(cache_dir) if (one.chosen, one.toolchain.command) != place)
    with contextlib.suppress(Exception):  # as above: an unusable directory only means that the next process probes again
        check_private(cache_dir)
        write_atomically(cache_dir / PROBE_FILE, data_format.encode((new, *others), tuple[Remembered, ...]))
