"""File trees that look like /proc and /sys of some machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CASCADE_LAKE_FLAGS = (
    "fpu cx8 cmov mmx fxsr sse sse2 syscall pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm abm avx avx2 bmi1 bmi2 f16c fma movbe "
    "xsave avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni constant_tsc md_clear"
)


@dataclass(frozen=True, slots=True)
class FakeCache:
    """One entry of sysfs."""

    level: int
    kind: str
    size: str
    shared: str
    ways: str = "8"


SERVER_CACHES = (
    FakeCache(1, "Data", "32K", "{cpu}"),
    FakeCache(1, "Instruction", "64K", "{cpu}"),
    FakeCache(2, "Unified", "1024K", "{cpu}", "16"),
    FakeCache(3, "Unified", "25344K", "0-7", "11"),
)


def write(root: Path, name: str, text: str) -> None:
    """A file of the tree, with its directories."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_x86(root: Path, flags: str = CASCADE_LAKE_FLAGS, vendor: str = "GenuineIntel", family: int = 6, model: int = 85) -> None:
    """/proc/cpuinfo of two processors; what is read must be the first one's."""
    block = (
        "processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n"
        "model name\t: Intel(R) Xeon(R) Gold 6240 CPU @ 2.60GHz\nstepping\t: 7\ncpu MHz\t\t: {clock}\nflags\t\t: {flags}\n\n"
    )
    values = {"vendor": vendor, "family": family, "model": model, "flags": flags}
    write(root, "proc/cpuinfo", block.format(cpu=0, clock="2600.000", **values) + block.format(cpu=1, clock="3900.000", **values))


def add_caches(root: Path, caches: tuple[FakeCache, ...] = SERVER_CACHES, cpus: int = 8) -> None:
    """The caches of every CPU, `{cpu}` in `shared` standing for the CPU's own number."""
    for cpu in range(cpus):
        for number, cache in enumerate(caches):
            directory = f"sys/devices/system/cpu/cpu{cpu}/cache/index{number}"
            write(root, f"{directory}/level", f"{cache.level}\n")
            write(root, f"{directory}/type", f"{cache.kind}\n")
            write(root, f"{directory}/size", f"{cache.size}\n")
            write(root, f"{directory}/coherency_line_size", "64\n")
            write(root, f"{directory}/ways_of_associativity", f"{cache.ways}\n")
            write(root, f"{directory}/shared_cpu_list", cache.shared.format(cpu=cpu) + "\n")


def server(root: Path) -> Path:
    """Eight Cascade Lake cores."""
    add_x86(root)
    add_caches(root)
    return root
