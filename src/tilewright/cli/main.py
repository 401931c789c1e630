"""The `tilewright` command: its subcommands, and what the exit code says.

0 done; 1 a user's error (one message, no traceback); 2 wrong usage; 70 an internal error (the details are in a file).
stdout holds what can be piped; everything else goes to stderr.
"""

from __future__ import annotations

import importlib
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from tilewright import __version__, settings
from tilewright.errors import InternalError, TilewrightError

COMMANDS = ("bench", "cache", "compile", "explain", "knobs", "licences", "machine", "run", "tune")
"""Each in a module of its name, imported when it is used: `tilewright knobs` does not load a compiler."""

USER_ERROR, INTERNAL_ERROR = 1, 70


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, sorted."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"tilewright.cli.{cmd_name}"), cmd_name)
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
        click.echo(_reported(problem), err=True)
        return INTERNAL_ERROR


def _reported(problem: Exception) -> str:
    """Write everything about it to a file; the message to show, which names the file."""
    summary = problem.message if isinstance(problem, InternalError) else f"{type(problem).__name__}: {problem}"
    advice = "this is a bug of Tilewright: please report it together with"
    return f"internal error: {summary}\n  {advice} {_write(problem)}"


def _write(problem: Exception) -> Path:
    """Into TILEWRIGHT_DUMP_DIR, else the directory for temporary files."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="tilewright-internal-error-", suffix=".txt", dir=_directory(), delete=False, encoding="utf-8"
    ) as file:
        file.write("\n".join(_content(problem)))
    return Path(file.name)


def _directory() -> Path | None:
    try:
        directory = settings.current().dump_dir
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
    except (TilewrightError, OSError):
        return None
    return directory


def _content(problem: Exception) -> list[str]:
    dump = problem.dump if isinstance(problem, InternalError) else ""
    return [
        f"tilewright {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"command: {' '.join(sys.argv)}",
        "",
        *traceback.format_exception(problem),
        dump,
    ]
