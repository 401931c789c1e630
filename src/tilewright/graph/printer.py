"""A graph as text: one line per tensor and per operator, deterministic, for people and for dumps."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Point, Previous, Scalar, State
from tilewright.graph.types import Access, Axis, AxisKind, Extent, Graph, Operator, Reduction, SymbolicExtent

ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
COMPARISONS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
INFIX = ARITHMETIC | COMPARISONS


def to_text(graph: Graph) -> str:
    """The whole graph.

    >>> from tilewright.graph.builders.einsum import einsum
    >>> from tilewright.graph.types import Tensor
    >>> a, b = Tensor("a", (2, 3)), Tensor("b", (3, 4))
    >>> product, c = einsum("ik,kj->ij", [a, b], name="product", result="c")
    >>> print(to_text(Graph("example", (a, b, c), (product,), ("a", "b"), ("c",))))
    graph example
      input a: float32(2, 3)
      input b: float32(3, 4)
      output c: float32(2, 4)
      product = einsum[i=2, j=4; sum over k=3]
        c[i, j] <- a[i, k], b[k, j]
        body: #0 * #1
        sum: 0.0 add point
        finish: sum
    """
    constants = dict(graph.constants)
    lines = [f"graph {graph.name}"]
    for tensor in graph.tensors:
        role = _role(tensor.name, graph)
        digest = f" = constant {constants[tensor.name].digest[:12]}" if tensor.name in constants else ""
        lines.append(f"  {role} {tensor.name}: {tensor.dtype}({', '.join(map(_extent, tensor.shape))}){digest}")
    for operator in graph.operators:
        lines += [f"  {line}" for line in operator_lines(operator)]
    return "\n".join(lines)


def operator_lines(operator: Operator) -> list[str]:
    """An operator: axes, accesses, body, reduction."""
    reads = ", ".join(map(_access, operator.reads))
    lines = [
        f"{operator.name} = {operator.kind}[{_axes(operator)}]",
        f"  {_access(operator.write)} <- {reads}",
        f"  body: {scalar_text(operator.body)}",
    ]
    if operator.accumulator != "float32":
        lines.append(f"  accumulator: {operator.accumulator}")
    return lines + ([] if operator.reduction is None else [f"  {line}" for line in _reduction_lines(operator.reduction)])


def scalar_text(scalar: Scalar) -> str:
    """A scalar expression: `#i` is read i, `old x` the previous state x.

    >>> from tilewright.graph.expressions.scalar import apply
    >>> scalar_text(apply("exp", apply("subtract", Point(), State("row_max"))))
    'exp(point - row_max)'
    """
    match scalar:
        case Apply(function, operands) if function in INFIX:
            return f" {INFIX[function]} ".join(_operand(operand) for operand in operands)
        case Apply(function, operands):
            return f"{function}({', '.join(map(scalar_text, operands))})"
        case Literal(value):
            return repr(value)
        case Load(read):
            return f"#{read}"
        case Point():
            return "point"
        case State(name):
            return name
        case Previous(name):
            return f"old {name}"
        case AxisValue(axis):
            return f"position({axis})"
        case Parameter(name):
            return f"${name}"


def _operand(scalar: Scalar) -> str:
    text = scalar_text(scalar)
    return f"({text})" if isinstance(scalar, Apply) and scalar.function in INFIX else text


def _reduction_lines(reduction: Reduction) -> list[str]:
    states = [f"{s.name}: {s.identity!r} {s.combine} {scalar_text(s.contribution)}" for s in reduction.states]
    rescales = [f"rescale {rescale.target} by {scalar_text(rescale.factor)}" for rescale in reduction.rescales]
    return [*states, f"finish: {scalar_text(reduction.finish)}", *rescales]


def _axes(operator: Operator) -> str:
    parallel = [axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL]
    reduced = operator.reduction_axes()
    combined = f"sum over {_sizes(reduced)}" if operator.is_product_sum() else f"reduce {_sizes(reduced)}"
    return "; ".join([*([_sizes(parallel)] if parallel else []), *([combined] if reduced else [])])


def _sizes(axes: Sequence[Axis]) -> str:
    return ", ".join(f"{axis.name}={_extent(axis.extent)}" for axis in axes)


def _extent(extent: Extent) -> str:
    if isinstance(extent, SymbolicExtent):
        return f"{extent.name} in {extent.low}..{extent.high} (as {extent.hint})"
    return str(extent)


def _access(access: Access) -> str:
    added = dict(access.lookups)
    indices = (f"{index} + #{added[d]}" if d in added else str(index) for d, index in enumerate(access.indices))
    text = f"{access.tensor}[{', '.join(indices)}]"
    if access.guard is not None:
        conditions = " and ".join(f"{constraint} >= 0" for constraint in access.guard.constraints)
        text += f" where {conditions} else {access.guard.otherwise!r}"
    return text


def _role(name: str, graph: Graph) -> str:
    places = {"input": graph.inputs, "constant": dict(graph.constants), "output": graph.outputs}
    return " ".join(role for role, names in places.items() if name in names) or "tensor"
