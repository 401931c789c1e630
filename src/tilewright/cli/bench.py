"""`tilewright bench`: the command of the distribution tilewright-bench, or how to install it."""

from __future__ import annotations

import importlib

import click

from tilewright.errors import TilewrightError

PACKAGE = "tilewright_bench"


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def not_installed(arguments: tuple[str, ...]) -> None:
    """Measure kernels beside other libraries (not installed: tilewright-bench)."""
    raise TilewrightError(
        "tilewright bench needs the distribution tilewright-bench",
        why=f"there is no package {PACKAGE}",
        hint="pip install 'tilewright[bench]', or in a checkout of Tilewright: pip install -e . -e ./bench",
    )


def found() -> click.Command:
    """The command that is installed, else the one that says how to install it."""
    try:
        command: click.Command = importlib.import_module(f"{PACKAGE}.command").bench
    except ModuleNotFoundError as problem:
        if problem.name != PACKAGE:
            raise
        return not_installed
    return command


bench = found()
