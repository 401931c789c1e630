"""`tilewright run`: an ONNX model or a package, once, on arrays of files or on random ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tilewright.cli import parameters
from tilewright.cli.model_feeds import Shapes, made_feed, model_shapes, require_onnx
from tilewright.errors import TilewrightError


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="The array of an input. Can be repeated.")
@parameters.shapes
@click.option("--output", type=click.Path(file_okay=False), help="Write every output to this directory, as NAME.npy.")
@click.option("--profile", "with_profile", is_flag=True, help="Say what every chain took.")
@parameters.precision
@parameters.fuse
@click.option("--threads", type=click.IntRange(1), help="Threads of the call.")
def run(
    model: str,
    inputs: tuple[str, ...],
    shapes: dict[str, tuple[int, ...]],
    output: str | None,
    with_profile: bool,
    precision: str,
    fuse: bool | None,
    threads: int | None,
) -> None:
    """Run MODEL.onnx, or a package of a model or a kernel, once, and print what came out. Inputs without --input are random.

    Dimensions that are not given are 1 where they are the first of an input, else 128: a line says so."""
    session = _session(model, precision, fuse, threads)
    feeds = {name: _array(path) for name, _, path in (text.partition("=") for text in inputs)}
    feeds |= _made_feeds(session, feeds, shapes)
    for declared, result in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        click.echo(f"{declared.name}: {_described(result)}")
        if output is not None:
            _write(Path(output), declared.name, result)
    if with_profile:
        click.echo(str(session.profile(feeds)))


def _session(model: str, precision: str, fuse: bool | None, threads: int | None) -> Any:
    """What is run. A package has its own precision and fusion."""
    from tilewright.cli import saved_kernels
    from tilewright.runtime.packages.reading import is_package

    if is_package(model):
        return saved_kernels.of_package(model, threads)
    require_onnx(model)
    import tilewright.onnx as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or 0
    return ort.InferenceSession(model, options, precision=precision, fuse=fuse)


def _made_feeds(session: Any, feeds: Mapping[str, Any], shapes: Shapes) -> dict[str, Any]:
    """Arrays for the inputs that have none; those that are given say what dimensions are, too."""
    import numpy as np

    inputs = session.get_inputs()
    fed = {declared.name: np.shape(feeds[declared.name]) for declared in inputs if declared.name in feeds}
    known = model_shapes(inputs, {**shapes, **fed}, getattr(session, "ranges", {}))
    return {declared.name: made_feed(declared, known[declared.name]) for declared in inputs if declared.name not in feeds}


def _array(path: str) -> Any:
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as problem:
        raise TilewrightError(f"{path} cannot be read as an array", where="--input", why=str(problem)) from problem


def _described(result: Any) -> str:
    import numpy as np

    if not isinstance(result, np.ndarray):
        return "nothing" if result is None else f"a sequence of {len(result)}"
    extents = "x".join(map(str, result.shape)) or "one number"
    if result.size == 0 or result.dtype.kind not in "fiu":
        return f"{result.dtype} {extents}"
    return f"{result.dtype} {extents}, {result.min():.6g} to {result.max():.6g}, mean {result.mean(dtype=float):.6g}"


def _write(directory: Path, name: str, result: Any) -> None:
    import numpy as np

    path = directory / f"{''.join(c if c.isalnum() else '_' for c in name)}.npy"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        np.save(path, result)
    except OSError as problem:
        raise TilewrightError(f"{path} cannot be written", where="--output", why=str(problem)) from problem
