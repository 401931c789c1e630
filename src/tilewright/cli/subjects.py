"""What a command is about: a chain of the papers by its name, or a function of a file or a module with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tilewright.cli import user_code
from tilewright.cli.parameters import Spec
from tilewright.tune.shapes import TABLE_IV, TABLE_V, chain_shape, conv_chain_shape


def subject_of(name: str, softmax: bool, relu: bool, arguments: tuple[Spec, ...]) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    """A function, and what it is called with."""
    products, convolutions = ({shape.name for shape in table} for table in (TABLE_IV, TABLE_V))
    chain = name.upper()
    if softmax and chain not in products:
        raise click.UsageError("--softmax is for the chains of Table IV (G1 to G12)")
    if relu and chain not in convolutions:
        raise click.UsageError("--relu is for the chains of Table V (C1 to C8)")
    if chain not in products | convolutions:
        return _function(name, arguments)
    if arguments:
        table = "IV" if chain in products else "V"
        raise click.UsageError(f"{name} has the shapes of Table {table}: --arg is for functions of a file or a module")
    return _product_chain(chain, softmax) if chain in products else _conv_chain(chain, relu)


def _product_chain(name: str, softmax: bool) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    from tilewright.tune import chain_functions

    function = chain_functions.attention if softmax else chain_functions.gemm_chain
    return function, tuple((operand, "float32") for operand in chain_shape(name).operands)


def _conv_chain(name: str, relu: bool) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    """Filters are constants, as in a model: which algorithms apply, and what they do ahead of a call, depends on it."""
    from tilewright.tune import chain_functions

    shape = conv_chain_shape(name)
    return chain_functions.conv_chain(shape, with_relu=relu), (((1, *shape.image), "float32"),)


def _function(subject: str, arguments: tuple[Spec, ...]) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    place, colon, name = subject.rpartition(":")
    if not colon or not place:
        chains = "a chain of Table IV (G1 to G12) or V (C1 to C8)"
        raise click.UsageError(f"{subject!r} is neither {chains} nor FILE.py:FUNCTION or MODULE:FUNCTION")
    if not arguments:
        raise click.UsageError(f"{subject} needs the shape of each argument: --arg 12x512x64")
    return user_code.load(place, name), arguments
