"""`tilewright compile`: a model as a package, which runs without planner, compiler, onnx and torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.cli import parameters
from tilewright.errors import TilewrightError

if TYPE_CHECKING:
    from tilewright.api.onnx.session import InferenceSession

RANGE = re.compile(r"(.+)=(\d+)\.\.(\d+)")


def targets(context: click.Context, parameter: click.Parameter, names: Iterable[str]) -> tuple[str, ...]:
    """Machines that are known by name."""
    from tilewright.machine.targets import names as known

    return tuple(parameters.choice(name, known()) for name in names)


def shapes(context: click.Context, parameter: click.Parameter, texts: Iterable[str]) -> dict[str, Any]:
    """Shapes and extents by name, and ranges of extents."""
    found = {text: RANGE.fullmatch(text) for text in texts}
    fixed = parameters.named_shapes(context, parameter, [text for text, match in found.items() if match is None])
    ranges = {match[1]: range(int(match[2]), int(match[3]) + 1) for match in found.values() if match is not None}
    return {**{name: shape[0] if len(shape) == 1 else shape for name, shape in fixed.items()}, **ranges}


@click.command("compile")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="The package to write.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=1x128",
    callback=shapes,
    help="The shape of an input, or the extent of a dimension: batch=8, or batch=1..64 for all of these. Can be repeated.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    callback=targets,
    help="A machine by its name instead of the one at hand. Can be repeated: loading takes the best.",
)
@parameters.precision
@parameters.fuse
@click.option("--check", is_flag=True, help="MODEL is a package: compare all of its digests; nothing of it runs.")
def compile(
    model: str,
    output: str | None,
    shapes: dict[str, Any],
    targets: tuple[str, ...],
    precision: str,
    fuse: bool | None,
    check: bool,
) -> None:
    """Compile MODEL.onnx to a package, which InferenceSession(FILE) runs without planner, compiler, onnx and the model.

    Dimensions that are not given are dynamic: the package serves 1 to 4096 of each.

    MODEL.pt2, which torch.export.save wrote, becomes a package for tw.load(FILE), with the dimensions of the export."""
    if check:
        _check(model)
        return
    if output is None:
        raise click.UsageError("-o FILE is missing: the package to write")
    if model.endswith(".pt2"):
        _compile_exported(model, output, shapes, targets, precision, fuse)
    else:
        _compile_onnx(model, output, shapes, targets, precision, fuse)
    from tilewright.report import units

    click.echo(f"{output}: {units.size(Path(output).stat().st_size)}")


def _compile_exported(
    model: str, output: str, shapes: dict[str, Any], targets: tuple[str, ...], precision: str, fuse: bool | None
) -> None:
    if shapes:
        hint = "torch.export.export(..., dynamic_shapes=...) says which extents vary"
        raise click.UsageError(f"--shape is for ONNX models: {hint}")
    if find_spec("torch") is None:
        raise TilewrightError(f"{model} cannot be read", why="torch is not installed", hint="pip install 'tilewright[torch]'")
    from tilewright.api.torch import exported
    from tilewright.report import units

    for machine, seconds in exported.write(model, output, targets, precision=precision, fuse=fuse):
        click.echo(f"{machine}: {units.seconds(seconds)} predicted for one call on one thread")


def _compile_onnx(
    model: str, output: str, shapes: dict[str, Any], targets: tuple[str, ...], precision: str, fuse: bool | None
) -> None:
    from tilewright.api.onnx.compiling import Compilation
    from tilewright.cli.model_feeds import require_onnx
    from tilewright.report import units

    require_onnx(model)
    compilation = Compilation(model, shapes, precision, fuse, partial(_feeds, shapes), partial(_call_shapes, shapes))
    for found in compilation.write(output, targets):
        as_numpy = f"; as NumPy: {', '.join(found.numpy_operators)}" if found.numpy_operators else ""
        time = f"{units.seconds(found.predicted_seconds)} predicted for one call on one thread"
        click.echo(f"{found.machine}: libraries: {found.libraries}, {time}{as_numpy}")


def _call_shapes(shapes: Mapping[str, Any], session: InferenceSession) -> dict[str, tuple[int, ...]]:
    """The shapes of a call: of ranges the lowest extents, and what commands take for dimensions that are not given."""
    from tilewright.cli.model_feeds import completed

    least = {name: one[0] if isinstance(one, range) else one for name, one in shapes.items()}
    given = {name: (one,) if isinstance(one, int) else one for name, one in least.items()}
    return completed(session.get_inputs(), given)[0]


def _feeds(shapes: Mapping[str, Any], session: InferenceSession) -> dict[str, Any]:
    from tilewright.cli.model_feeds import made_feed

    known = _call_shapes(shapes, session)
    return {declared.name: made_feed(declared, known[declared.name]) for declared in session.get_inputs()}


def _check(path: str) -> None:
    from tilewright.report import units
    from tilewright.runtime.packages import reading

    header = reading.check(path)
    click.echo(f"{path}: a whole {header.content.value}, {units.size(Path(path).stat().st_size)}")
    for target in header.targets:
        features = ", ".join(sorted(target.features)) or "no features beyond the least"
        click.echo(f"  {target.name}: {target.architecture}, {features}")
