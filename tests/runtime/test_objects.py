"""Objects of micro kernels: compiled once per text, ABI, compiler, flags and features; shared by libraries and processes."""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tilewright.artifact import Artifact
from tilewright.entry_point import Signature
from tilewright.errors import ToolchainError
from tilewright.kernels import KernelSource, SourceKind, contract
from tilewright.runtime.compilation import build as compilation
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.compilation.processes import Processes
from tilewright.runtime.compilation.toolchain import Toolchain
from tilewright.runtime.store import cache as kernel_cache
from tilewright.runtime.store import cache_size, objects
from tilewright.runtime.store.cache import KernelCache

TEXT = """\
extern long twice(long x);
__attribute__((visibility("default"))) long NAME(long x) { return twice(x) + ADDED; }
"""
TWICE = KernelSource(SourceKind.C, "long twice(long x) { return 2 * x; }\n")
COMPILER = Toolchain(("/usr/bin/cc",), "gcc", "12")


def library(added: int = 0, kernels: tuple[KernelSource, ...] = (TWICE,)) -> Artifact:
    """Exports `entry`, which doubles a number by a kernel and adds another one."""
    text = TEXT.replace("NAME", "entry").replace("ADDED", str(added))
    return Artifact("entry", text, (), platform.machine(), frozenset(), Signature((), (), ()), kernels=kernels)


def called(path: Path, x: int) -> int:
    function = ctypes.CDLL(str(path)).entry
    function.argtypes, function.restype = [ctypes.c_long], ctypes.c_long
    return int(function(x))


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the sources that compilers are started for, without those of links."""
    names: list[str] = []
    run = Processes.run

    def watched(
        self: Processes, command: Sequence[str], limit_s: float, environment: Mapping[str, str]
    ) -> CompletedProcess[bytes]:
        if "-c" in command:
            names.append(Path(command[-1]).name)
        return run(self, command, limit_s, environment)

    monkeypatch.setattr(Processes, "run", watched)
    return names


def stored(cache: KernelCache) -> list[Path]:
    return sorted(cache.directory.glob(f"*{objects.SUFFIX}"))


def key(
    source: KernelSource = TWICE,
    compiler: Toolchain = COMPILER,
    architecture: str = "x86_64",
    features: frozenset[str] = frozenset(),
) -> str:
    return compiler.objects(KernelCache(Path("nowhere")), architecture, features).key(source)


@pytest.mark.parametrize(
    "other",
    [
        lambda: key(KernelSource(SourceKind.C, f"{TWICE.content}\n")),
        lambda: key(KernelSource(SourceKind.ASSEMBLY, TWICE.content)),
        lambda: key(compiler=replace(COMPILER, command=("/usr/bin/gcc",))),
        lambda: key(compiler=replace(COMPILER, version="13")),
        lambda: key(compiler=replace(COMPILER, family="clang")),
        lambda: key(compiler=replace(COMPILER, command=("/usr/bin/cc", "-fsanitize=address"))),
        lambda: key(features=frozenset({"avx2"})),
    ],
    ids=["text", "language", "command", "version", "family", "words of TILEWRIGHT_CC", "features"],
)
def test_whatever_changes_the_code_changes_the_key(other: Callable[[], str]) -> None:
    assert other() != key()


def test_the_abi_of_the_contract_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(contract, "matrix_abi", lambda name: f"int {name}(void)")
    assert key() != before


def test_rejected_flags_change_the_key() -> None:
    features = frozenset({"avx2"})
    assert key(compiler=replace(COMPILER, rejected=frozenset({"-mavx2"})), features=features) != key(features=features)


def test_libraries_share_an_object(cache: KernelCache, compiled: list[str]) -> None:
    found = toolchain.find()
    assert called(libraries.build(library(), found, cache), 5) == 10
    assert sorted(compiled) == ["source0.c", "source1.c"]
    assert len(stored(cache)) == 1
    compiled.clear()
    assert called(libraries.build(library(added=1), found, cache), 5) == 11
    assert compiled == ["source0.c"]
    assert len(stored(cache)) == 1


JOINING = tuple(
    KernelSource(
        SourceKind.C,
        "static long half(long x) { return x / 2; }\n"
        f"__attribute__((weak)) long {name}(long x) {{ return half({factor} * x); }}\n",
        joins=True,
    )
    for name, factor in (("twice", 4), ("unused", 6), ("unused_too", 8), ("unused_as_well", 10))
)


def test_sources_that_join_are_compiled_together(
    cache: KernelCache, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever objects of earlier libraries have a function, also where several of them do."""
    monkeypatch.setattr(compilation, "usable_cores", lambda: 1)
    twice, second, third, fourth = JOINING
    found = toolchain.find()
    assert called(libraries.build(library(kernels=(twice, second)), found, cache), 5) == 10
    assert sorted(compiled) == ["source0.c", "source1.c"]
    compiled.clear()
    assert called(libraries.build(library(kernels=(twice, third, fourth)), found, cache), 5) == 10
    assert sorted(compiled) == ["source0.c", "source2.c"]
    assert len(stored(cache)) == 4
    found.objects(cache, platform.machine(), frozenset()).drop([second])
    compiled.clear()
    assert called(libraries.build(library(added=1, kernels=JOINING), found, cache), 5) == 11
    assert sorted(compiled) == ["source0.c", "source2.c"]
    found.objects(cache, platform.machine(), frozenset()).drop([twice, fourth])
    assert called(libraries.build(library(added=2, kernels=JOINING), found, cache), 5) == 12


def test_a_library_imports_nothing_of_its_objects(cache: KernelCache) -> None:
    path = libraries.build(library(), toolchain.find(), cache)
    listing = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    assert "twice" not in listing


def test_a_damaged_object_is_compiled_again(cache: KernelCache, compiled: list[str], caplog: pytest.LogCaptureFixture) -> None:
    libraries.build(library(), toolchain.find(), cache)
    (path,) = stored(cache)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    compiled.clear()
    with caplog.at_level(logging.WARNING, logger="tilewright.cache"):
        assert called(libraries.build(library(added=2), toolchain.find(), cache), 5) == 12
    assert sorted(compiled) == ["source0.c", "source1.c"]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} does not match its checksum: it is deleted and built again"
    ]
    assert path.read_bytes()[-kernel_cache.TRAILER_BYTES :].startswith(kernel_cache.MAGIC)


def test_objects_count_against_the_limit_and_go_with_it(cache: KernelCache) -> None:
    libraries.build(library(), toolchain.find(), cache)
    assert cache.info().files == 2
    assert {file.path.suffix for file in cache_size.prune(cache.directory, 0)} == {".so", objects.SUFFIX}
    assert called(libraries.build(library(), toolchain.find(), cache), 5) == 10


def test_a_used_object_stays_longer_than_an_unused_one(cache: KernelCache) -> None:
    unused = KernelSource(SourceKind.C, "long unused(void) { return 0; }\n")
    libraries.build(library(kernels=(TWICE, unused)), toolchain.find(), cache)
    for path in stored(cache):
        os.utime(path, ns=(0, 0))
    libraries.build(library(added=1), toolchain.find(), cache)
    found = toolchain.find().objects(cache, platform.machine(), frozenset())
    assert (cache.directory / (found.key(TWICE) + objects.SUFFIX)).stat().st_mtime_ns > 0
    assert (cache.directory / (found.key(unused) + objects.SUFFIX)).stat().st_mtime_ns == 0


def test_pruning_takes_nothing_from_a_link(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files go between the search for objects and the link, as if another process pruned the directory."""
    libraries.build(library(), toolchain.find(), cache)
    find = KernelCache.find

    def pruned(self: KernelCache, name: str) -> bytes | None:
        content = find(self, name)
        if content is not None:
            cache_size.prune(self.directory, 0)
        return content

    monkeypatch.setattr(KernelCache, "find", pruned)
    assert called(libraries.build(library(added=3), toolchain.find(), cache), 5) == 13
    assert stored(cache) == []


def test_the_object_of_a_kernel_that_compiles_is_kept_when_the_link_fails(cache: KernelCache) -> None:
    """What is missing is a matter of the library, not of the kernel."""
    missing = replace(library(), text='__attribute__((visibility("default"))) long entry(long x) { error; }')
    with pytest.raises(ToolchainError):
        libraries.build(missing, toolchain.find(), cache)
    twice_defined = library(kernels=(TWICE, KernelSource(SourceKind.C, f"{TWICE.content}/* again */\n")))
    with pytest.raises(ToolchainError):
        libraries.build(twice_defined, toolchain.find(), cache)
    kept = toolchain.find().objects(cache, platform.machine(), frozenset())
    assert all(kept.find(kernel) is not None for kernel in twice_defined.kernels)


LARGE = "/* so large that it is compiled first */\n" * 100


@pytest.mark.parametrize("finished", [1, 2])
def test_an_interrupted_preparation_goes_on_where_it_stopped(
    cache: KernelCache, compiled: list[str], monkeypatch: pytest.MonkeyPatch, finished: int
) -> None:
    """The largest file is compiled first, here by one compiler at a time."""
    monkeypatch.setattr(compilation, "usable_cores", lambda: 1)
    file = KernelSource(SourceKind.C, f"{LARGE}long file(void) {{ return 1; }}\n")
    artifact = replace(library(), linked=(file,))
    run = Processes.run

    def interrupted(
        self: Processes, command: Sequence[str], limit_s: float, environment: Mapping[str, str]
    ) -> CompletedProcess[bytes]:
        if len(compiled) == finished:
            raise KeyboardInterrupt
        return run(self, command, limit_s, environment)

    found = toolchain.find()
    with monkeypatch.context() as patch:
        patch.setattr(Processes, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            libraries.build(artifact, found, cache)
    assert compiled == ["source1.c", "source0.c", "source2.c"][:finished]
    assert called(libraries.build(artifact, found, cache), 5) == 10
    assert compiled == ["source1.c", "source0.c", "source2.c"]
    kept = found.objects(cache, platform.machine(), frozenset())
    assert [path.name for path in stored(cache)] == [kept.key(TWICE) + objects.SUFFIX], "its files belong to one library"


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.runtime.test_objects import library
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.store.cache import KernelCache
keep = KernelCache.keep
def killed(self, name, content):
    keep(self, name, content)
    os.kill(os.getpid(), signal.SIGKILL)
KernelCache.keep = killed
libraries.build(library(), toolchain.find(), KernelCache(Path(sys.argv[1])))
"""


def test_what_a_killed_process_has_compiled_is_used(cache: KernelCache, compiled: list[str]) -> None:
    process = subprocess.run([sys.executable, "-c", KILLED, str(cache.directory)], cwd=Path(__file__).parents[2], check=False)
    assert process.returncode == -signal.SIGKILL
    assert called(libraries.build(library(), toolchain.find(), cache), 5) == 10
    assert len(compiled) == 1


def test_an_unusable_directory_is_replaced_by_a_private_one(tmp_path: Path, compiled: list[str]) -> None:
    (tmp_path / "file").write_text("")
    cache = KernelCache(tmp_path / "file" / "cache")
    libraries.build(library(), toolchain.find(), cache)
    compiled.clear()
    assert called(libraries.build(library(added=4), toolchain.find(), cache), 5) == 14
    assert compiled == ["source0.c"]


def test_kernels_as_objects_are_linked_as_they_are(cache: KernelCache, tmp_path: Path, compiled: list[str]) -> None:
    source = tmp_path / "twice.c"
    source.write_text(str(TWICE.content))
    subprocess.run([*toolchain.find().command, "-O1", "-fPIC", "-c", source, "-o", tmp_path / "twice.o"], check=True)
    kernel = KernelSource(SourceKind.OBJECT, (tmp_path / "twice.o").read_bytes())
    assert called(libraries.build(library(kernels=(kernel,)), toolchain.find(), cache), 5) == 10
    assert compiled == ["source0.c"]
    assert stored(cache) == []


RACER = """
import ctypes, sys
from pathlib import Path
from tests.runtime.test_objects import called, library
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.store.cache import KernelCache
print("ready", flush=True)
sys.stdin.readline()
number = int(sys.argv[2])
print(called(libraries.build(library(added=number), toolchain.find(), KernelCache(Path(sys.argv[1]))), 5), flush=True)
"""


def test_processes_race_for_an_object(cache: KernelCache) -> None:
    """Each builds a library of its own; all find the directory empty."""
    toolchain.find()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(cache.directory), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for number in range(3)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    answers = [racer.communicate("go\n", timeout=300)[0] for racer in racers]
    assert [int(answer) for answer in answers] == [10, 11, 12]
    assert len(stored(cache)) == 1
    assert list(cache.directory.glob(".*")) == []


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_sanitizers_have_objects_of_their_own(cache: KernelCache, compiled: list[str]) -> None:
    gcc = toolchain.named("gcc")
    assert gcc is not None
    libraries.build(library(), gcc, cache)
    compiled.clear()
    trapping = replace(gcc, command=(*gcc.command, "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"))
    libraries.build(library(), trapping, cache)
    assert sorted(compiled) == ["source0.c", "source1.c"]
    assert len(stored(cache)) == 2
