"""What users may tell the backend: `torch.compile(model, backend="tilewright", options={...})`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from tilewright.api.building import Options
from tilewright.api.choices import checked_choice
from tilewright.errors import TilewrightError
from tilewright.precision import Precision, checked
from tilewright.records import record
from tilewright.runtime import calibration

WHERE = 'torch.compile(..., backend="tilewright")'
NAMES = ("freeze", "fuse", "precision", "threads")
MODES = (None, "default")


@record
class BackendOptions:
    """Options of the backend, checked."""

    threads: int | None = None
    """Of a call; None: as many as torch has when it is called (`torch.set_num_threads`)."""
    precision: Precision = Precision.FLOAT32
    fuse: bool | None = None
    """None where prices decide on fusion."""
    freeze: bool = True
    """Whether parameters and buffers are constants, packed once and again when they have changed."""

    def building(self) -> Options:
        """How graphs are planned, for this machine."""
        return Options(calibration.ensure(), self.fuse, self.precision, self.threads)


def checked_options(options: Mapping[str, Any] | None, mode: str | None) -> BackendOptions:
    """Raises `TilewrightError` for names, values and modes that there are not.

    >>> checked_options({"thread": 2}, None)
    Traceback (most recent call last):
    tilewright.errors.TilewrightError: the backend has no option 'thread'
      where: torch.compile(..., backend="tilewright")
      hint: did you mean 'threads'? Options: freeze, fuse, precision, threads
    """
    if mode not in MODES:
        hint = "leave it out; options={...} has " + ", ".join(NAMES)
        raise TilewrightError(f"the backend has no mode {mode!r}", where=WHERE, why="plans are calculated", hint=hint)
    given = dict(options or {})
    for name in given:
        if name not in NAMES:
            raise TilewrightError(f"the backend has no option {name!r}", where=WHERE, hint=_like(name))
    return BackendOptions(
        _threads(given.get("threads")),
        checked(given.get("precision", "float32"), WHERE),
        checked_choice("fuse", given.get("fuse"), WHERE, "price"),
        _freeze(given.get("freeze", True)),
    )


def _like(name: object) -> str:
    near = get_close_matches(str(name), NAMES, 1)
    return f"{f'did you mean {near[0]!r}? ' if near else ''}Options: {', '.join(NAMES)}"


def _threads(threads: Any) -> int | None:
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        hint = "use 1, 2, ..., or leave it out for torch.get_num_threads()"
        raise TilewrightError(f"threads={threads!r} is no number of threads", where=WHERE, hint=hint)
    return threads


def _freeze(freeze: Any) -> bool:
    if not isinstance(freeze, bool):
        raise TilewrightError(f"freeze={freeze!r} is no choice", where=WHERE, hint="use True or False")
    return freeze
