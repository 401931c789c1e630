from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tilewright.runtime import native, pool

PROGRAM = Path(__file__).with_name("pool_program.c")


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("no sanitizer", ["-O2", "-DWITH_FORK", "-DWITHOUT_MEMORY"]),
        (
            "address",
            ["-O1", "-g", "-DWITH_FORK", "-DWITHOUT_MEMORY", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
        ),
        ("thread", ["-O1", "-g", "-fsanitize=thread"]),
    ],
)
def test_pool_under_sanitizers(name: str, flags: list[str], tmp_path: Path) -> None:
    """Regions of many sizes, three callers at once, nested regions, lack of memory, stop, trim, fork."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    program = tmp_path / "program"
    sources = [f"{native.DIRECTORY}/pool.c", PROGRAM]
    command = [gcc, "-Wall", "-Wextra", "-Werror", *flags, "-I", native.DIRECTORY, *sources, "-o", program, "-lpthread"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if "cannot find" in built.stderr and "san" in built.stderr:
        pytest.skip(f"gcc has no library for the {name} sanitizer")
    assert built.returncode == 0, built.stderr
    options = {"ASAN_OPTIONS": "allocator_may_return_null=1", "TSAN_OPTIONS": "halt_on_error=1"}
    ran = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False, env=options)
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("the sanitizer cannot run with this kernel's address randomisation")
    assert (ran.returncode, ran.stdout) == (0, "passed\n"), ran.stderr


def test_one_pool_per_number_of_threads() -> None:
    assert pool.get(2) is pool.get(2)
    assert pool.get(2).address != pool.get(3).address


def test_a_pool_needs_a_thread() -> None:
    with pytest.raises(ValueError, match="at least one thread, not 0"):
        pool.get(0)


def test_a_stopped_pool_can_be_stopped_again() -> None:
    pool.get(3).stop()
    pool.get(3).stop()
    pool.get(3).trim()
    assert pool.get(3).stats().current_bytes == 0
