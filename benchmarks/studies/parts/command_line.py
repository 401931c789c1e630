"""What command lines of studies have in common: lists of names, and files of what earlier runs found."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any


def names_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """Reads names with commas between, each of which must be known: the `type` of an option.

    >>> names_of(("bert", "vit"))("vit,bert")
    ('vit', 'bert')
    """

    def parse(text: str) -> tuple[str, ...]:
        names = tuple(name for name in text.split(",") if name)
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]}: choose from {', '.join(known)}")
        return names

    return parse


def earlier(files: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """What earlier runs found, by model and part; later files count, and those that there are not are left out."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, parts in json.loads(file.read_text()).items() if file.exists() else ():
            found.setdefault(name, {}).update(parts)
    return found
