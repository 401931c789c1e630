from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.fake_tree import add_x86, write
from tilewright.machine import cpu, isa

AARCH64 = """\
processor\t: 0
BogoMIPS\t: 2000.00
Features\t: fp asimd evtstrm aes asimdhp cpuid asimddp sve bf16 i8mm
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd4f
CPU revision\t: 1
"""
POWER10 = """\
processor\t: 0
cpu\t\t: POWER10 (architected), altivec supported
clock\t\t: 3550.000000MHz
revision\t: 2.0 (pvr 0080 0200)

timebase\t: 512000000
platform\t: pSeries
"""


def test_x86_takes_the_first_processor_and_drops_what_changes_no_code(tmp_path: Path) -> None:
    add_x86(tmp_path)
    info = cpu.read(tmp_path, "x86_64")
    assert (info.vendor, info.family, info.model, info.stepping) == ("GenuineIntel", "6", "85", "7")
    assert info.frequency_hz == 2.6e9
    assert "avx512_vnni" in info.features
    assert not info.features & {"constant_tsc", "md_clear"}
    assert isa.level_of(info.features) == "x86-64-v4"


def test_aarch64(tmp_path: Path) -> None:
    write(tmp_path, "proc/cpuinfo", AARCH64)
    info = cpu.read(tmp_path, "aarch64")
    assert (info.vendor, info.model, info.stepping, info.frequency_hz) == ("0x41", "0xd4f", "0x0.1", None)
    assert info.features == {"fp", "asimd", "asimdhp", "asimddp", "sve", "bf16", "i8mm"}
    assert info.model_name == "AArch64 implementer 0x41 part 0xd4f"


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [("POWER10", "mma", "none"), ("POWER11", "mma", "none"), ("POWER9", "arch_3_00", "mma"), ("POWER8E", "vsx", "arch_3_00")],
)
def test_power_generations(tmp_path: Path, name: str, has: str, lacks: str) -> None:
    write(tmp_path, "proc/cpuinfo", POWER10.replace("POWER10", name))
    info = cpu.read(tmp_path, "ppc64le")
    assert has in info.features
    assert lacks not in info.features
    assert info.frequency_hz == 3.55e9


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64", "ppc64le", "riscv64"])
@pytest.mark.parametrize("text", [None, "", "no colons at all\n", "cpu MHz : nonsense\nclock : -\n"])
def test_nothing_to_read_is_no_error(tmp_path: Path, architecture: str, text: str | None) -> None:
    if text is not None:
        write(tmp_path, "proc/cpuinfo", text)
    info = cpu.read(tmp_path, architecture)
    assert info.architecture == architecture
    assert info.frequency_hz is None


@pytest.mark.parametrize(
    ("max_isa", "kept", "dropped"),
    [
        ("x86-64-v2", {"sse4_2"}, {"avx", "fma", "avx512f"}),
        ("x86-64-v3", {"avx2", "fma"}, {"avx512f", "avx512_vnni"}),
        ("x86-64-v4", {"avx512vl"}, {"avx512_vnni"}),
        (None, {"avx512_vnni"}, set()),
    ],
)
def test_capping(max_isa: str | None, kept: set[str], dropped: set[str]) -> None:
    features = isa.X86_64_V4 | {"avx512_vnni"}
    capped = isa.capped(features, max_isa)
    assert kept <= capped <= features
    assert not capped & dropped
    assert isa.level_of(capped) == (max_isa or "x86-64-v4")


def test_a_cap_never_adds_and_leaves_other_architectures_alone() -> None:
    assert isa.capped(isa.X86_64_V2, "x86-64-v4") == isa.X86_64_V2
    assert isa.capped(frozenset({"asimd"}), "x86-64-v2") == {"asimd"}


def test_vector_units() -> None:
    def unit(features: frozenset[str], vendor: str = "", family: str = "") -> tuple[int, int, int]:
        found = isa.vector_unit("x86_64", features, vendor=vendor, family=family)
        return found.bits, found.registers, found.fma_per_cycle

    assert unit(isa.X86_64_V2) == (128, 16, 1)
    assert unit(isa.X86_64_V3) == (256, 16, 2)
    assert unit(isa.X86_64_V4) == (512, 32, 2)
    assert unit(isa.X86_64_V4, "AuthenticAMD", "25") == (512, 32, 1)
    assert unit(isa.X86_64_V4, "AuthenticAMD", "26") == (512, 32, 2)
    assert isa.vector_unit("ppc64le", frozenset()).registers == 64
