"""Records of internal errors, to report and reproduce them."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback
from pathlib import Path

from tilewright import __version__, settings
from tilewright.errors import InternalError, TilewrightError


def report_internal_error(problem: Exception) -> str:
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
