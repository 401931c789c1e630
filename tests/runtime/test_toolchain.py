from __future__ import annotations

import ctypes
import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.hand_written import TEXT
from tilewright import settings
from tilewright.errors import TilewrightError, ToolchainError
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.runtime.compilation import flags, toolchain
from tilewright.runtime.compilation.toolchain import Toolchain

X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 CPU")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Discovery with nothing remembered: what is known belongs to a cache directory."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_CC", raising=False)
    monkeypatch.delenv("TILEWRIGHT_DUMP_DIR", raising=False)
    return monkeypatch


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """An executable shell script of a given name, in a directory of its own."""

    def make(name: str, body: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return make


def test_every_compiler_makes_a_library_that_imports_nothing(compiler: Toolchain, tmp_path: Path) -> None:
    path = tmp_path / "dot.so"
    path.write_bytes(compiler.compile(TEXT, architecture=platform.machine()))
    assert ctypes.CDLL(str(path)).dot_workspace_bytes
    if shutil.which("nm"):
        listing = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True)
        assert listing.stdout.strip() == ""


@X86
def test_features_are_honoured(compiler: Toolchain) -> None:
    defined = "\n".join(
        f"#ifndef {macro}\n#error {macro} is missing\n#endif"
        for macro in ("__AVX512F__", "__AVX2__", "__FMA__", "__F16C__", "__BMI2__")
    )
    absent = "#ifdef __AVX512BW__\n#error __AVX512BW__ was not asked for\n#endif"
    features = frozenset({"avx2", "fma", "f16c", "bmi2", "avx512f", "hypervisor"})
    assert compiler.compile(f"{defined}\n{absent}\nint nothing;\n", features=features)


@X86
@pytest.mark.parametrize("feature", sorted(flags.X86_64))
def test_zig_knows_every_feature(feature: str, zig: Toolchain) -> None:
    assert zig.compile("int nothing;\n", features=frozenset({feature}))


def test_sources_are_linked(compiler: Toolchain, tmp_path: Path) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the assembly is x86-64")
    assembly = ".globl three\nthree:\n  movl $3, %eax\n  ret\n"
    preprocessed = "#define NUMBER $4\n.globl four\nfour:\n  movl NUMBER, %eax\n  ret\n"
    object_path = tmp_path / "five.o"
    (tmp_path / "five.c").write_text("int five(void) { return 5; }\n")
    subprocess.run([*compiler.command, "-c", "-fPIC", tmp_path / "five.c", "-o", object_path], check=True)
    text = (
        "int two(void), three(void), four(void), five(void);\n"
        '__attribute__((visibility("default"))) int product(void) { return two() * three() * four() * five(); }\n'
    )
    linked = (
        KernelSource(SourceKind.C, "int two(void) { return 2; }\n"),
        KernelSource(SourceKind.ASSEMBLY, assembly),
        KernelSource(SourceKind.ASSEMBLY, preprocessed),
        KernelSource(SourceKind.OBJECT, object_path.read_bytes()),
    )
    path = tmp_path / "product.so"
    path.write_bytes(compiler.compile(text, linked=linked))
    assert ctypes.CDLL(str(path)).product() == 120


def test_flags_say_what_the_kernels_rely_on() -> None:
    gcc = Toolchain(("gcc",), "gcc", "12").flags("x86_64", frozenset({"avx512f"}))
    assert {"-ffp-contract=off", "-nostdlib", "-mtune=generic", "-mavx512f", "-mprefer-vector-width=512"} <= set(gcc)
    assert "-ffast-math" not in gcc
    without = Toolchain(("gcc",), "gcc", "8", frozenset({"-mavx512bf16"})).flags("x86_64", frozenset({"avx512_bf16"}))
    assert "-mavx512bf16" not in without
    assert flags.for_features("gcc", "aarch64", frozenset({"asimddp", "sve"})) == ("-march=armv8.2-a+dotprod+sve",)
    assert flags.for_features("gcc", "ppc64le", frozenset({"mma"})) == ("-mcpu=power10",)
    assert flags.for_features("clang", "ppc64le", frozenset()) == ("--target=powerpc64le-linux-gnu", "-mcpu=power8")


def test_zig_compiles_for_other_machines(zig: Toolchain) -> None:
    for architecture, features, machine in (("aarch64", {"asimddp", "bf16"}, 183), ("ppc64le", {"mma"}, 21)):
        library = zig.compile(TEXT, architecture=architecture, features=frozenset(features))
        assert int.from_bytes(library[18:20], "little") == machine


def test_the_first_that_works_is_taken(fresh: pytest.MonkeyPatch, script: Callable[[str, str], Path]) -> None:
    working = shutil.which("gcc") or shutil.which("clang")
    if working is None:
        pytest.skip("neither gcc nor clang is installed")
    script("cc", "exit 1")
    broken = script("gcc", 'case "$1" in --version) echo "gcc that only talks";; *) exit 1;; esac')
    script("clang", f'exec {working} "$@"')
    fresh.setenv("PATH", f"{broken.parent}:/usr/bin:/bin")
    assert toolchain.find().command == (str(broken.with_name("clang")),)


def test_the_chosen_compiler_is_taken_with_its_words(fresh: pytest.MonkeyPatch) -> None:
    working = shutil.which("gcc")
    if working is None:
        pytest.skip("gcc is not installed")
    fresh.setenv("TILEWRIGHT_CC", f"{working} -g0")
    assert toolchain.find().command == (working, "-g0")


def test_the_wheel_serves_where_there_is_no_compiler(fresh: pytest.MonkeyPatch, zig: Toolchain) -> None:
    fresh.setenv("PATH", "")
    found = toolchain.find()
    assert (found.command, found.family, found.version) == (zig.command, "zig", zig.version)
    assert "clang" in found.version
    assert ", zig " in found.version


def test_no_compiler_says_what_was_tried(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("PATH", "")
    fresh.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError) as caught:
        toolchain.find()
    message = str(caught.value)
    assert "no working C compiler was found" in message
    assert all(f"{name}: not found" in message for name in ("cc", "gcc", "clang", "ziglang"))
    assert "pip install ziglang" in message


def test_a_chosen_compiler_that_fails_is_not_replaced(fresh: pytest.MonkeyPatch, script: Callable[[str, str], Path]) -> None:
    path = script("mycc", 'case "$1" in --version) echo mycc 1;; *) echo "internal trouble" >&2; exit 1;; esac')
    fresh.setenv("TILEWRIGHT_CC", str(path))
    with pytest.raises(ToolchainError, match="internal trouble") as caught:
        toolchain.find()
    assert f"TILEWRIGHT_CC={path}" in str(caught.value)


def test_a_failing_compiler_is_quoted_and_the_text_kept(compiler: Toolchain, fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        compiler.compile("int f(void) { return nonsense; }\n", architecture=platform.machine())
    assert "nonsense" in caught.value.why
    assert "-ffreestanding" in caught.value.where
    assert "TILEWRIGHT_DUMP_DIR" in caught.value.hint
    fresh.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path / "dump"))
    with pytest.raises(ToolchainError) as caught:
        compiler.compile("int f(void) { return nonsense; }\n", architecture=platform.machine())
    (kept,) = (tmp_path / "dump").rglob("*.c")
    assert str(kept) in caught.value.hint
    assert "nonsense" in kept.read_text()


def test_a_silent_failure_is_described(script: Callable[[str, str], Path]) -> None:
    path = script("silent", "exit 3")
    with pytest.raises(ToolchainError, match="exit status 3, nothing on stderr"):
        Toolchain((str(path),), "gcc", "").compile("int x;\n")
    with pytest.raises(ToolchainError, match="No such file"):
        Toolchain((str(path) + "-gone",), "gcc", "").compile("int x;\n")


def test_no_room_for_temporary_files_is_said(compiler: Toolchain, fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ToolchainError, match="a kernel cannot be compiled") as caught:
        compiler.compile(TEXT)
    assert "TMPDIR" in caught.value.hint


def test_temporary_files_are_removed(compiler: Toolchain, fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(tmp_path.iterdir())
    compiler.compile(TEXT, architecture=platform.machine())
    with pytest.raises(ToolchainError):
        compiler.compile("nonsense", architecture=platform.machine())
    assert set(tmp_path.iterdir()) == before


def test_probes_are_remembered_until_the_compiler_changes(fresh: pytest.MonkeyPatch, script: Callable[[str, str], Path]) -> None:
    path, calls = logged(fresh, script)
    first = toolchain.find()
    once = calls()
    look_again(fresh)
    assert toolchain.find() == first
    assert calls() == once
    os.utime(path, (1, 1))
    look_again(fresh)
    assert toolchain.find() == first
    assert calls() == once + 1, "asked for its version alone: what is the same elsewhere compiles nothing again"
    path.write_text(f"{path.read_text()}# another script\n")
    look_again(fresh, "elsewhere")
    assert toolchain.find().name != first.name
    assert calls() == 2 * once + 1


def test_damaged_probes_are_ignored(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o700)
    (directory / toolchain.PROBE_FILE).write_text('{"a": [1')
    assert toolchain.find().command


def test_probes_that_others_can_write_are_ignored(
    fresh: pytest.MonkeyPatch, script: Callable[[str, str], Path], tmp_path: Path
) -> None:
    _, calls = logged(fresh, script)
    toolchain.find()
    once = calls()
    (tmp_path / "cache").chmod(0o777)
    look_again(fresh)
    toolchain.find()
    assert calls() == 2 * once
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o777


def logged(fresh: pytest.MonkeyPatch, script: Callable[[str, str], Path]) -> tuple[Path, Callable[[], int]]:
    """A compiler that is chosen, and how often it was called so far."""
    working = shutil.which("gcc") or shutil.which("clang")
    if working is None:
        pytest.skip("neither gcc nor clang is installed")
    path = script("mycc", f'echo called >> "$0.log"; exec {working} "$@"')
    fresh.setenv("TILEWRIGHT_CC", str(path))
    return path, lambda: len(path.with_name("mycc.log").read_text().splitlines())


def look_again(fresh: pytest.MonkeyPatch, place: str = "nowhere") -> None:
    """Let the next `find` read the disk: with another PATH it is another question."""
    fresh.setenv("PATH", f"{os.environ['PATH']}:/{place}")


@X86
def test_flags_that_an_old_compiler_rejects_are_left_out(fresh: pytest.MonkeyPatch, script: Callable[[str, str], Path]) -> None:
    working = shutil.which("gcc") or shutil.which("clang")
    if working is None:
        pytest.skip("neither gcc nor clang is installed")
    path = script("oldcc", f'case "$*" in *avx512fp16*) echo "unknown option" >&2; exit 1;; esac; exec {working} "$@"')
    fresh.setenv("TILEWRIGHT_CC", str(path))
    assert toolchain.find().rejected == {"-mavx512fp16"}


@pytest.mark.parametrize("count", [1, 2])
def test_a_compiler_that_hangs_is_given_up_with_its_children(
    count: int, fresh: pytest.MonkeyPatch, script: Callable[[str, str], Path], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    path = script("hanging", f"sleep 100 & echo $! >> {pids}; echo $$ >> {pids}; wait")
    fresh.setenv("TILEWRIGHT_CC_TIMEOUT", "0.5")
    linked = (KernelSource(SourceKind.C, "int y;\n"),) * (count - 1)
    with pytest.raises(ToolchainError, match="the C compiler was given up") as caught:
        Toolchain((str(path),), "gcc", "").compile("int x;\n", linked=linked)
    assert str(path) in caught.value.where
    assert "within 0.5 s" in caught.value.why
    assert "TILEWRIGHT_CC_TIMEOUT" in caught.value.hint
    assert not any(is_running(int(pid)) for pid in pids.read_text().split())


def is_running(pid: int) -> bool:
    """Whether there is such a process that is no zombie; one that was killed a moment ago may take another to go."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_an_interrupted_compilation_leaves_no_compiler(script: Callable[[str, str], Path], tmp_path: Path) -> None:
    """It is in a process group of its own, so that Ctrl-C does not reach it."""
    pid = tmp_path / "pid"
    path = script("slow", f"echo $$ > {pid}; exec sleep 100")
    code = f"""
import signal
from tilewright.runtime.compilation.toolchain import Toolchain
signal.signal(signal.SIGINT, signal.default_int_handler)  # the jobs of some shells ignore it
Toolchain(({str(path)!r},), "gcc", "").compile("int x;")
"""
    user = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    while not (pid.exists() and pid.read_text().strip()):
        time.sleep(0.02)
    user.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in user.communicate(timeout=20)[1]
    assert not is_running(int(pid.read_text()))


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(TilewrightError, match="TILEWRIGHT_CC_TIMEOUT"):
        settings.current({"TILEWRIGHT_CC_TIMEOUT": text})
