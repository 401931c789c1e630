"""Lines over rows: reductions, scans, softmax, choices of elements, products."""

from __future__ import annotations

from tests.support.random.torch.growing import Growing

REDUCTIONS = (
    *(
        "{0}.sum({1})",
        "{0}.sum({1}, keepdim=True)",
        "{0}.mean({1})",
        "{0}.prod({1})",
        "{0}.amax({1})",
        "{0}.amin({1}, keepdim=True)",
    ),
    *(
        "{0}.max({1})[0]",
        "{0}.min({1}).values",
        "{0}.max({1})[1]",
        "{0}.argmax({1})",
        "{0}.argmin({1}, keepdim=True)",
        "{0}.any({1})",
    ),
    *(
        "{0}.all({1})",
        "{0}.var({1})",
        "{0}.std({1}, correction=0)",
        "{0}.norm(dim={1})",
        "{0}.norm(1, {1})",
        "{0}.logsumexp({1})",
    ),
    *("{0}.sum()", "{0}.mean()", "{0}.max()", "{0}.min()", "{0}.prod()", "{0}.argmax()", "{0}.any()", "{0}.all()", "{0}.norm()"),
    *("{0}.count_nonzero({1})", "{0}.nansum({1})", "{0}.nanmean({1})", "{0}.median({1})[0]", "torch.aminmax({0}, dim={1})[1]"),
    *("{0}.sum({1}, dtype=torch.float64)", "{0}.sum({1}, dtype=torch.int32)", "{0}.mean({1}, dtype=torch.float32)"),
    *("torch.var_mean({0}, dim={1})[1]", "{0}.sum((0, -1))", "{0}.amax((0, 1))", "torch.linalg.vector_norm({0}, inf, {1})"),
    *("{0}.norm(0, {1})", "torch.std_mean({0})[0]", "{0}.sum(dim=[])", "torch.logsumexp({0}, (0, 1))", "{0}.norm(-inf, {1})"),
)
SCANS = (
    *(
        "{0}.softmax({1})",
        "{0}.log_softmax({1})",
        "{0}.cumsum({1})",
        "{0}.cumprod({1})",
        "{0}.cummax({1})[0]",
        "{0}.cummin({1})[0]",
    ),
    *("{0}.softmax({1}, dtype=torch.float32)", "F.softmin({0}, {1})", "{0}.sort({1})[0]", "{0}.sort({1}, descending=True)[0]"),
    *(
        "{0}.sort(dim={1}, stable=True)[1]",
        "{0}.topk(1, {1})[0]",
        "{0}.topk(2, {1}, largest=False)[0]",
        "F.normalize({0}, dim={1})",
    ),
    *(
        "{0}.logcumsumexp({1})",
        "{0}.kthvalue(1, {1})[0]",
        "{0}.cumsum({1}, dtype=torch.int64)",
        "{0}.argsort({1})",
        "F.glu({0}, {1})",
    ),
)
PRODUCTS = (
    *(
        "{0} @ {1}",
        "torch.matmul({0}, {1})",
        "{0} @ {1}.mT",
        "{0}.mT @ {1}",
        "{0}.mT @ {0}",
        "{0} @ {0}.mT",
        "F.linear({0}, {1})",
    ),
    *("torch.outer({0}, {1})", "torch.dot({0}, {1})", "torch.mv({0}, {1})", "torch.bmm({0}, {1}.mT)", "torch.mm({0}, {1}.T)"),
    *("torch.einsum('...i,...j->...ij', {0}, {1})", "torch.einsum('ij,kj->ki', {0}, {1})", "torch.tensordot({0}, {1}, 1)"),
    *("torch.kron({0}, {1})", "torch.inner({0}, {1})", "torch.addmm({0}, {0}, {1})", "torch.baddbmm({0}, {0}, {1}, beta=0.5)"),
    *("torch.cdist({0}, {1})", "F.cosine_similarity({0}, {1}, dim=-1)", "torch.cross({0}, {1}, dim=-1)", "torch.vdot({0}, {1})"),
)


def reduction(g: Growing) -> None:
    """Along one dimension, several or all."""
    x = g.pick()
    g.add(g.choose(REDUCTIONS).format(x, g.dim(x) if g.values[x].ndim else 0))


def scan(g: Growing) -> None:
    """Of the same shape, along one dimension."""
    x = g.pick(least_rank=1)
    g.add(g.choose(SCANS).format(x, g.dim(x)))


def product(g: Growing) -> None:
    """Of two tensors of one type; most have to be found."""
    x = g.pick(least_rank=1)
    dtype, extents = g.values[x].dtype, g.shape(x)[-2:]
    y = g.pick(least_rank=1, fits=lambda value: value.dtype == dtype and not {*extents}.isdisjoint(value.shape[-2:]))
    g.add(g.choose(PRODUCTS).format(x, y))
