"""Random graphs of operators in random element types: conversions, integer arithmetic, conditions, choices, reductions."""

from __future__ import annotations

import numpy as np

from tests.support.typed import INTEGERS, TYPES, Graphs, sample
from tilewright.graph.builders.elementwise import body_of, elementwise, reduce
from tilewright.graph.builders.reshape import transpose
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

COMPARISONS = ("less", "less_equal", "greater", "equal", "not_equal")
OF_INTEGERS = ("add", "subtract", "multiply", "maximum", "minimum", "mod", "floor_divide", "bitwise_xor")
OF_FLOATS = ("maximum", "minimum", "add")


def random_graph(seed: int) -> Graphs:
    """Floats are small whole numbers, so that all but halves are exact."""
    generator = np.random.default_rng(seed)
    graphs = Graphs()
    shape = (int(generator.choice([1, 3, 7])), int(generator.choice([1, 5, 16, 33])))
    values: list[Tensor] = []
    for number, dtype in enumerate(generator.choice(TYPES, 3)):
        whole = sample(str(dtype), shape[0] * shape[1], seed + number).reshape(shape)
        is_float = dtype not in INTEGERS and dtype != "bool"
        small = generator.integers(-4, 5, shape).astype(str(dtype)) if is_float else whole
        values.append(graphs.input(small))
    for _ in range(int(generator.integers(3, 9))):
        values.append(_step(generator, graphs, values, shape))
    return graphs


def _step(generator: np.random.Generator, graphs: Graphs, values: list[Tensor], shape: tuple[int, int]) -> Tensor:
    x, y, z = (values[int(generator.integers(len(values)))] for _ in range(3))
    match int(generator.integers(6)):
        case 0:
            return _as(graphs, x, str(generator.choice(TYPES)))
        case 1:
            other = _as(graphs, y, x.dtype)
            body = apply(str(generator.choice(COMPARISONS)), Load(0), Load(1) if generator.integers(2) else Literal(3.0))
            return graphs.add(elementwise, body, [x, other], dtype="bool")
        case 2:
            return graphs.add(elementwise, body_of("where"), [_as(graphs, x, "bool"), y, _as(graphs, z, y.dtype)], dtype=y.dtype)
        case 3:
            function = "max" if generator.integers(2) else "min"
            source = _as(graphs, x, "int32") if x.dtype == "bool" else x
            total = graphs.add(reduce, function, source, int(generator.integers(2)), True)
            return graphs.add(elementwise, apply("maximum", Load(0), Load(1)), [total, source])
        case 4:
            turned = graphs.add(transpose, x, (1, 0))
            return graphs.add(transpose, turned, (1, 0))
    x = _as(graphs, x, "int64") if x.dtype == "bool" else x
    functions = OF_INTEGERS if x.dtype in INTEGERS else OF_FLOATS
    return graphs.add(elementwise, body_of(str(generator.choice(functions))), [x, _as(graphs, y, x.dtype)])


def _as(graphs: Graphs, x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else graphs.add(elementwise, Load(0), [x], dtype=dtype, kind="astype")
