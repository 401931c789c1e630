"""`tilewright explain`: how a chain will run and why, without compiling it."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import click

from tilewright.cli import parameters, saved_kernels, user_code
from tilewright.cli.model_feeds import model_shapes, require_onnx
from tilewright.cli.parameters import Spec
from tilewright.price_terms import TERMS

if TYPE_CHECKING:
    from tilewright.plan.types import ModelPlan


@click.command()
@click.argument("subject", metavar="WHAT")
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="SHAPE",
    callback=parameters.specs,
    help="One argument of the function: 12x512x64, or 12xsx64:float32.",
)
@parameters.shapes
@click.option("--target", callback=parameters.target, help="Plan for this machine, by its name, instead of the one at hand.")
@parameters.fuse
@parameters.precision
@click.option(
    "--without",
    "terms",
    multiple=True,
    metavar="TERM",
    type=click.Choice(tuple(TERMS)),
    help=f"Plan as if this cost nothing: {', '.join(TERMS)}. Can be repeated.",
)
@click.option("--full", is_flag=True, help="Every chain with all of its reasons, however many there are; equal chains once.")
@click.option("--source", is_flag=True, help="Print the generated text instead.")
@click.option("--slicing", is_flag=True, help="Print the SConv paper's analysis of a function's convolutions instead.")
@click.option(
    "--movement", is_flag=True, help="Print data movement by block order instead (Chimera's Figure 2, Equations 1 to 3)."
)
def explain(
    subject: str,
    arguments: tuple[Spec, ...],
    shapes: dict[str, tuple[int, ...]],
    target: str | None,
    fuse: bool | None,
    precision: str,
    terms: tuple[str, ...],
    full: bool,
    source: bool,
    slicing: bool,
    movement: bool,
) -> None:
    """Say how WHAT will run, and why: MODEL.onnx, a package, FILE.py:FUNCTION or MODULE:FUNCTION with --arg's, or a chain of the
    papers: of matrix products (G1 to G12 of Chimera's Table IV, or G1_softmax with a softmax between them) or of convolutions
    with constant filters (C1 to C8 of its Table V, or C1_relu).

    Dimensions of a model that are not given are 1 where they are the first of an input, else 128: a line says so."""
    import tilewright as tw
    from tilewright import compiler
    from tilewright.report import explain as report
    from tilewright.report.movement import explain_movement
    from tilewright.report.slicing import explain_slicing
    from tilewright.runtime.packages.reading import is_package

    if is_package(subject):
        _check_unset(subject, arguments or shapes or target or terms or source or slicing or movement)
        click.echo(saved_kernels.explanation(subject, full=full))
        return
    if subject.endswith(".onnx"):
        if slicing or movement:
            raise click.UsageError("--slicing and --movement are for functions of a file or a module")
        click.echo(_model_explanation(subject, shapes, target, fuse, precision, full))
        return
    function, operands = user_code.subject_of(subject, arguments, _element_type(target))
    specs = [tw.spec(shape, dtype) for shape, dtype in operands]
    user_code.check_arguments(function, specs)
    with user_code.blamed(subject):
        lowered = tw.jit(function, target=target, fuse=fuse, precision=precision).lower(*specs)
        if (slicing or movement or terms) and lowered.machine.accelerator is not None:
            options = "--slicing, --movement and --without"
            raise click.UsageError(f"{options} are of caches and vectors, and {lowered.machine.name} has none")
        if slicing or movement:
            click.echo((explain_slicing if slicing else explain_movement)(lowered.graph, lowered.machine))
            return
        model_plan = _without(terms, lowered.model_plan, fuse) if terms and lowered.model_plan.plans else lowered.model_plan
    if terms and not source:
        click.echo(f"planned as if these cost nothing: {', '.join(terms)}\n")
    click.echo(compiler.generate(model_plan).source.rstrip("\n") if source else report.explain(model_plan, full=full))


def _check_unset(package: str, options: object) -> None:
    if options:
        why = "it has the plan that was made when it was saved, and takes no options"
        raise click.UsageError(f"{package} is a package: {why}")


def _model_explanation(
    path: str, shapes: dict[str, tuple[int, ...]], target: str | None, fuse: bool | None, precision: str, full: bool
) -> str:
    require_onnx(path)
    import tilewright.onnx as ort

    session = ort.InferenceSession(path, target=target, prepare=False, precision=precision, fuse=fuse)
    return session.explain(full=full, **model_shapes(session.get_inputs(), shapes))


def _element_type(target: str | None) -> str:
    """Of the chains of the papers: 16 bits on devices that store them, as there."""
    if target is None:
        return "float32"
    from tilewright.backends.registry import for_machine
    from tilewright.machine import Machine

    return "float16" if for_machine(Machine.named(target)).stores_halves else "float32"


def _without(terms: tuple[str, ...], planned: ModelPlan, fuse: bool | None) -> ModelPlan:
    """The same graph planned by a price without these terms."""
    from tilewright.coefficients import Coefficients, coefficients_for
    from tilewright.plan.whole_model.partition import partition

    machine = planned.plans[0].machine
    coefficients = reduce(Coefficients.without, terms, coefficients_for(machine))
    return partition(planned.graph, machine, fuse=fuse, coefficients=coefficients)
