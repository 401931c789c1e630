"""What a command is about: a chain of the papers by its name, or a function of a file or a module with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tilewright.cli import user_code
from tilewright.cli.parameters import Spec
from tilewright.tune.shapes import TABLE_IV, TABLE_V, chain_shape, conv_chain_shape

BETWEEN = {shape.name: "softmax" for shape in TABLE_IV} | {shape.name: "relu" for shape in TABLE_V}
"""What may stand between the operators of a chain: G2_softmax, C3_relu."""


def subject_of(name: str, arguments: tuple[Spec, ...]) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    """A function, and what it is called with."""
    first, _, between = name.partition("_")
    chain = first.upper()
    if chain not in BETWEEN or between not in ("", BETWEEN[chain]):
        return _function(name, arguments)
    if arguments:
        raise click.UsageError(f"{name} has the shapes of a paper: --arg is for functions of a file or a module")
    return _product_chain(chain, bool(between)) if BETWEEN[chain] == "softmax" else _conv_chain(chain, bool(between))


def _product_chain(name: str, with_softmax: bool) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    from tilewright.tune import chain_functions

    function = chain_functions.attention if with_softmax else chain_functions.gemm_chain
    return function, tuple((operand, "float32") for operand in chain_shape(name).operands)


def _conv_chain(name: str, with_relu: bool) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    """Filters are constants, as in a model: which algorithms apply, and what they do ahead of a call, depends on it."""
    from tilewright.tune import chain_functions

    shape = conv_chain_shape(name)
    return chain_functions.conv_chain(shape, with_relu=with_relu), (((1, *shape.image), "float32"),)


def _function(subject: str, arguments: tuple[Spec, ...]) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    place, colon, name = subject.rpartition(":")
    if subject.endswith(".py"):
        raise click.UsageError(f"{subject} needs the name of a function: {subject}:FUNCTION")
    if not colon or not place:
        chains = "a chain of Table IV (G1 to G12, G1_softmax) or V (C1 to C8, C1_relu)"
        raise click.UsageError(f"{subject!r} is neither MODEL.onnx, FILE.py:FUNCTION or MODULE:FUNCTION nor {chains}")
    if not arguments:
        raise click.UsageError(f"{subject} needs the shape of each argument: --arg 12x512x64")
    return user_code.load(place, name), arguments
