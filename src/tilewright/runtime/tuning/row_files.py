"""Rows in files: JSON lines, or Parquet with pyarrow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.errors import CacheError, TilewrightError

PARQUET = ".parquet"
NUMBERS = ("seconds", "predicted_s")
"""Columns that are no text."""


def write(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Write rows of these columns. Raises `TilewrightError` where the file cannot be written."""
    try:
        if path.suffix == PARQUET:
            _write_parquet(path, rows, columns)
        else:
            path.write_text("".join(json.dumps(dict(row)) + "\n" for row in rows))
    except OSError as problem:
        raise TilewrightError(
            "measurements cannot be written",
            where=str(path),
            why=os.strerror(problem.errno) if problem.errno else str(problem),
            hint="name a file in a directory that exists and that you may write to",
        ) from problem


def read(path: Path) -> Iterator[tuple[str, Any]]:
    """Every row, with its place for messages. Raises `CacheError` for what is no such file."""
    if path.suffix == PARQUET:
        yield from ((f"{path}:{number}", row) for number, row in enumerate(_parquet_rows(path), 1))
        return
    for number, line in enumerate(_lines(path), 1):
        try:
            yield f"{path}:{number}", json.loads(line)
        except ValueError as problem:
            raise no_row(f"{path}:{number}", f"it is no JSON: {problem}") from None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise no_row(str(path), f"it is no text: {problem}" if isinstance(problem, ValueError) else str(problem)) from None


def _write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    arrow, parquet = _arrow(path)
    schema = arrow.schema([(name, arrow.float64() if name in NUMBERS else arrow.string()) for name in columns])
    parquet.write_table(arrow.Table.from_pylist([dict(row) for row in rows], schema=schema), path)


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    arrow, parquet = _arrow(path)
    try:
        found: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    except (OSError, arrow.ArrowException) as problem:
        raise no_row(str(path), str(problem)) from None
    return found


def _arrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as problem:
        raise TilewrightError(
            f"Parquet needs the package {problem.name}",
            where=str(path),
            hint=f"pip install {problem.name}, or use a name that ends otherwise: JSON lines",
        ) from None
    return pyarrow, parquet


def no_row(place: str, why: str) -> CacheError:
    """The error of what is no row of an export."""
    hint = "read a file that `tilewright tune --export` wrote: JSON lines, or Parquet where its name ends with .parquet"
    return CacheError("this is no measurement", where=place, why=why, hint=hint)
