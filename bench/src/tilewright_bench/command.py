"""`tilewright bench`: how fast the kernels are, beside the libraries that are installed, in one run.

What measures is imported when it is asked for.
"""

from __future__ import annotations

import functools
import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.cli import parameters
from tilewright.cli.model_feeds import model_shapes
from tilewright.cli.parameters import choice
from tilewright.errors import TilewrightError
from tilewright.tune.shapes import TABLE_IV, TABLE_V
from tilewright_bench.cases import attention_shapes, conv_chain_shapes, conv_sets, mlp_shapes
from tilewright_bench.cases.conv_shapes import ConvShape, named_shape
from tilewright_bench.cases.gemm_shapes import DRAWN, SQUARES, TABLE_1
from tilewright_bench.cases.int8_shapes import CASE_NAMES, QUICK_NAMES, TABLE_NAMES
from tilewright_bench.environment import restart_if_unfair

if TYPE_CHECKING:
    from tilewright_bench.gpu.report import Measured
    from tilewright_bench.gpu.results import Skipped
    from tilewright_bench.predicted_chains import PredictedChains
    from tilewright_bench.run import Settings
    from tilewright_bench.tables.report import Report

CHAIN_NAMES = tuple(shape.name for shape in TABLE_IV)
GEMM_NAMES = tuple(shape.name for shape in (*TABLE_1, *SQUARES))
TYPED_GEMM_NAMES = (*GEMM_NAMES, *(shape.name for shape in DRAWN))
GEMM_TYPES = ("float32", "float64", "int32", "int16", "float16")
ATTENTION_NAMES = tuple(shape.name for shape in attention_shapes.SHAPES)
MLP_NAMES = tuple(shape.name for shape in mlp_shapes.SHAPES)
CONV_CHAIN_NAMES = tuple(shape.name for shape in conv_chain_shapes.SHAPES)

GPU_NAMES = (
    *CHAIN_NAMES,
    *(f"{name} softmax" for name in CHAIN_NAMES),
    *(f"{shape.name}{kind}" for kind in ("", " ReLU") for shape in TABLE_V),
    *("causal GQA", "MLP", "GEMM 4096"),
)


def names_of(known: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...] | None]:
    """A comma-separated list of known names."""

    def parse(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
        if text is None:
            return None
        return tuple(choice(part.strip(), known) for part in text.split(",") if part.strip())

    return parse


def _convolutions(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[ConvShape, ...]:
    """A comma-separated list of names of convolutions."""
    try:
        return tuple(named_shape(part.strip()) for part in (text or "").split(",") if part.strip())
    except TilewrightError as problem:
        raise click.BadParameter(str(problem)) from problem


def _slice(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, int]:
    """Which part of the cases, and of how many.

    >>> _slice(None, None, "2/4"), _slice(None, None, None)
    ((2, 4), (1, 1))
    """
    number, _, count = (text or "1/1").partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise click.BadParameter(f"{text}: a slice is 1/4, 2/4, ...")
    return int(number), int(count)


def _writable_file(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A file that can be created, or -: a long run must not fail when it writes its results."""
    if name is None or name == "-":
        return name
    directory = Path(name).resolve().parent
    if Path(name).is_dir() or not directory.is_dir():
        raise click.BadParameter(
            f"{name}: {'it is a directory' if Path(name).is_dir() else f'there is no directory {directory}'}"
        )
    if not os.access(name if Path(name).exists() else directory, os.W_OK):
        raise click.BadParameter(f"{name} cannot be written")
    return name


def _packings(command: Any) -> Any:
    """Which operands are constants."""
    return _decorated(
        command,
        click.option("--not-prepacked", "packing", flag_value="none", default="both", help="Only with operands that all vary."),
        click.option("--prepacked", "packing", flag_value="constants", help="Only with constant right-hand sides, prepacked."),
    )


def _peers(*benchmarks: str) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...] | None]:
    """A comma-separated list of peers of any of these benchmarks."""

    def parse(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
        if text is None:
            return None
        from tilewright_bench.benchmarks import peers_of

        known = tuple(dict.fromkeys(name for benchmark in benchmarks for name in peers_of(benchmark)))
        return names_of(known)(context, parameter, text)

    return parse


def _common(*benchmarks: str) -> Callable[[Any], Any]:
    """The options of every benchmark."""
    options = (
        click.option(
            "--peers",
            callback=_peers(*benchmarks),
            metavar="NAME,...",
            help="By default those installed; a wrong name tells all of them.",
        ),
        click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="For everyone alike."),
        click.option(
            "--repeats", type=click.IntRange(1), default=11, show_default=True, help="Rounds of turns; figures are medians."
        ),
        click.option(
            "--processes", type=click.IntRange(1), default=1, show_default=True, help="Fresh ones; figures are medians over them."
        ),
        click.option(
            "--json",
            "json_file",
            metavar="FILE",
            callback=_writable_file,
            help="Write everything as JSON; - prints that instead of the table.",
        ),
    )
    return lambda command: _decorated(command, *options)


def _family(benchmark: str, names: tuple[str, ...]) -> Callable[[Any], Any]:
    """The options of benchmarks that may be measured with odd sizes."""
    options = (
        click.option("--cases", callback=names_of(names), metavar="NAME,...", help=f"By default all: {', '.join(names)}."),
        click.option("--odd", is_flag=True, help="The same again with random odd sizes."),
        click.option("--seed", type=int, default=None, help="Of the odd sizes, which a table prints; a random one by default."),
    )
    return lambda command: _decorated(_common(benchmark)(command), *options)


def _decorated(command: Any, *options: Any) -> Any:
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


@click.group()
def bench() -> None:
    """Measure kernels beside the libraries that are installed."""


@bench.command()
@click.option(
    "--cases",
    callback=names_of(CHAIN_NAMES),
    metavar="G1,G2,...",
    help="Which chains; all of Table IV by default. `tilewright explain G1` prints shapes.",
)
@click.option("--softmax", "kind", flag_value="softmax", default="both", help="Only with a softmax between the two products.")
@click.option("--plain", "kind", flag_value="plain", help="Only without one.")
@click.option("--target", callback=parameters.target, help="Predict for this machine by name instead; nothing is measured.")
@_packings
@_common("chains")
def chains(json_file: str | None, target: str | None, **options: Any) -> None:
    """Batch GEMM chains of Chimera's Table IV, plain and with softmax: ms per call, share of the peak, ratio to the best peer."""
    report = predicted_chains(target, **options) if target is not None else measured_chains(**options)
    _publish("chains", report, json_file)


@bench.command()
@click.option(
    "--cases",
    callback=names_of(TYPED_GEMM_NAMES),
    metavar="MxNxK,...",
    help=f"Which products; by default all: {', '.join(GEMM_NAMES)}; of other types also {len(DRAWN)} drawn ones.",
)
@click.option(
    "--dtype",
    type=click.Choice(GEMM_TYPES),
    default="float32",
    show_default=True,
    help="Of the operands; products of int16 are summed in int32.",
)
@_packings
@_common("gemm", "gemm-types")
def gemm(json_file: str | None, **options: Any) -> None:
    """Single GEMMs of deep learning and small squares: time, share of the peak or of the bandwidth, ratio to the best peer."""
    _publish("gemm", measured_gemms(**options), json_file)


@bench.command()
@_family("attention", ATTENTION_NAMES)
def attention(json_file: str | None, **options: Any) -> None:
    """Attention: time, share of the peak (on the pairs that a causal mask leaves) or of a plain read, ratio to the best peer."""
    _publish("attention", measured_attention(**options), json_file)


@bench.command()
@_family("mlp", MLP_NAMES)
def mlp(json_file: str | None, **options: Any) -> None:
    """Networks of linear layers with constant weights: time, share of the peak or of a plain read, ratio to the best peer."""
    _publish("mlp", measured_mlp(**options), json_file)


@bench.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@parameters.shapes
@_common("model")
def model(json_file: str | None, **options: Any) -> None:
    """FILE.onnx on random operands, checked against reference implementations: time, share of the peak, ratio to the best peer,
    and what was predicted. Dimensions that are not given are 1 where they are the first of an input, else 128: a line says so."""
    _publish("model", measured_model(**options), json_file)


@bench.command("conv")
@click.option("--cases", "shapes", callback=_convolutions, metavar="NAME,...", help="These convolutions, as 3x3_64-128_56_s2.")
@click.option(
    "--model",
    "models",
    callback=names_of(conv_sets.NAMES),
    metavar="NAME,...",
    help=f"The layers of these models, or these sets; by default all: {', '.join(conv_sets.NAMES)}.",
)
@click.option("--seed", type=int, default=conv_sets.SEED, show_default=True, help="Of the shapes that are drawn.")
@click.option("--slice", "part", callback=_slice, metavar="I/N", help="Every N-th case, beginning with the I-th.")
@click.option("--every-algorithm", is_flag=True, help="Also a kernel by each algorithm that applies.")
@click.option(
    "--known",
    "known",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Results of earlier runs (--json), whose cases are not measured again.",
)
@_common("conv")
def conv(json_file: str | None, **options: Any) -> None:
    """Convolutions of SConv's seven models, drawn ones, or named ones: time, share of the peak, ratios to the best peer and to
    im2col with OpenBLAS."""
    _publish("conv", measured_conv(**options), json_file)


@bench.command("conv-chains")
@click.option(
    "--cases", callback=names_of(CONV_CHAIN_NAMES), metavar="NAME,...", help=f"By default all: {', '.join(CONV_CHAIN_NAMES)}."
)
@_common("conv-chains")
def conv_chains(json_file: str | None, **options: Any) -> None:
    """Chains of convolutions with constant weights, of Chimera's Table V, of MobileNetV2 and of a large image: time, share of the
    peak, floors, ratio to the best peer."""
    _publish("conv-chains", measured_conv_chains(**options), json_file)


@bench.command()
@click.option(
    "--cases",
    callback=names_of(CASE_NAMES),
    metavar="MxNxK,...",
    help=f"Which products, in the tables that have them; by default all: {', '.join(CASE_NAMES)}.",
)
@click.option(
    "--tables",
    callback=names_of(TABLE_NAMES),
    metavar="NAME,...",
    help=f"Which tables; by default all: {', '.join(TABLE_NAMES)}.",
)
@click.option("--quick", is_flag=True, help=f"Three rounds; without --cases only {', '.join(QUICK_NAMES)}.")
@click.option(
    "--weights", type=click.Choice(("7", "8", "both")), default="both", help="Bits of bytes as weights; by default both."
)
@_common("int8", "int8-unpacked", "int8-dynamic", "int16", "nbits")
def int8(json_file: str | None, **options: Any) -> None:
    """Integer GEMM with constant weights: int8 (beside peers that prepack weights, and peers that pack them at every call),
    floats that are quantised in the call, int16, and weights of 4 bits. Time, GOP/s, share of the measured peak, ratio to the
    best peer, and whether what is asked is reached."""
    _publish("int8", measured_int8(**options), json_file)


@bench.command()
@click.option("--cases", callback=names_of(GPU_NAMES), metavar="NAME,...", help="By default all; a wrong name tells some.")
@click.option(
    "--seconds",
    type=click.FloatRange(1),
    default=540,
    show_default=True,
    help="For everything: what is optional is left out first.",
)
@click.option("--repeats", type=click.IntRange(1), default=21, show_default=True, help="Rounds of turns; figures are medians.")
@click.option("--compile/--no-compile", "compiles", default=True, help="torch.compile beside PyTorch eager.")
@click.option("--counters/--no-counters", "counts", default=True, help="Bytes of DRAM, where `ncu` is installed and permitted.")
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    callback=_writable_file,
    help="By default <date>-gpu-<card>.json here; - prints that instead of the table.",
)
def gpu(json_file: str | None, cases: tuple[str, ...] | None, **options: Any) -> None:
    """Chains of Tables IV and V, attention, an MLP, a product on the GPU that is here: results, resources, times beside PyTorch,
    the contract of the replaceable product, fitted estimates. Without a GPU one line says what is missing."""
    from tilewright_bench.gpu.files import result_name
    from tilewright_bench.gpu.report import Measured, gpu_report
    from tilewright_bench.gpu.run import Settings

    report = gpu_report(cases, Settings(options["repeats"], options["seconds"], options["compiles"], options["counts"]))
    if json_file is None and isinstance(report, Measured):
        json_file = result_name(report.report.card.card)
        click.echo(f"gpu: {json_file} has everything", err=True)
    _publish("gpu", report, json_file)


def measured_chains(cases: tuple[str, ...] | None, kind: str, packing: str, **settings: Any) -> Report:
    """Run the benchmark of chains in a fair environment, restarting the process for that if need be; progress on stderr.

    `settings` are those of `_settings`, here and below.
    """
    restart_if_unfair(settings["threads"])
    from tilewright_bench.benchmarks import CHAINS
    from tilewright_bench.cases.chains import chain_cases
    from tilewright_bench.run import PACKINGS, measured

    return measured(CHAINS, chain_cases(cases or CHAIN_NAMES, kind, PACKINGS[packing]), _settings(**settings))


def predicted_chains(target: str, cases: tuple[str, ...] | None, kind: str, **settings: Any) -> PredictedChains:
    """Plan the same chains for a machine by name; `settings`, which are of measurements, decide nothing."""
    from tilewright_bench.predicted_chains import predicted

    return predicted(cases or CHAIN_NAMES, kind, target)


def measured_gemms(cases: tuple[str, ...] | None, packing: str, dtype: str = "float32", **settings: Any) -> Report:
    """The same for single products."""
    restart_if_unfair(settings["threads"])
    from tilewright_bench.benchmarks import GEMMS, TYPED_GEMMS
    from tilewright_bench.cases.gemm import gemm_cases
    from tilewright_bench.run import PACKINGS, measured

    is_float32 = dtype == "float32"
    benchmark, names = (GEMMS, GEMM_NAMES) if is_float32 else (replace(TYPED_GEMMS, peak=dtype), TYPED_GEMM_NAMES)
    return measured(benchmark, gemm_cases(cases or names, PACKINGS[packing], dtype), _settings(**settings))


def measured_attention(cases: tuple[str, ...] | None, odd: bool, seed: int | None, **settings: Any) -> Report:
    """The same for attention."""
    restart_if_unfair(settings["threads"])
    from tilewright_bench.benchmarks import ATTENTION
    from tilewright_bench.cases.attention import attention_cases
    from tilewright_bench.run import measured

    return measured(ATTENTION, attention_cases(cases or ATTENTION_NAMES, _odd_seed(odd, seed)), _settings(**settings))


def measured_mlp(cases: tuple[str, ...] | None, odd: bool, seed: int | None, **settings: Any) -> Report:
    """The same for linear layers."""
    restart_if_unfair(settings["threads"])
    from tilewright_bench.benchmarks import MLP
    from tilewright_bench.cases.mlp import mlp_cases
    from tilewright_bench.run import measured

    return measured(MLP, mlp_cases(cases or MLP_NAMES, _odd_seed(odd, seed)), _settings(**settings))


def measured_conv(
    shapes: tuple[ConvShape, ...],
    models: tuple[str, ...] | None,
    seed: int,
    part: tuple[int, int],
    every_algorithm: bool,
    known: tuple[str, ...],
    **settings: Any,
) -> Report:
    """The same for convolutions."""
    restart_if_unfair(settings["threads"])
    from tilewright_bench.benchmarks import CONVOLUTIONS
    from tilewright_bench.conv_report import conv_report
    from tilewright_bench.tilewright_contender import conv as contender

    sets = (() if shapes else conv_sets.NAMES) if models is None else models
    cases = conv_sets.cases(shapes, sets, seed)[part[0] - 1 :: part[1]]
    benchmark = replace(CONVOLUTIONS, tilewright=contender.EACH) if every_algorithm else CONVOLUTIONS
    return conv_report(cases, _settings(**settings), [Path(file) for file in known], benchmark)


def measured_conv_chains(cases: tuple[str, ...] | None, **settings: Any) -> Report:
    """The same for chains of convolutions."""
    restart_if_unfair(settings["threads"])
    from tilewright_bench.cases.conv_chains import conv_chain_cases
    from tilewright_bench.conv_chain_report import conv_chain_report

    return conv_chain_report(conv_chain_cases(cases or CONV_CHAIN_NAMES), _settings(**settings))


def measured_int8(
    cases: tuple[str, ...] | None, tables: tuple[str, ...] | None, quick: bool, weights: str, **settings: Any
) -> Report:
    """The same for products of integers."""
    restart_if_unfair(settings["threads"])
    from tilewright_bench.int8_report import chosen, int8_report

    names, rounds = (QUICK_NAMES, {"repeats": 3}) if quick else (CASE_NAMES, {})
    bits = (7, 8) if weights == "both" else (int(weights),)
    return int8_report(chosen(tables or TABLE_NAMES, cases or names, bits), _settings(**(settings | rounds)))


def measured_model(file: str, shapes: dict[str, tuple[int, ...]], **settings: Any) -> Report:
    """The same for a model, which says on stderr what it assumes of shapes."""
    restart_if_unfair(settings["threads"])
    import tilewright.onnx as ort
    from tilewright_bench.cases.model import ModelCase
    from tilewright_bench.model_report import model_report

    known = model_shapes(ort.InferenceSession(file, prepare=False).get_inputs(), shapes)
    return model_report([ModelCase(Path(file), tuple(known.items()))], _settings(**settings))


def _settings(peers: tuple[str, ...] | None, threads: int, repeats: int, processes: int) -> Settings:
    from tilewright_bench.run import Settings

    return Settings(peers, threads, repeats, processes)


def _odd_seed(odd: bool, seed: int | None) -> int | None:
    """None without odd sizes."""
    return (random.randrange(1000) if seed is None else seed) if odd else None


def _publish(name: str, report: Report | PredictedChains | Measured | Skipped, json_file: str | None) -> None:
    if json_file != "-":
        click.echo(report.as_text())
    if json_file is not None:
        _write(json_file, report.as_document())
    if report.wrong():
        raise TilewrightError(f"tilewright's result is wrong for {', '.join(report.wrong())}", where=f"bench {name}")


def _write(json_file: str, document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=2)
    if json_file == "-":
        click.echo(text)
        return
    try:
        Path(json_file).write_text(text + "\n")
    except OSError as problem:
        raise TilewrightError(f"{json_file} cannot be written", where="--json", why=str(problem)) from problem
