from __future__ import annotations

from importlib import resources

import pytest

from tests.support.target_files import assert_refused
from tilewright.errors import TilewrightError
from tilewright.machine import Filling, Machine, Source, isa, targets
from tilewright.machine.targets import InvalidTarget, UnknownTarget

EXPECTED = [
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "cascadelake-6240",
    "cascadelake-8280",
    "cascadelake-4208",
    "icelake",
    "sapphirerapids",
    "zen4",
    "zen5",
    "neoverse-v2",
    "power10",
]
GOOD = resources.files("tilewright.machine").joinpath("targets", "cascadelake-6240.toml").read_text()


def test_all_promised_targets_are_there() -> None:
    assert set(EXPECTED) <= set(targets.names())


@pytest.mark.parametrize("name", targets.names("cpu"))
def test_schema_and_plausibility_of_every_file(name: str) -> None:
    machine = Machine.named(name)
    *caches, memory = machine.levels
    assert machine.name == name
    assert machine.vector_bits in (128, 256, 512)
    assert machine.vector_registers in (16, 32, 64)
    assert 1e9 <= machine.frequency_hz <= 6e9
    assert 1e10 <= machine.peak("float32") <= 5e11
    assert machine.peak("float32") == machine.vector_bits / 16 * machine.fma_per_cycle * machine.frequency_hz
    assert machine.peak_source is Source.DATASHEET
    assert [level.name for level in caches] == [f"L{number}" for number in range(1, len(caches) + 1)]
    assert (memory.name, memory.size_bytes) == ("memory", 0)
    sizes = [cache.size_bytes for cache in caches]
    rates = [level.bandwidth_bytes_per_s for level in machine.levels]
    sharing = [level.shared_by_cores for level in machine.levels]
    assert sizes == sorted(sizes)
    assert rates == sorted(rates, reverse=True)
    assert sharing == sorted(sharing)
    assert sharing[-1] == machine.cores
    assert all(cache.line_bytes in (64, 128) for cache in caches)
    assert all(cache.size_bytes % (cache.line_bytes * cache.associativity) == 0 for cache in caches)


@pytest.mark.parametrize("name", targets.names())
def test_every_file_says_where_its_figures_come_from(name: str) -> None:
    text = resources.files("tilewright.machine").joinpath("targets", name + ".toml").read_text()
    comment = [line for line in text.splitlines() if line.startswith("#")]
    assert text.startswith("#")
    assert any(word in " ".join(comment).lower() for word in ("manual", "datasheet", "overview", "guide", "product page"))


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_generic_targets_have_exactly_their_level(name: str) -> None:
    assert Machine.named(name).features == isa.LEVELS[name]


def test_the_papers_machine() -> None:
    machine = Machine.named("cascadelake-6240")
    assert machine.cores == 18
    assert machine.cores * machine.level("L1").size_bytes == 576 << 10
    assert machine.level("L2").size_bytes == 1 << 20
    assert machine.level("L3").size_bytes == 24.75 * (1 << 20)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cascadelake6240", "did you mean cascadelake-6240"),
        ("Zen-4", "did you mean zen4"),
        ("POWER10", "did you mean power10?"),
        ("x86-64-v5", "did you mean x86-64-v"),
        ("qqq", "choose one of the known names"),
        ("../targets/zen4", "did you mean"),
    ],
)
def test_unknown_names_list_near_matches(name: str, hint: str) -> None:
    with pytest.raises(UnknownTarget) as caught:
        Machine.named(name)
    assert isinstance(caught.value, TilewrightError)
    assert repr(name) in caught.value.message
    assert hint in caught.value.hint
    assert all(known in caught.value.why for known in EXPECTED)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("cores = 18\n", "", "missing fields: cores"),
        ("cores = 18\n", "cores = 18\nsockets = 2\n", "unknown fields: sockets"),
        ("cores = 18\n", 'cores = "18"\n', "cores is '18', not of type int"),
        ("cores = 18\n", "cores = true\n", "cores is True, not of type int"),
        ("cores = 18\n", "cores = 0\n", "cores is 0, not positive"),
        ("cores = 18\n", 'cores = 18\nfusion_level = "memory"\n', "fusion_level is 'memory', not one of L1, L2, L3"),
        ("frequency_hz = 2.6e9", "frequency_hz = -1", "frequency_hz is -1, not positive"),
        ('"x86_64"', '"vax"', "architecture is 'vax', not one of x86_64, aarch64, ppc64le"),
        ('isa = "x86-64-v4"', 'isa = "v4"', "isa is 'v4', not one of x86-64-v2, x86-64-v3, x86-64-v4"),
        ('"avx512_vnni"', '"avx512-vnni"', "features has unknown names: avx512-vnni"),
        ("bytes_per_cycle = 52\n", "", "missing fields: bytes_per_cycle (in levels)"),
        (
            "bandwidth_bytes_per_s = 12e9",
            "bytes_per_cycle = 12",
            "missing fields: bandwidth_bytes_per_s; unknown fields: bytes_per",
        ),
        ("cores = 18\n", "cores = \n", "Invalid value"),
    ],
)
def test_wrong_files_are_refused_with_the_field(old: str, new: str, why: str) -> None:
    assert_refused(GOOD, old, new, why)


SOFTWARE = GOOD.replace("associativity = 16\n", 'filling = "software"\n', 1)
"""Its L2 is memory that software fills."""


def test_memory_that_software_fills_has_no_ways_and_is_used_as_a_whole() -> None:
    level = targets.parse("mine", SOFTWARE).level("L2")
    assert (level.filling, level.associativity, level.sets) == (Filling.SOFTWARE, 0, 1)
    assert level.usable_bytes == level.size_bytes == 1 << 20


def test_a_device_is_a_cpu_unless_the_file_says_otherwise() -> None:
    assert targets.parse("mine", GOOD).device == "cpu"
    other = GOOD.replace('"x86_64"', '"npu3"').replace('"avx512_vnni"', '"tensor_memory"').replace('isa = "x86-64-v4"\n', "")
    machine = targets.parse("mine", 'device = "npu"\n' + other)
    assert (machine.device, machine.architecture, machine.features) == ("npu", "npu3", {"tensor_memory"})


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('filling = "software"\n', 'filling = "software"\nassociativity = 16\n', "unknown fields: associativity (in levels)"),
        ('filling = "software"\n', "filling = 3\n", "levels.filling is 3, not one of cache, software"),
        ("cores = 18\n", "cores = 18\ndevice = 3\n", "device is 3, not of type str"),
    ],
)
def test_wrong_levels_and_devices_are_refused(old: str, new: str, why: str) -> None:
    assert_refused(SOFTWARE, old, new, why)


def test_levels_that_are_no_tables_are_refused() -> None:
    head = GOOD[: GOOD.index("[[levels]]")]
    for levels in ("levels = []\n", "levels = [1, 2]\n", "levels = [1, {}]\n"):
        with pytest.raises(InvalidTarget, match="levels is not a list of tables"):
            targets.parse("mine", head + levels)


def test_cache_lines_are_those_of_the_target() -> None:
    assert [Machine.named(name).line_bytes for name in ("power10", "zen5")] == [128, 64]
