"""The `tilewright` command: its subcommands, and what the exit code says.

0 done; 1 a user's error (one message, no traceback); 2 wrong usage; 70 an internal error (the details are in a file).
stdout holds what can be piped; everything else goes to stderr.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from tilewright import __version__
from tilewright.cli.failures import report_internal_error
from tilewright.errors import TilewrightError

COMMANDS = {
    "bench": "tilewright.cli.bench:bench",
    "cache": "tilewright.cli.cache:cache",
    "explain": "tilewright.cli.explain:explain",
    "knobs": "tilewright.cli.knobs:knobs",
    "licences": "tilewright.cli.licences:command",
    "machine": "tilewright.cli.machine:machine",
    "run": "tilewright.cli.run:run",
    "tune": "tilewright.cli.tune:tune",
}
"""Imported when they are used, so that `tilewright knobs` does not load a compiler."""

USER_ERROR, INTERNAL_ERROR = 1, 70


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=LazyGroup)
@click.version_option(__version__)
@click.pass_context
def tilewright(context: click.Context) -> None:
    """Compile chains of tensor operators into native kernels that are calculated from the machine's caches."""
    from tilewright.api import logs

    if context.invoked_subcommand != "knobs":  # which lists unusable values, too
        logs.configure()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:
        status = tilewright.main(arguments, prog_name="tilewright", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.ClickException as problem:
        problem.show(sys.stderr)
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return USER_ERROR
    except TilewrightError as problem:
        click.echo(f"error: {problem}", err=True)
        return USER_ERROR
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as problem:
        click.echo(report_internal_error(problem), err=True)
        return INTERNAL_ERROR
