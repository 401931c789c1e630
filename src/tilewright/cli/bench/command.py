"""`tilewright bench`: how fast the kernels are, beside the libraries that are installed, in one run."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.cli import attention_shapes, mlp_shapes
from tilewright.cli.bench.environment import restart_if_unfair
from tilewright.cli.parameters import choice, named_shapes, writable_file
from tilewright.cli.shapes import SQUARES, TABLE_1, TABLE_IV
from tilewright.errors import TilewrightError

if TYPE_CHECKING:
    from tilewright.cli.bench.run import Settings
    from tilewright.cli.bench.table import Report

CHAIN_NAMES = tuple(shape.name for shape in TABLE_IV)
GEMM_NAMES = tuple(shape.name for shape in (*TABLE_1, *SQUARES))
CHAIN_PEERS = ("numpy", "torch", "torch-avx512", "onnxruntime", "openvino")
GEMM_PEERS = ("numpy", "torch", "torch-avx512", "onednn")
ATTENTION_NAMES = tuple(shape.name for shape in attention_shapes.SHAPES)
MLP_NAMES = tuple(shape.name for shape in mlp_shapes.SHAPES)
MODEL_PEERS = ("onnxruntime", "openvino")
FAMILY_PEERS = ("torch", "torch-avx512", "onnxruntime", "openvino")


def _names(known: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...] | None]:
    """A comma-separated list of known names."""

    def parse(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
        if text is None:
            return None
        return tuple(choice(part.strip(), known) for part in text.split(",") if part.strip())

    return parse


def _packings(command: Any) -> Any:
    """Which operands are constants."""
    return _decorated(
        command,
        click.option("--not-prepacked", "packing", flag_value="none", help="Only with operands that may all change."),
        click.option("--prepacked", "packing", flag_value="constants", help="Only with constant right-hand sides, prepacked."),
        click.option("--both-packings", "packing", flag_value="both", default="both", help="A table of each (the default)."),
    )


def _common(peers: tuple[str, ...]) -> Callable[[Any], Any]:
    """The options of every benchmark."""
    options = (
        click.option(
            "--peers", callback=_names(peers), metavar="NAMES", help=f"Of {', '.join(peers)}; by default those installed."
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
            callback=writable_file,
            help="Write everything as JSON; - prints that instead of the table.",
        ),
    )
    return lambda command: _decorated(command, *options)


def _family(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """The options of attention and linear layers."""
    options = (
        click.option("--cases", callback=_names(names), metavar="NAME,...", help=f"By default all: {', '.join(names)}."),
        click.option("--odd", is_flag=True, help="The same again with random odd sizes."),
        click.option("--seed", type=int, default=None, help="Of the odd sizes, which a table prints; a random one by default."),
    )
    return lambda command: _decorated(_common(FAMILY_PEERS)(command), *options)


def _decorated(command: Any, *options: Any) -> Any:
    return functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


@click.group()
def bench() -> None:
    """Measure kernels beside the libraries that are installed."""


@bench.command()
@click.option("--cases", callback=_names(CHAIN_NAMES), metavar="G1,G2,...", help="Which chains; all of Table IV by default.")
@click.option("--softmax", "kind", flag_value="softmax", help="Only with a softmax between the two products.")
@click.option("--plain", "kind", flag_value="plain", help="Only without one.")
@click.option("--both", "kind", flag_value="both", default="both", help="With and without (the default).")
@_packings
@_common(CHAIN_PEERS)
def chains(json_file: str | None, **options: Any) -> None:
    """Batch GEMM chains of Chimera's Table IV, plain and with softmax: ms per call, share of the peak, ratio to the best peer."""
    _publish("chains", measured_chains(**options), json_file)


@bench.command()
@click.option(
    "--cases",
    callback=_names(GEMM_NAMES),
    metavar="MxNxK,...",
    help=f"Which products; by default all: {', '.join(GEMM_NAMES)}.",
)
@_packings
@_common(GEMM_PEERS)
def gemm(json_file: str | None, **options: Any) -> None:
    """Single products of deep learning and small squares: time, share of the peak or of the bandwidth, ratio to the best peer."""
    _publish("gemm", measured_gemms(**options), json_file)


@bench.command()
@_family(ATTENTION_NAMES)
def attention(json_file: str | None, **options: Any) -> None:
    """Attention: time, share of the peak (on the pairs that a causal mask leaves) or of a plain read, ratio to the best peer."""
    _publish("attention", measured_attention(**options), json_file)


@bench.command()
@_family(MLP_NAMES)
def mlp(json_file: str | None, **options: Any) -> None:
    """Networks of linear layers with constant weights: time, share of the peak or of a plain read, ratio to the best peer."""
    _publish("mlp", measured_mlp(**options), json_file)


@bench.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=1x128",
    callback=named_shapes,
    help="The shape of an input, or the extent of a named dimension.",
)
@_common(MODEL_PEERS)
def model(json_file: str | None, **options: Any) -> None:
    """FILE.onnx on random operands, checked against reference implementations: time, share of the peak, ratio to the best peer,
    and what was predicted."""
    _publish("model", measured_model(**options), json_file)


def measured_chains(
    cases: tuple[str, ...] | None,
    kind: str,
    packing: str,
    peers: tuple[str, ...] | None,
    threads: int,
    repeats: int,
    processes: int,
) -> Report:
    """Run the benchmark of chains in a fair environment, restarting the process for that if need be; progress on stderr."""
    restart_if_unfair(threads)
    from tilewright.cli.bench.chains import CHAINS, chain_cases
    from tilewright.cli.bench.run import PACKINGS, Settings, measured

    chosen = chain_cases(cases or CHAIN_NAMES, kind, PACKINGS[packing])
    return measured(CHAINS, chosen, Settings(peers, threads, repeats, processes))


def measured_gemms(
    cases: tuple[str, ...] | None, packing: str, peers: tuple[str, ...] | None, threads: int, repeats: int, processes: int
) -> Report:
    """The same for single products."""
    restart_if_unfair(threads)
    from tilewright.cli.bench.gemm import GEMMS, gemm_cases
    from tilewright.cli.bench.run import PACKINGS, Settings, measured

    chosen = gemm_cases(cases or GEMM_NAMES, PACKINGS[packing])
    return measured(GEMMS, chosen, Settings(peers, threads, repeats, processes))


def measured_attention(cases: tuple[str, ...] | None, odd: bool, seed: int | None, **settings: Any) -> Report:
    """The same for attention; `settings` are those of `_settings`."""
    restart_if_unfair(settings["threads"])
    from tilewright.cli.bench.attention import ATTENTION
    from tilewright.cli.bench.attention_cases import attention_cases
    from tilewright.cli.bench.run import measured

    return measured(ATTENTION, attention_cases(cases or ATTENTION_NAMES, _odd_seed(odd, seed)), _settings(**settings))


def measured_mlp(cases: tuple[str, ...] | None, odd: bool, seed: int | None, **settings: Any) -> Report:
    """The same for linear layers."""
    restart_if_unfair(settings["threads"])
    from tilewright.cli.bench.mlp import MLP
    from tilewright.cli.bench.mlp_cases import mlp_cases
    from tilewright.cli.bench.run import measured

    return measured(MLP, mlp_cases(cases or MLP_NAMES, _odd_seed(odd, seed)), _settings(**settings))


def measured_model(file: str, shapes: dict[str, tuple[int, ...]], **settings: Any) -> Report:
    """The same for a model."""
    restart_if_unfair(settings["threads"])
    from tilewright.cli.bench.model_case import ModelCase
    from tilewright.cli.bench.model_report import model_report

    return model_report([ModelCase(Path(file), tuple(shapes.items()))], _settings(**settings))


def _settings(peers: tuple[str, ...] | None, threads: int, repeats: int, processes: int) -> Settings:
    from tilewright.cli.bench.run import Settings

    return Settings(peers, threads, repeats, processes)


def _odd_seed(odd: bool, seed: int | None) -> int | None:
    """None without odd sizes."""
    return (random.randrange(1000) if seed is None else seed) if odd else None


def _publish(name: str, report: Report, json_file: str | None) -> None:
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
