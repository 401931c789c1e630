"""Lines of neural networks: norms, attention, convolutions, pools, losses."""

from __future__ import annotations

from tests.support.random.torch.growing import Growing

OF_ONE = (
    *("F.layer_norm({0}, {0}.shape[-1:])", "F.layer_norm({0}, {0}.shape[-2:], eps=0.1)", "F.rms_norm({0}, {0}.shape[-1:])"),
    *("F.group_norm({0}, 1)", "F.group_norm({0}, {0}.shape[1])", "F.instance_norm({0})", "F.dropout({0}, 0.5, False)"),
    *(
        "F.batch_norm({0}, {0}.new_zeros({0}.shape[1]), {0}.new_ones({0}.shape[1]))",
        "F.scaled_dot_product_attention({0}, {0}, {0})",
    ),
    *("F.scaled_dot_product_attention({0}, {0}, {0}, is_causal=True)", "F.avg_pool2d({0}, 2)", "F.max_pool2d({0}, 2, 1, 1)"),
    *(
        "F.max_pool2d({0}, 2, ceil_mode=True)",
        "F.avg_pool2d({0}, 3, 2, 1, count_include_pad=False)",
        "F.adaptive_avg_pool2d({0}, 2)",
    ),
    *("F.avg_pool1d({0}, 2)", "F.max_pool1d({0}, 3, 1, 1)", "F.adaptive_max_pool2d({0}, (1, 2))", "F.pixel_shuffle({0}, 2)"),
    *("F.interpolate({0}, scale_factor=2)", "F.interpolate({0}, scale_factor=2, mode='bilinear')", "F.interpolate({0}, size=3)"),
    *("F.unfold({0}, 2)", "F.lp_pool2d({0}, 2, 2)", "F.local_response_norm({0}, 3)", "F.pixel_unshuffle({0}, 2)"),
    *(
        "F.interpolate({0}, size=(3, 2), mode='nearest-exact')",
        "F.channel_shuffle({0}, 2)",
        "F.pad({0}, (1, 1, 1, 0), mode='reflect')",
    ),
)
OF_TWO = (
    *(
        "F.mse_loss({0}, {1})",
        "F.l1_loss({0}, {1}, reduction='none')",
        "F.smooth_l1_loss({0}, {1})",
        "F.huber_loss({0}, {1}, delta=0.5)",
    ),
    *(
        "F.kl_div({0}, {1}, reduction='sum')",
        "F.binary_cross_entropy_with_logits({0}, {1})",
        "F.cross_entropy({0}, {1})",
        "F.prelu({0}, {1})",
    ),
    *("F.scaled_dot_product_attention({0}, {1}, {1})", "F.scaled_dot_product_attention({0}, {0}, {0}, attn_mask={1})"),
    *("F.cosine_embedding_loss({0}, {1}, torch.ones({0}.shape[0]))", "F.gaussian_nll_loss({0}, {1}, {1}.abs() + 1)"),
    *(
        "F.conv1d({0}, {1})",
        "F.conv1d({0}, {1}, padding=1, stride=2)",
        "F.conv2d({0}, {1}, padding=1)",
        "F.conv2d({0}, {1}, stride=2, padding=1)",
    ),
    *(
        "F.conv_transpose2d({0}, {1})",
        "F.conv_transpose1d({0}, {1}, stride=2)",
        "F.conv2d({0}, {1}, dilation=2, padding=2)",
        "F.bilinear({0}, {0}, {1})",
    ),
    *(
        "F.layer_norm({0}, {0}.shape[-1:], {1}, {1})",
        "F.rms_norm({0}, {0}.shape[-1:], {1})",
        "F.conv2d({0}, {1}, padding='same')",
    ),
)


def layer(g: Growing) -> None:
    """Of one tensor."""
    g.add(g.choose(OF_ONE).format(g.pick("float", least_rank=int(g.choose((2, 3, 4, 4))))))


def layer_of_two(g: Growing) -> None:
    """Of two of one type."""
    x = g.pick("float", least_rank=1)
    dtype = g.values[x].dtype
    g.add(g.choose(OF_TWO).format(x, g.pick("float", least_rank=1, fits=lambda value: value.dtype == dtype)))


def convolution(g: Growing) -> None:
    """With weights that fit."""
    x = g.pick("float", least_rank=3, fits=lambda value: value.ndim in (3, 4) and value.shape[1] > 0)
    shape, groups = g.shape(x), 1
    rank = len(shape) - 2
    kernel = [int(g.choose((1, 2, 3))) for _ in range(rank)]
    if g.chance(0.3):
        groups = shape[1]
    weight = f"torch.linspace(-1, 1, {2 * groups * (shape[1] // groups) * _product(kernel)}).to({x}.dtype)"
    weight += f".view({2 * groups}, {shape[1] // groups}, {', '.join(map(str, kernel))})"
    options = f"stride={g.choose((1, 1, 2))}, padding={g.choose((0, 1))}, dilation={g.choose((1, 1, 2))}, groups={groups}"
    bias = g.choose(("None", f"torch.ones({2 * groups}).to({x}.dtype)"))
    g.add(f"F.conv{rank}d({x}, {weight}, {bias}, {options})")


def _product(numbers: list[int]) -> int:
    made = 1
    for number in numbers:
        made *= number
    return made
