"""Chain analysis: properties of a chain that planning needs thousands of times, each derived once per chain."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import ref

from tilewright.graph.types import Chain

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, slots=True)
class ChainAnalysis:
    """Results of one chain, by function and arguments. Nobody may change a result, and none may refer to the chain itself."""

    chain: ref[Chain]
    results: dict[Hashable, object] = field(default_factory=dict)


_analyses: dict[int, ChainAnalysis] = {}
"""Of the chains that are alive, by identity: comparing chains would take longer than most analyses."""


def analysis_of(chain: Chain) -> ChainAnalysis:
    """The analysis of a chain, which lives as long as the chain does."""
    key = id(chain)
    found = _analyses.get(key)
    if found is None:
        forget = _analyses.pop
        found = _analyses[key] = ChainAnalysis(ref(chain, lambda _: forget(key, None)))
    return found


def derived_once(function: Callable[Concatenate[Chain, Arguments], Result]) -> Callable[Concatenate[Chain, Arguments], Result]:
    """A function of a chain, and of hashable arguments, that is evaluated once for each of them.

    >>> asked = []
    >>> count = derived_once(lambda chain, factor: asked.append(factor) or factor * len(chain.operators))
    >>> chain = Chain("empty", (), ())
    >>> count(chain, 2), count(chain, 2), count(chain, 3), asked
    (0, 0, 0, [2, 3])
    """

    @wraps(function)
    def analysed(chain: Chain, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        analysis = _analyses.get(id(chain))
        results = analysis.results if analysis is not None else analysis_of(chain).results
        key = (function, arguments, tuple(named.items())) if named else (function, arguments)
        found = results.get(key, results)
        if found is results:
            found = results[key] = function(chain, *arguments, **named)
        return found  # type: ignore[return-value]  # as `cast`, which is called millions of times

    return analysed
