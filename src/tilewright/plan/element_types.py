"""Element types while a chain runs: those of its arithmetic, of its tensors as code generation holds them, and their sizes."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.graph.exactness import computed_type
from tilewright.graph.types import Access, Chain, Operator, element_bytes
from tilewright.plan.chains import derived_once

SHORT_INTEGERS = frozenset(("int8", "uint8", "int16"))
"""Types of intermediates that maps store as they are: what products of integers read."""


def product_type(chain: Chain, contraction: Operator) -> str:
    """The element type whose peak bounds a contraction: that of its operands, the wider one of two."""
    return max((chain.tensor(access.tensor).dtype for access in contraction.reads), key=element_bytes)


@derived_once
def held_type(chain: Chain, tensor: str) -> str:
    """The element type in memory while a chain runs: intermediates lie as they are computed, or as short integers where a map
    makes such, inputs and output as they are."""
    own, producer = chain.tensor(tensor).dtype, chain.producer(tensor) if tensor != chain.output else None
    return own if producer is None or is_held_short(producer, own) else computed_type(producer)


def is_held_short(producer: Operator, dtype: str) -> bool:
    """Whether the result of an operator, of this type, is one of short integers that its map converts and stores."""
    return dtype in SHORT_INTEGERS and producer.is_map() and producer.accumulator == "float32"


def held_bytes(chain: Chain, tensor: str) -> int:
    """The bytes of an element in memory while a chain runs."""
    return element_bytes(held_type(chain, tensor))


def outer_bytes(chain: Chain, touched: Callable[[Operator, Access], int]) -> int:
    """Bytes of the elements that are `touched` of all inputs and the output, of each the most that one access touches."""
    elements: dict[str, int] = {}
    intermediates = frozenset(chain.intermediates)
    for operator in chain.operators:
        for access in (*operator.reads, operator.write):
            if access.tensor not in intermediates:
                elements[access.tensor] = max(elements.get(access.tensor, 0), touched(operator, access))
    return sum(held_bytes(chain, tensor) * count for tensor, count in elements.items())
