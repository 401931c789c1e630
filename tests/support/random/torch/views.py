"""Lines that view, join, repeat and reorder elements."""

from __future__ import annotations

from tests.support.random.torch.growing import Growing, Unfit
from tests.support.random.torch.values import FLOATS, INTEGERS


def view(g: Growing) -> None:
    """The same memory in another shape."""
    x = g.pick(least_rank=1)
    shape, dim = g.shape(x), g.dim(x)
    extent = shape[dim]
    first = int(g.random.integers(0, extent + 1))
    other = int(g.random.integers(-len(shape), len(shape)))
    texts = (
        *(
            f"{x}.view(-1)",
            f"{x}.reshape(-1)",
            f"{x}.transpose({dim}, {other})",
            f"{x}.movedim({dim}, {other})",
            f"{x}.flatten(0, 1)",
        ),
        *(f"{x}.select({dim}, {min(first, max(extent - 1, 0))})", f"{x}.narrow({dim}, {first}, {extent - first})", f"{x}.mT"),
        *(
            f"{x}.unsqueeze({dim})",
            f"{x}.squeeze()",
            f"{x}.squeeze({dim})",
            f"{x}.diagonal()",
            f"{x}.detach()",
            f"{x}.T",
            f"{x}[None]",
        ),
        *(f"{x}.chunk(2, {dim})[-1]", f"{x}.split(2, {dim})[0]", f"{x}.unbind({dim})[0]", f"{x}.tensor_split(3, {dim})[1]"),
        *(
            f"{x}.unfold({dim}, {max(1, extent // 2)}, {g.choose((1, 2))})",
            f"{x}.view({x}.dtype)",
            f"{x}.view_as({x})",
            f"{x}.ravel()",
        ),
        *(f"{x}[::2]", f"{x}[..., 1:]", f"{x}[..., -1]", f"{x}[:, None]", f"{x}[1:-1]", f"{x}[0]", f"{x}[-2:]", f"{x}[..., ::3]"),
        *(
            f"{x}.permute({', '.join(map(str, g.random.permutation(len(shape))))})",
            f"{x}.reshape({x}.shape[0], -1)",
            f"{x}.mT.mT",
        ),
        *(f"{x}.unflatten({dim}, (-1, 2))", f"{x}.reshape(*{x}.shape[1:], {x}.shape[0])", f"{x}.view(*{x}.shape, 1)"),
    )
    g.add(g.choose(texts))


def typed(g: Growing) -> None:
    """The same bytes in another type. Truth values of other bytes than 0 and 1 have no meaning."""
    g.add(f"{g.pick()}.view({g.dtype((*FLOATS, *INTEGERS))})")


def expanded(g: Growing) -> None:
    """One element for many."""
    x = g.pick()
    texts = (
        f"{x}.expand(2, *{x}.shape)",
        f"{x}.expand_as({g.pick()})",
        f"{x}[..., None].expand(*{x}.shape, 3)",
        f"torch.broadcast_to({x}, {g.pick()}.shape)",
        f"{x}.sum().expand(2, 3)",
        f"{x}[:1].expand({x}.shape[0] + 1, *{x}.shape[1:])",
    )
    g.add(g.choose(texts))


def strided(g: Growing) -> None:
    """Elements that lie upon one another, or apart."""
    x = g.pick(least_rank=1)
    count = g.values[x].numel()
    if not count or not g.values[x].is_contiguous():
        raise Unfit("nothing to view")
    rows = max(1, count // 3)
    texts = (
        f"({rows}, 2), (1, 1)",
        f"({rows},), (2,)",
        f"(2, {rows}), (0, 1)",
        f"({rows}, 3), (1, 0)",
        f"({rows},), (1,), {count - rows}",
    )
    g.add(f"{x}.as_strided({g.choose(texts)})")


def moved(g: Growing) -> None:
    """Copies in another order, or several times."""
    x = g.pick(least_rank=1)
    dim = g.dim(x)
    texts = (
        *(f"{x}.flip({dim})", f"{x}.roll({g.choose((1, -2))}, {dim})", f"{x}.tile(2)", f"{x}.repeat(2, *[1] * ({x}.ndim - 1))"),
        *(f"torch.rot90({x})", f"{x}.repeat_interleave(2, {dim})", f"{x}.tril()", f"{x}.triu(1)", f"torch.diag_embed({x})"),
        *(f"torch.diff({x}, dim={dim})", f"F.pad({x}, (1, 2))", f"F.pad({x}, (-1, 1))", f"F.pad({x}, (1, 0), value=2)"),
        *(f"F.pad({x}, (1, 1), mode='reflect')", f"F.pad({x}, (1, 2), mode='replicate')", f"F.pad({x}, (2, 1), mode='circular')"),
        *(
            f"{x}.mT.contiguous()",
            f"{x}.to(memory_format=torch.channels_last)",
            f"{x}.roll(1)",
            f"{x}.T.clone()",
            f"torch.diag({x})",
        ),
        *(f"torch.empty_like({x}).copy_({x})", f"{x}.new_zeros({x}.shape)", f"{x}.clone(memory_format=torch.contiguous_format)"),
        *(
            f"torch.arange({x}.shape[0])",
            f"torch.full({x}.shape, k)",
            f"torch.linspace(0, 1, {x}.shape[-1])",
            f"torch.eye({x}.shape[0])",
        ),
    )
    g.add(g.choose(texts))


def joined(g: Growing) -> None:
    """Tensors beside each other, of mixed types."""
    x = g.pick(least_rank=1)
    dim = g.dim(x)
    shape = list(g.shape(x))

    def fits(value: object) -> bool:
        other = list(value.shape)  # type: ignore[attr-defined]
        return len(other) == len(shape) and all(
            a == b for n, (a, b) in enumerate(zip(other, shape, strict=True)) if n != dim % len(shape)
        )

    parts = ", ".join([x, *(g.pick(fits=fits) for _ in range(int(g.random.integers(1, 3))))])
    g.add(
        g.choose(
            (
                f"torch.cat([{parts}], {dim})",
                f"torch.cat([{parts}], {dim})",
                f"torch.stack([{parts}], {dim})",
                f"torch.hstack([{parts}])",
            )
        )
    )
