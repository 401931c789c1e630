"""The U-Net of latent diffusion: R. Rombach et al., arXiv:2112.10752; widths and heads as in Stable Diffusion 1."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_bench.networks.builder import Builder


def diffusion_unet(
    *, width: int = 320, levels: Sequence[int] = (1, 2, 4), size: int = 64, heads: int = 8, context: int = 768, groups: int = 32
) -> bytes:
    """Noise of latents [1, 4, size, size], given an embedded step [1, 4 width] and a text [1, 77, context].

    Of the published levels (1, 2, 4, 4) the last, which has no attention, is left out, and each has one block instead of two.
    """
    net = Builder()
    x = net.conv(net.input("latents", 1, 4, size, size), width, 3)
    step, text = net.input("step", 1, 4 * width), net.input("text", 1, 77, context)
    net.channels[text] = context
    kept = [x]
    for number, multiple in enumerate(levels):
        x = net.conv(x, net.channels[x], 3, 2, padding=1) if number else x
        kept += [x] if number else []
        x = _transformer(net, _block(net, x, step, multiple * width, groups), text, heads, groups)
        kept.append(x)
    x = _block(net, x, step, net.channels[x], groups)
    x = _block(net, _transformer(net, x, text, heads, groups), step, net.channels[x], groups)
    for number, multiple in reversed([*enumerate(levels)]):
        for _ in range(2):
            joined = net.concat(x, kept.pop())
            x = _transformer(net, _block(net, joined, step, multiple * width, groups), text, heads, groups)
        x = net.conv(net.enlarged(x), net.channels[x], 3) if number else x
    return net.model(net.conv(net.silu(net.group_norm(x, groups)), 4, 3))


def _block(net: Builder, x: str, step: str, filters: int, groups: int) -> str:
    """Two convolutions behind group norms and SiLU, the step's embedding between them, and a residual."""
    hidden = net.conv(net.silu(net.group_norm(x, groups)), filters, 3)
    shift = net.reshaped(net.linear(net.silu(step), filters), 1, filters, 1, 1, channels=filters)
    hidden = net.silu(net.group_norm(net.add(hidden, shift), groups))
    return net.add(x if net.channels[x] == filters else net.conv(x, filters, 1), net.conv(hidden, filters, 3, gain=0.7))


def _transformer(net: Builder, image: str, text: str, heads: int, groups: int) -> str:
    """Attention among points, to the text, and a feed-forward network with a gated GELU, between two pointwise convolutions."""
    width = net.channels[image]
    points = net.conv(net.group_norm(image, groups, 1e-6), width, 1, gain=1.0)
    x = net.turned(net.reshaped(points, 0, 0, -1), 0, 2, 1)
    normal = net.layer_norm(x, 1e-5)
    x = net.add(x, net.attention(normal, normal, heads))
    x = net.add(x, net.attention(net.layer_norm(x, 1e-5), text, heads))
    wide = net.linear(net.layer_norm(x, 1e-5), 8 * width)
    values, gates = net.nodes_of("Split", 2, wide, channels=4 * width, axis=-1)
    x = net.add(x, net.linear(net.node("Mul", values, net.gelu(gates)), width))
    back = net.node("Reshape", net.turned(x, 0, 2, 1), net.node("Shape", image), channels=width)
    return net.add(image, net.conv(back, width, 1, gain=0.5))
