"""`tilewright cache`: what the on-disk kernel cache holds, and emptying it."""

from __future__ import annotations

import json

import click

from tilewright.report import units
from tilewright.runtime import cache as kernel_cache
from tilewright.runtime import toolchain


@click.group()
def cache() -> None:
    """Look at the on-disk cache of compiled kernels, or empty it."""


@cache.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(as_json: bool) -> None:
    """Print where the cache is and how much it holds."""
    found = kernel_cache.default().info()
    if as_json:
        click.echo(json.dumps({"directory": str(found.directory), "files": found.files, "bytes": found.bytes}))
    else:
        click.echo(f"{found.directory}: {found.files} files, {units.size(found.bytes)}")


@cache.command()
def clear() -> None:
    """Delete every cached kernel, and what is known of compilers; calibrations stay."""
    kernels = kernel_cache.default()
    found = kernels.info()
    kernels.clear()
    toolchain.forget()
    click.echo(f"{found.files} files deleted from {found.directory}", err=True)
