"""`tilewright bench`: the commands of the distribution tilewright-bench, or how to install it."""

from __future__ import annotations

import importlib

import click

from tilewright.errors import TilewrightError

PACKAGE = "tilewright_bench"


class Distribution(click.Group):
    """A group whose commands are those of the distribution, which is imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, sorted. Raises `TilewrightError` where the distribution is not installed."""
        return _commands().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there is none. Raises `TilewrightError` where the distribution is not installed."""
        return _commands().get_command(ctx, cmd_name)


bench = Distribution("bench", help="Measure kernels beside the libraries that are installed.")


def _commands() -> click.Group:
    try:
        group: click.Group = importlib.import_module(f"{PACKAGE}.command").bench
    except ModuleNotFoundError as problem:
        if problem.name != PACKAGE:
            raise
        raise TilewrightError(
            "tilewright bench needs the distribution tilewright-bench",
            why=f"there is no package {PACKAGE}",
            hint="in a checkout of Tilewright: pip install -e . -e ./bench",
        ) from problem
    return group
