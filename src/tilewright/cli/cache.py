"""`tilewright cache`: what the on-disk kernel cache holds, trimming and emptying it."""

from __future__ import annotations

import json

import click

from tilewright import settings
from tilewright.report import units


@click.group()
def cache() -> None:
    """Look at the on-disk cache of compiled kernels, trim or empty it."""


@cache.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(as_json: bool) -> None:
    """Print where the cache is and how much it holds."""
    from tilewright.runtime.store import cache as kernel_cache

    found = kernel_cache.default().info()
    limit_bytes = settings.current().cache_size_bytes
    if as_json:
        fields = {"directory": str(found.directory), "files": found.files, "bytes": found.bytes, "limit_bytes": limit_bytes}
        click.echo(json.dumps(fields))
    else:
        click.echo(f"{found.directory}: {found.files} files, {units.size(found.bytes)} of at most {units.size(limit_bytes)}")


@cache.command()
def prune() -> None:
    """Delete what was unused for longest, as far as the cache is beyond TILEWRIGHT_CACHE_SIZE."""
    from tilewright.runtime.store import cache as kernel_cache

    removed = kernel_cache.default().prune()
    click.echo(f"{removed.files} files ({units.size(removed.bytes)}) deleted from {removed.directory}", err=True)


@cache.command()
def clear() -> None:
    """Delete every cached kernel, and what is known of compilers; calibrations stay."""
    from tilewright.runtime.compilation import toolchain
    from tilewright.runtime.store import cache as kernel_cache

    kernels = kernel_cache.default()
    found = kernels.info()
    kernels.clear()
    toolchain.forget()
    click.echo(f"{found.files} files deleted from {found.directory}", err=True)
