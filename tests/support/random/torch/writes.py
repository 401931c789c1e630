"""Lines that write: to what lines made, to views of it, to arguments and to buffers."""

from __future__ import annotations

from tests.support.random.torch.growing import Growing, Unfit


def _target(g: Growing) -> tuple[str, str]:
    """What is written to, as text, and the tensor that has it."""
    x = g.pick(fits=lambda value: not isinstance(value, __import__("torch").nn.Parameter))
    if not g.values[x].ndim or g.chance(0.5):
        return x, x
    texts = (
        "{}[0]",
        "{}[..., -1]",
        "{}[1:]",
        "{}.view(-1)[::2]",
        "{}.mT",
        "{}.T[0]",
        "{}.diagonal()",
        "{}.flatten(0)",
        "{}[..., :1]",
    )
    return g.choose(texts).format(x), x


def written(g: Growing) -> None:
    """A function in place."""
    target, x = _target(g)
    y = g.beside(x) if target == x else g.pick()
    texts = (
        *(
            f"{target}.add_({y})",
            f"{target}.mul_({y})",
            f"{target}.sub_({y}, alpha=2)",
            f"{target}.copy_({y})",
            f"{target}.fill_({g.number()})",
        ),
        *(
            f"{target}.zero_()",
            f"{target}.clamp_(-1, 1)",
            f"{target}.relu_()",
            f"{target}.neg_()",
            f"{target}.abs_()",
            f"{target}.add_(k)",
        ),
        *(f"{target}.mul_(2)", f"{target}.div_(2)", f"{target}.sigmoid_()", f"{target}.masked_fill_({target} > 0, {g.number()})"),
        *(
            f"{target}.addcmul_({y}, {y})",
            f"{target}.floor_divide_(2)",
            f"{target}.remainder_(3)",
            f"{target}.pow_(2)",
            f"{target}.logical_not_()",
        ),
        *(
            f"{target}.copy_({target}.flip(0))",
            f"{target}.lerp_({y}, 0.25)",
            f"{target}.round_()",
            f"{target}.maximum({y})",
            f"{target}.tril_()",
        ),
        *(
            f"{target}.eq_({y})",
            f"{target}.lt_(1)",
            f"{target}.bitwise_and_(3)",
            f"{target}.exp_()",
            f"{target}.copy_({x}.sum())",
        ),
    )
    g.do(g.choose(texts), x)


def assigned(g: Growing) -> None:
    """Elements of a tensor, by indices."""
    x = g.pick(least_rank=1, fits=lambda value: not isinstance(value, __import__("torch").nn.Parameter))
    places = (
        "0",
        "-1",
        "1:",
        "::2",
        "..., 0",
        ":, 1",
        "..., -1:",
        "None",
        "...",
        "[0, -1]",
        "[1, 0], [0, 1]",
        f"{x} > 0",
        ":, [0, 0]",
    )
    values = (g.number(), g.pick(), f"{x}[-1]", f"{x}[:1]", f"{x}.sum()", f"{x}.flip(0)[:1]")
    if "torch" in x:
        raise Unfit("no name")
    g.do(f"{x}[{g.choose(places)}] {g.choose(('=', '=', '+=', '*='))} {g.choose(values)}", x)


def reshaped_in_place(g: Growing) -> None:
    """A result that becomes a view of itself: only what lines made."""
    x = g.pick(least_rank=2, fits=lambda value: type(value).__name__ == "Tensor")
    if not x.startswith("v"):
        raise Unfit("an argument")
    g.add(f"{x}.clone().{g.choose(('t_()', 'unsqueeze_(0)', 'squeeze_()', 'transpose_(0, 1)'))}")
