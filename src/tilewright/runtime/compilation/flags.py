"""Compiler flags: what every kernel is compiled with, and how CPU features are named to gcc, clang and zig.

The C of a kernel is freestanding: `-ffreestanding -nostdlib` and the absence of loop-to-memset rewriting keep its library free of
imported symbols. Every rounding is written in that C: no compiler may fuse a product with a sum (`-ffp-contract=off`), or
reassociate sums.
"""

from __future__ import annotations

from types import MappingProxyType

COMMON = (
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fvisibility=hidden",
    "-Wl,-z,noexecstack",
)
FAST_O1 = (
    "-O1",
    "-fstrict-aliasing",
    "-fgcse",
    "-ftree-vrp",
    "-fexpensive-optimizations",
    "-foptimize-sibling-calls",
    "-fipa-ra",
    "-fno-move-loop-invariants",
)
"""What of -O2 makes generated code faster: gcc takes a quarter less time than with all of it. Invariants stay in
loops (docs/decisions/generated-code.md): constants of an epilogue would take the registers of its tile."""
BY_FAMILY = MappingProxyType(
    {
        "gcc": (*FAST_O1, "-fno-tree-loop-distribute-patterns"),
        "clang": ("-O2", "-Wno-unused-command-line-argument"),
        "zig": ("-O2", "-fno-sanitize=undefined", "-Wno-unused-command-line-argument"),
    }
)

_X86_64_NAMES = (
    *("pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "abm", "movbe", "bmi1", "bmi2", "f16c", "avx", "avx2", "fma", "gfni"),
    *("avx_vnni", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi", "avx512_vbmi2"),
    *("avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"),
)
_OTHERWISE = {"pni": "sse3", "abm": "lzcnt", "bmi1": "bmi", "sse4_1": "sse4.1", "sse4_2": "sse4.2"}
X86_64 = MappingProxyType(
    {name: f"-m{_OTHERWISE.get(name) or name.replace('_', '-' if name.startswith('amx') else '')}" for name in _X86_64_NAMES}
)
"""Names of /proc/cpuinfo to flags; features that are not listed change no generated code."""

AARCH64 = MappingProxyType(
    {"asimdhp": "fp16", "asimddp": "dotprod", "i8mm": "i8mm", "bf16": "bf16", "sve": "sve", "sve2": "sve2"}
)
"""Names of /proc/cpuinfo to extensions of `-march=armv8.2-a`."""

POWER = (("mma", "10"), ("arch_3_1", "10"), ("arch_3_00", "9"))
"""Features of ppc64le, best first, and the processor they stand for; 8 is the least that little-endian Linux runs on."""


def for_features(family: str, architecture: str, features: frozenset[str]) -> tuple[str, ...]:
    """The flags that let a compiler use exactly these features of an architecture (as in `Machine.architecture`).

    >>> for_features("gcc", "x86_64", frozenset({"avx2", "fma"}))
    ('-mtune=generic', '-mavx2', '-mfma')
    >>> for_features("zig", "x86_64", frozenset({"avx2", "fma"}))
    ('-target', 'x86_64-linux-gnu', '-mcpu=x86_64+avx2+fma')
    """
    if architecture == "x86_64":
        return _x86_64(family, features)
    target = _target(family, architecture)
    if architecture == "aarch64":
        names = [name for feature, name in AARCH64.items() if feature in features]
        if family == "zig":
            return (*target, "-mcpu=" + "+".join(["generic", *(name.replace("fp16", "fullfp16") for name in names)]))
        return (*target, "-march=" + "+".join(["armv8.2-a", *names]))
    if architecture == "ppc64le":
        level = next((level for feature, level in POWER if feature in features), "8")
        return (*target, f"-mcpu={'pwr' if family == 'zig' else 'power'}{level}")
    return target


def _x86_64(family: str, features: frozenset[str]) -> tuple[str, ...]:
    chosen = [flag for feature, flag in X86_64.items() if feature in features]
    width = ["-mprefer-vector-width=512"] if "avx512f" in features else []
    if family == "gcc":
        return ("-mtune=generic", *chosen, *width)
    if family == "clang":
        return (*_target(family, "x86_64"), *chosen, *width)
    names = [flag.removeprefix("-m").replace(".", "_").replace("-", "_") for flag in chosen]
    return (*_target(family, "x86_64"), "-mcpu=" + "+".join(["x86_64", *names]), *width)


def _target(family: str, architecture: str) -> tuple[str, ...]:
    """gcc compiles for one architecture only, which is the one its name says; the others are told."""
    name = {"ppc64le": "powerpc64le"}.get(architecture, architecture)
    if family == "zig":
        return ("-target", f"{name}-linux-gnu")
    return (f"--target={name}-linux-gnu",) if family == "clang" else ()
