"""Rewrites of graphs. The list `REWRITES` of the compiler names them in order."""

from __future__ import annotations

import re
from typing import Protocol

from tilewright.graph.licences import Licence
from tilewright.graph.types import Graph


class Rewrite(Protocol):
    """A named graph-to-graph function; the fields of the frozen dataclass that derives from it are its options."""

    @property
    def name(self) -> str:
        """How dumps and logs call it: the name of its class, in small letters with hyphens."""
        return re.sub(r"\B(?=[A-Z])", "-", type(self).__name__).lower()

    @property
    def licence(self) -> Licence:
        """How it may change values: where a discontinuous function reads them, only `EXACT` and `QUANTISED` change anything."""
        return Licence.EXACT

    def run(self, graph: Graph) -> Graph:
        """A graph of the same meaning and inputs, and of the same outputs in the same places."""
        ...
