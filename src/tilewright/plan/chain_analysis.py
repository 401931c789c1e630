"""Chain analysis: facts of a chain that planning asks for thousands of times, each derived once per chain.

The answers live in the chain, and as long as it does. Nobody may change an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from tilewright.graph.types import Chain

Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


def derived_once(question: Callable[Concatenate[Chain, Arguments], Answer]) -> Callable[Concatenate[Chain, Arguments], Answer]:
    """A function of a chain, and of hashable arguments, that is evaluated once for each of them.

    >>> from tilewright.graph.types import Chain
    >>> asked = []
    >>> count = fact(lambda chain, factor: asked.append(factor) or factor * len(chain.operators))
    >>> chain = Chain("empty", (), ())
    >>> count(chain, 2), count(chain, 2), count(chain, 3), asked
    (0, 0, 0, [2, 3])
    """

    @wraps(question)
    def answer(chain: Chain, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
        key = question, arguments, tuple(named.items())
        if key not in chain.facts:
            chain.facts[key] = question(chain, *arguments, **named)
        known: Answer = chain.facts[key]
        return known

    return answer
