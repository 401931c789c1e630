"""Instruction set features, named as in /proc/cpuinfo: the x86-64 levels, and what a set of features can do per cycle.

The levels are those of the x86-64 psABI (section "Micro-Architecture Levels"), in the names that Linux gives their bits.
"""

from __future__ import annotations

from tilewright.records import record


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


X86_64 = _names("cmov cx8 fpu fxsr mmx sse sse2 syscall")
X86_64_V2 = X86_64 | _names("cx16 lahf_lm pni popcnt sse4_1 sse4_2 ssse3")
X86_64_V3 = X86_64_V2 | _names("abm avx avx2 bmi1 bmi2 f16c fma movbe xsave")
X86_64_V4 = X86_64_V3 | _names("avx512bw avx512cd avx512dq avx512f avx512vl")
LEVELS = {"x86-64-v2": X86_64_V2, "x86-64-v3": X86_64_V3, "x86-64-v4": X86_64_V4}

BEYOND_LEVELS = _names(
    "amx_bf16 amx_int8 amx_tile avx512_bf16 avx512_bitalg avx512_fp16 avx512_vbmi2 avx512_vnni avx512_vpopcntdq "
    "avx512ifma avx512vbmi avx_vnni gfni vaes vpclmulqdq"
)
INSTRUCTIONS = {
    "x86_64": X86_64_V4 | BEYOND_LEVELS,
    "aarch64": _names("asimd asimddp asimdhp bf16 fp fphp i8mm sve sve2 svebf16 svei8mm"),
    "ppc64le": _names("altivec arch_2_07 arch_3_00 arch_3_1 mma vsx"),
}
"""The features that change generated code. Others (clock sources, mitigations) come and go with kernels and hypervisors."""

NOTABLE = ("amx_tile", "avx512_bf16", "avx512_vnni", "avx512f", "avx2", "fma", "sve", "asimddp", "asimd", "mma", "vsx")
"""The features that reports show, in this order."""


@record
class VectorUnit:
    """The vector registers, and the full-width multiply-adds started per cycle."""

    bits: int
    registers: int
    fma_per_cycle: int


def instructions(architecture: str, flags: frozenset[str]) -> frozenset[str]:
    """Of the flags that the kernel reports, those that change generated code; all of them on an unknown architecture.

    >>> sorted(instructions("x86_64", frozenset({"avx2", "constant_tsc"})))
    ['avx2']
    """
    return flags & INSTRUCTIONS[architecture] if architecture in INSTRUCTIONS else flags


def capped(features: frozenset[str], max_isa: str | None) -> frozenset[str]:
    """The features that a cap such as "x86-64-v3" leaves; other architectures have no such levels and keep theirs.

    >>> sorted(capped(frozenset({"sse2", "avx2", "avx512f"}), "x86-64-v3"))
    ['avx2', 'sse2']
    """
    is_x86 = "sse2" in features
    return features & LEVELS[max_isa] if max_isa is not None and is_x86 else features


def level_of(features: frozenset[str]) -> str | None:
    """The highest x86-64 level whose features are all there.

    >>> level_of(X86_64_V3 | {"gfni"})
    'x86-64-v3'
    """
    return next((name for name in reversed(LEVELS) if LEVELS[name] <= features), None)


def rank(features: frozenset[str]) -> tuple[int, int]:
    """The order of code by what it needs: by the highest x86-64 level that has any of the features, then by their number.

    >>> rank(frozenset({"avx2", "fma"})) < rank(frozenset({"avx512f"})) < rank(frozenset({"avx512f", "avx512_vnni"}))
    True
    """
    levels = [*LEVELS.values()]
    numbers = (next((number for number, level in enumerate(levels) if one in level), len(levels)) for one in features)
    return max(numbers, default=-1), len(features)


def vector_unit(architecture: str, features: frozenset[str], *, vendor: str = "", family: str = "") -> VectorUnit:
    """What the vector units of a CPU of these features are assumed to do.

    Two full-width multiply-adds a cycle hold for servers since Haswell and Neoverse N1; Zen 4 (AMD family 25) runs 512-bit
    operations in two halves. Without FMA, one multiply and one add a cycle count as one.
    """
    if architecture == "x86_64":
        if "avx512f" in features:
            return VectorUnit(512, 32, 1 if (vendor, family) == ("AuthenticAMD", "25") else 2)
        bits = 256 if "avx" in features else 128
        return VectorUnit(bits, 16, 2 if "fma" in features else 1)
    return VectorUnit(128, 64 if architecture == "ppc64le" else 32, 2)


def matrix_unit_gain(features: frozenset[str], dtype: str) -> float:
    """How many times as fast as the vector units the matrix unit multiplies, where micro kernels use it; else 1.

    MMA: 64 float32 operations a cycle, four vector pipes 32 (Starke et al., "IBM's POWER10 Processor", IEEE Micro 41(2), 2021).
    AMX: 2,048 operations on bytes a cycle, two vector pipes 256, and half as many of each on bfloat16 (Intel 64 and IA-32
    Architectures Optimization Reference Manual, chapter on AMX: a product of two tiles every 16 cycles).

    >>> matrix_unit_gain(frozenset({"mma"}), "float32"), matrix_unit_gain(X86_64_V4, "float32")
    (2.0, 1.0)
    """
    if "amx_int8" in features and dtype in ("int8", "uint8"):
        return 8.0
    if "amx_bf16" in features and dtype == "bfloat16":
        return 8.0
    return 2.0 if "mma" in features and dtype == "float32" else 1.0


def flops_per_cycle(features: frozenset[str], unit: VectorUnit) -> tuple[tuple[str, int], ...]:
    """Multiplies and adds per cycle of one core's vector units, by element type.

    A lane of 32 bits does 1 multiply-add in float32, 2 in 16-bit types with dot-product or half-precision instructions, and
    4 in int8 with dot products (VNNI, asimddp), 2 with AVX2: two instructions for four products, where nothing can saturate. AVX2
    has 2 in int16, too: an instruction adds two products up.

    >>> dict(flops_per_cycle(X86_64_V4, VectorUnit(512, 32, 2)))["float32"]
    64
    """
    float32 = unit.bits // 32 * 2 * unit.fma_per_cycle
    rates = [("float32", float32), ("float64", float32 // 2)]
    if features & {"avx512_fp16", "asimdhp"}:
        rates.append(("float16", 2 * float32))
    if features & {"avx512_bf16", "bf16"}:
        rates.append(("bfloat16", 2 * float32))
    if "avx2" in features:
        rates.append(("int16", 2 * float32))
    if features & {"avx512_vnni", "avx_vnni", "asimddp"}:
        rates.append(("int8", 4 * float32))
    elif "avx2" in features:
        rates.append(("int8", 2 * float32))
    return tuple(rates)
