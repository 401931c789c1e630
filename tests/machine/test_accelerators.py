"""Target files of machines with an accelerator: what they have, and what is refused."""

from __future__ import annotations

from importlib import resources

import pytest

from tests.support.target_files import assert_refused
from tilewright.machine import Filling, Machine, Source, targets
from tilewright.machine.accelerator import LIMITS, Accelerator, Scope
from tilewright.machine.targets import InvalidTarget

NAMES = [name for device in LIMITS for name in targets.names(device)]
GOOD = resources.files("tilewright.machine").joinpath("targets", "a100.toml").read_text()


def accelerator_of(machine: Machine) -> Accelerator:
    assert machine.accelerator is not None
    return machine.accelerator


def test_the_promised_targets_are_there() -> None:
    assert targets.names("gpu") == ("a100", "h100", "h200")
    assert targets.names("npu") == ("ascend910",)
    assert set(targets.names()) == {*targets.names("cpu"), *NAMES}


def test_estimates_say_that_they_are_ones() -> None:
    assert Machine.named("ascend910").frequency_source is Source.ESTIMATE
    assert [Machine.named(name).level("L2").source for name in ("a100", "h100")] == [Source.DATASHEET, Source.ESTIMATE]
    rates = {unit.name: unit.source for unit in accelerator_of(Machine.named("h100")).units}
    assert rates == {"wgmma": Source.DATASHEET, "mma.sync": Source.ESTIMATE}


def test_cpus_have_no_accelerator() -> None:
    assert all(Machine.named(name).accelerator is None for name in targets.names("cpu"))


@pytest.mark.parametrize("name", NAMES)
def test_plausibility_of_every_file(name: str) -> None:
    machine = Machine.named(name)
    accelerator = accelerator_of(machine)
    assert (machine.vector_bits, machine.vector_registers, machine.fma_per_cycle, machine.lanes(4)) == (0, 0, 0, 1)
    assert machine.peak("float32") > 1e10
    assert machine.highest_peak("float16") > 10 * machine.peak("float32")
    assert [level.filling for level in machine.levels] == [Filling.SOFTWARE, Filling.CACHE, Filling.CACHE]
    rates = [level.bandwidth_bytes_per_s for level in machine.levels]
    assert rates == sorted(rates, reverse=True)
    assert machine.levels[-1].shared_by_cores == machine.cores
    assert machine.levels[0].usable_bytes == accelerator.space(machine.levels[0].name).size_bytes
    assert dict(accelerator.limits).keys() == LIMITS[machine.device].keys()
    assert accelerator.source_of("launch_s") is Source.ESTIMATE
    assert all(unit.tile[1] <= unit.most_columns for unit in accelerator.units)


@pytest.mark.parametrize(
    ("name", "operands", "tflops", "gb_per_s"),
    [
        ("a100", "float16", 312, 1555),
        ("a100", "bfloat16", 312, 1555),
        ("a100", "tf32", 156, 1555),
        ("a100", "int8", 624, 1555),
        ("h100", "float16", 989, 3350),
        ("h100", "tf32", 495, 3350),
        ("h100", "int8", 1979, 3350),
        ("h200", "float16", 989, 4800),
        ("ascend910", "float16", 262, 1200),
    ],
)
def test_rates_are_those_of_the_data_sheets(name: str, operands: str, tflops: float, gb_per_s: float) -> None:
    machine = Machine.named(name)
    assert machine.highest_peak(operands) * machine.cores == pytest.approx(tflops * 1e12, rel=2e-3)
    assert machine.levels[-1].bandwidth_bytes_per_s * machine.cores == pytest.approx(gb_per_s * 1e9, rel=1e-3)


def test_a_type_without_a_unit_has_the_rate_of_ordinary_arithmetic() -> None:
    machine = Machine.named("a100")
    assert accelerator_of(machine).units_for("float32") == ()
    assert machine.highest_peak("float32") == machine.peak("float32") == machine.peak("int32")
    with pytest.raises(KeyError):
        accelerator_of(machine).space("L0A")


def test_a_file_without_units_is_one_without_units() -> None:
    start, end = GOOD.index("[[units]]"), GOOD.index("[[spaces]]")
    machine = Machine.of(targets.parse("mine", GOOD[:start] + GOOD[end:]))
    assert accelerator_of(machine).units == ()
    assert machine.highest_peak("float16") == machine.peak("float16")


FIRST_UNIT = 'operands = "float16"\naccumulator = "float32"\ntile = [16, 8, 16]\n'


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('launch_s = { value = 2.5e-6, source = "estimate" }\n', "", "missing fields: launch_s (in limits)"),
        ("blocks_of_core = 32", "blocks_of_core = 32\nwaves = 3", "unknown fields: waves (in limits)"),
        ("blocks_of_core = 32", "blocks_of_core = -32", "limits.blocks_of_core is -32, not positive"),
        ("{ value = 160, source", "{ source", "limits.trip_cycles is None, not of type float"),
        ('{ value = 160, source = "estimate" }', "{ value = 160 }", "limits.trip_cycles.source is None, not one of"),
        ('source = "estimate"', 'source = "rumour"', "is 'rumour', not one of datasheet, estimate"),
        ("float32 = 128\n", "", "missing fields: float32 (in flops_per_cycle)"),
        ("float32 = 128", "float32 = 0", "flops_per_cycle.float32 is 0, not positive"),
        (FIRST_UNIT, FIRST_UNIT.replace("16, 8, 16", "16, 8"), "units.tile is [16, 8], not rows, columns and depth"),
        (FIRST_UNIT, FIRST_UNIT.replace("16, 8, 16", "16, 0, 16"), "units.tile is [16, 0, 16], not rows"),
        (FIRST_UNIT, FIRST_UNIT.replace('"float16"', '"float17"'), "units.operands is 'float17', not one of float16"),
        (FIRST_UNIT, FIRST_UNIT.replace('"float32"', '"int64"'), "units.accumulator is 'int64', not one of float16"),
        (FIRST_UNIT, FIRST_UNIT.replace('"float16"', '"tf32"'), "units has mma.sync of tf32 twice"),
        (FIRST_UNIT, FIRST_UNIT + "most_columns = 12\n", "units.most_columns is 12, no multiple of the 8 columns of mma.sync"),
        ("size_bytes = 166912", "size_bytes = 267936", "a block has 267936 bytes of shared, a core 167936"),
        ('scope = "block"', 'scope = "warp"', "spaces.scope is 'warp', not one of core, block"),
        ('scope = "block"', 'scope = "core"', "spaces has shared of a core twice"),
        ("size_bytes = 167936\nline", "size_bytes = 167937\nline", "the level shared has 167937 bytes, the space 167936"),
        ("threads_of_block = 1024", "threads_of_block = 4096", "threads_of_block is 4096, and threads_of_core is 2048"),
        ("value = 0.75", "value = 1.5", "product_share is 1.5, and no share is above 1"),
        ("cores = 108", "cores = 108\nvector_bits = 512", "unknown fields: vector_bits"),
        ("cores = 108\n", "", "missing fields: cores"),
        ('device = "gpu"', 'device = "cpu"', "architecture is 'sm_80', not one of"),
        ('device = "gpu"', 'device = "tpu"', "device is 'tpu', and those with units, spaces and limits are gpu, npu"),
        ("line_bytes = 32", "line_bytes = 32\nsource = 3", "levels.source is 3, not one of datasheet, estimate"),
        ("cores = 108", 'cores = 108\nfrequency_source = "ear"', "frequency_source is 'ear', not one of datasheet, estimate"),
        ('fusion_level = "shared"', 'fusion_level = "L0"', "fusion_level is 'L0', not one of shared, L2"),
    ],
)
def test_wrong_files_are_refused_with_the_field(old: str, new: str, why: str) -> None:
    assert_refused(GOOD, old, new, why)


@pytest.mark.parametrize("table", ["flops_per_cycle", "limits"])
def test_a_missing_table_is_named(table: str) -> None:
    start = GOOD.index(f"[{table}]")
    end = GOOD.find("\n[", start)
    with pytest.raises(InvalidTarget) as caught:
        targets.parse("mine", GOOD[:start] + (GOOD[end:] if end > 0 else ""))
    assert "missing fields: " in caught.value.why


def test_spaces_that_are_no_tables_are_refused() -> None:
    head = GOOD[: GOOD.index("[[spaces]]")].replace('fusion_level = "shared"', 'fusion_level = "shared"\nspaces = [3]')
    with pytest.raises(InvalidTarget, match="does not follow the schema") as caught:
        targets.parse("mine", head + GOOD[GOOD.index("[limits]") :])
    assert caught.value.why == "spaces is not a list of tables"


def test_scopes_are_words() -> None:
    assert [str(scope) for scope in Scope] == ["core", "block"]
