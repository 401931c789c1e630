"""One step of optimizers: tensors, their gradients and what was accumulated of them before.

Adagrad: J. Duchi, E. Hazan, Y. Singer, JMLR 12 (2011), figure 1; Adam: D. P. Kingma, J. Ba, arXiv:1412.6980 (2014), algorithm 1;
momentum and Nesterov's form of it: I. Sutskever et al., ICML 2013, section 2. Operands are the learning rate, the number of steps
done, and then all tensors, all gradients, all accumulated values of each kind; results the new tensors and accumulated values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define

DOMAIN = "ai.onnx.preview.training"


def adagrad(
    rate: Any, step: Any, *tensors: Any, decay_factor: float = 0.0, epsilon: float = 1e-6, norm_coefficient: float = 0.0
) -> Any:
    """The new tensors, then the sums of squared gradients."""
    decayed = rate / (1 + step * decay_factor)

    def update(x: Any, gradient: Any, squares: Any) -> tuple[Any, ...]:
        gradient = norm_coefficient * x + gradient
        squares = squares + gradient * gradient
        return x - decayed * gradient / (np.sqrt(squares) + epsilon), squares

    return _each(tensors, 3, update)


def adam(
    rate: Any,
    step: Any,
    *tensors: Any,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> Any:
    """The new tensors, then the averages of gradients, then those of squared gradients."""
    adjusted = rate * np.sqrt(1 - beta**step) / (1 - alpha**step) if step > 0 else rate

    def update(x: Any, gradient: Any, average: Any, squares: Any) -> tuple[Any, ...]:
        gradient = norm_coefficient * x + gradient
        average = alpha * average + (1 - alpha) * gradient
        squares = beta * squares + (1 - beta) * gradient * gradient
        x = x - adjusted * average / (np.sqrt(squares) + epsilon)
        return (1 - norm_coefficient_post) * x, average, squares

    return _each(tensors, 4, update)


def momentum(rate: Any, step: Any, *tensors: Any, alpha: float, beta: float, mode: str, norm_coefficient: float) -> Any:
    """The new tensors, then the new momenta."""
    if mode not in ("standard", "nesterov"):
        raise UnsupportedOperation(f"mode {mode!r}", where="Momentum", hint="choose standard or nesterov")
    share = beta if step > 0 else 1.0

    def update(x: Any, gradient: Any, velocity: Any) -> tuple[Any, ...]:
        gradient = norm_coefficient * x + gradient
        velocity = alpha * velocity + share * gradient
        return x - rate * (velocity if mode == "standard" else gradient + alpha * velocity), velocity

    return _each(tensors, 3, update)


def gradient(*operands: Any, xs: Any, y: str, zs: Any = ()) -> Any:
    """Not here: it would need the graph around it."""
    raise UnsupportedOperation("Gradient", why="it differentiates the graph around it", hint="export the model for inference")


def _each(tensors: tuple[Any, ...], groups: int, update: Callable[..., tuple[Any, ...]]) -> Any:
    if len(tensors) % groups or not tensors:
        raise ShapeError(f"{len(tensors)} tensors in {groups} groups", where=DOMAIN)
    count = len(tensors) // groups
    updates = [update(*tensors[number::count]) for number in range(count)]
    results = [values for group in zip(*updates, strict=True) for values in group]
    return tuple(np.asarray(result, tensors[0].dtype) for result in results)


define("Adagrad", adagrad, domain=DOMAIN)
define("Adam", adam, domain=DOMAIN)
define("Momentum", momentum, domain=DOMAIN)
define("Gradient", gradient, domain=DOMAIN)
