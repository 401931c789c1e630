"""u8 x s8 -> s32 and s8 x u8 -> s32 matrix kernels for any target: four steps of the depth in a lane.

Even and odd bytes become lanes of 16 bits. Two products of these fit into 32: an ISA may add such pairs up in one instruction.
Nothing saturates.

A sum of products does not tell which factor is unsigned. Filters are signed and images unsigned, so s8 x u8 computes filters
times an image whose pixels lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.products import Product, product_kernel
from tilewright.kernels.saturation import Saturation
from tilewright.tile.products.arithmetic import Arithmetic, of_bytes_apart

BothSigns: TypeAlias = tuple[Product, Product]


def bytes_by(
    kind: str,
    how: Callable[[str, str], Arithmetic],
    features: frozenset[str] = frozenset(),
    *,
    saturates: bool = False,
    chain_cycles: int | None = None,
) -> BothSigns:
    """Products of unsigned and of signed bytes: with the left operand unsigned, and with the right one.

    >>> [product.prefix for product in bytes_by("", of_bytes_apart)]
    ['u8s8', 's8u8']
    """
    found = []
    for left, right, bounded in (("uint8", "int8", "right"), ("int8", "uint8", "left")):
        prefix = "".join(f"{name[0].replace('i', 's')}8" for name in (left, right))
        limit = Saturation(bounded) if saturates else None
        found.append(Product(f"{prefix}{kind}", (left, right, "int32"), how(left, right), features, limit, chain_cycles))
    unsigned, signed = found
    return unsigned, signed


def of_both_signs(tiles: Iterable[tuple[VectorDialect, BothSigns, int, int, float]]) -> tuple[MicroKernel, ...]:
    """The kernels of tiles (dialect, products, rows, vectors, share of the peak).

    Both have the same share of the peak: the same instructions.
    """
    return tuple(
        product_kernel(dialect, product, rows, vectors, peak_share=share)
        for dialect, products, rows, vectors, share in tiles
        for product in products
    )


U8S8 = bytes_by("", of_bytes_apart, chain_cycles=1)

# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md.
KERNELS = of_both_signs([(DIALECT, U8S8, 3, 2, 0.98)])
