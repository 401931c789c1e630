"""Vision transformer: A. Dosovitskiy et al., arXiv:2010.11929: B/16."""

from __future__ import annotations

from tilewright_bench.networks.builder import Builder


def vit(*, width: int = 768, layers: int = 12, heads: int = 12, size: int = 224, patch: int = 16, classes: int = 1000) -> bytes:
    """Images [1, 3, size, size] to logits."""
    net = Builder()
    tokens = (size // patch) ** 2
    patches = net.conv(net.input("image", 1, 3, size, size), width, patch, patch, padding=0, gain=1.0)
    rows = net.turned(net.reshaped(patches, 0, 0, tokens), 0, 2, 1)
    x = net.node("Concat", net.weights(1, 1, width, scale=0.5), rows, axis=1, channels=width)
    x = net.add(x, net.weights(1, tokens + 1, width, scale=0.5))
    for _ in range(layers):
        normal = net.layer_norm(x)
        x = net.add(x, net.attention(normal, normal, heads, has_bias=True))
        x = net.add(x, net.linear(net.gelu(net.linear(net.layer_norm(x), 4 * width)), width))
    first = net.node("Gather", net.layer_norm(x), net.constant(0), axis=1, channels=width)
    return net.model(net.linear(first, classes))
