"""Lines that read and write at positions that tensors hold."""

from __future__ import annotations

from tests.support.random.torch.growing import Growing, Unfit


def _positions(g: Growing, x: str, dim: int, shape: str = "") -> str:
    """Positions of a dimension as text, some counted from the end where `shape` is none."""
    extent = g.shape(x)[dim]
    if not extent:
        raise Unfit("no positions")
    if shape:
        return f"(torch.arange({shape}.numel()).view({shape}.shape) % {x}.shape[{dim}])"
    known = [f"torch.tensor({g.random.integers(-extent, extent, int(g.choose((1, 2, 4)))).tolist()})", f"torch.arange({extent})"]
    found = g.names("integer")
    if found:
        known += [f"({g.choose(found)} % {x}.shape[{dim}]).long()"] * 2
    return str(g.choose(known))


def read(g: Growing) -> None:
    """Elements at positions."""
    x = g.pick(least_rank=1)
    dim = g.dim(x)
    p = _positions(g, x, 0)
    texts = (
        *(
            f"{x}[{p}]",
            f"{x}[{p}.to(torch.int64), ...]",
            f"{x}.index_select({dim}, {_positions(g, x, dim)}.flatten().abs() % {x}.shape[{dim}])",
        ),
        *(f"{x}.gather({dim}, {_positions(g, x, dim, x)})", f"torch.take_along_dim({x}, {_positions(g, x, dim, x)}, {dim})"),
        *(
            f"{x}.take({_positions(g, x, 0)} % {x}.numel())",
            f"{x}[..., {_positions(g, x, -1)}]",
            f"{x}[{p}, {_positions(g, x, -1)}]",
        ),
        *(f"F.embedding({_positions(g, x, 0)} % {x}.shape[0], {x})", f"{x}[:, {_positions(g, x, min(1, len(g.shape(x)) - 1))}]"),
        *(f"F.one_hot({p} % {x}.shape[0], {x}.shape[0])", f"torch.isin({x}, {g.pick()})", f"{x}[{p}][None]"),
        *(f"torch.bucketize({x}, {g.pick(least_rank=1)}.flatten().sort()[0])", f"torch.searchsorted({x}.sort()[0], {x})"),
        *(f"{x}[torch.tensor(1), :1]", f"{x}[{p}, None]", f"{x}.index_select(0, torch.tensor([0, 0]))"),
    )
    g.add(g.choose(texts))


def changed(g: Growing) -> None:
    """A copy with other elements at positions. Of positions that come twice, sums alone are defined."""
    x = g.pick(least_rank=1)
    dim, dtype = g.dim(x), g.values[x].dtype
    y = g.pick(fits=lambda value: value.dtype == dtype and value.shape == g.values[x].shape)
    whole, apart = _positions(g, x, dim, x), f"torch.arange({x}.shape[{dim}]).flip(0)"
    texts = (
        *(f"{x}.scatter_add({dim}, {whole}, {y})", f"{x}.index_add({dim}, {apart}, {y})", f"{x}.index_copy({dim}, {apart}, {y})"),
        *(f"{x}.index_fill({dim}, {apart}[:1], {g.number()})", f"{x}.scatter_reduce({dim}, {whole}, {y}, 'amax')"),
        *(
            f"{x}.scatter_reduce({dim}, {whole}, {y}, 'sum', include_self=False)",
            f"{x}.scatter({dim}, {whole} * 0, {g.number()})",
        ),
        *(f"{x}.scatter_reduce({dim}, {whole}, {y}, 'prod')", f"{x}.scatter_reduce({dim}, {whole}, {y}, 'mean')"),
        *(f"{x}.index_put(({_positions(g, x, 0)},), {y}[:1], accumulate=True)", f"{x}.index_put((torch.tensor([0]),), {y}[:1])"),
        *(f"{x}.index_reduce({dim}, {apart}, {y}, 'amin')", f"{x}.select_scatter({y}.select({dim}, 0), {dim}, -1)"),
        *(f"{x}.slice_scatter({y}[1:], 0, 1)", f"{x}.masked_scatter({y} > 0, {y})", f"{x}.diagonal_scatter({y}.diagonal())"),
    )
    g.add(g.choose(texts))


def written(g: Growing) -> None:
    """The same in place."""
    import torch

    x = g.pick(least_rank=1, fits=lambda value: not isinstance(value, torch.nn.Parameter))
    dim, dtype = g.dim(x), g.values[x].dtype
    y = g.pick(fits=lambda value: value.dtype == dtype and value.shape == g.values[x].shape)
    whole, apart = _positions(g, x, dim, x), f"torch.arange({x}.shape[{dim}]).flip(0)"
    texts = (
        *(
            f"{x}.scatter_add_({dim}, {whole}, {y})",
            f"{x}.index_add_({dim}, {apart}, {y}, alpha=2)",
            f"{x}.index_fill_(0, {apart}[:1], 1)",
        ),
        *(f"{x}.index_copy_({dim}, {apart}, {y})", f"{x}.index_put_(({_positions(g, x, 0)},), {y}[:1], accumulate=True)"),
        *(
            f"{x}.scatter_({dim}, {whole} * 0, {g.number()})",
            f"{x}[{y} > 0] = {g.number()}",
            f"{x}[{_positions(g, x, 0)}] = {g.number()}",
        ),
    )
    g.do(g.choose(texts), x)
