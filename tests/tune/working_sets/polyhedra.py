"""Working sets by a library of integer sets (isl): maps of pairs of iterations, their lexicographic optima, points counted."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from tilewright.graph.types import Access
from tilewright.tune.working_sets.features import Iteration
from tilewright.tune.working_sets.nests import Nest


def domain(nest: Nest, names: list[str]) -> str:
    """The constraints of all loops: every tile lies in that around it, and all in the axis."""
    terms = []
    for at in range(len(nest.loops)):
        own = [other for other in nest.positions[nest.loops[at].axis] if other >= at]
        terms.append(
            f"{names[at]} >= 0 and " + " + ".join(f"{nest.loops[o].tile}*{names[o]}" for o in own) + f" < {nest.around[at]}"
        )
    return " and ".join(terms)


def elements(nest: Nest, access: Access, names: list[str]) -> tuple[str, str]:
    """What an access touches, and that it is inside of the array."""
    axes = {a: " + ".join(f"{nest.loops[at].tile}*{names[at]}" for at in nest.positions[a]) for a in nest.extents}
    found = [" + ".join([str(i.constant), *(f"{f}*({axes[a]})" for a, f in i.terms)]) for i in access.indices]
    inside = [f"0 <= {x} < {size}" for x, size in zip(found, nest.shapes[access.tensor], strict=True)]
    return ", ".join(found), " and ".join(["true", *inside])


def touches(nest: Nest, access: Access) -> isl.Map:
    """From iterations to elements."""
    names = [f"x{at}" for at in range(len(nest.loops))]
    found, inside = elements(nest, access, names)
    return isl.Map(f"{{ [{', '.join(names)}] -> [{found}] : {domain(nest, names)} and {inside} }}")


def carried(nest: Nest, source: Access, target: Access, loop: int) -> tuple[Iteration, Iteration, Iteration] | None:
    """The least source with its first and last target."""
    count = len(nest.loops)
    pairs = touches(nest, source).apply_range(touches(nest, target).reverse())
    left, right = [f"x{at}" for at in range(count)], [f"y{at}" for at in range(count)]
    equal = [f"{x} = {y}" for x, y in list(zip(left, right, strict=True))[:loop]]
    later = " and ".join([*equal, f"{left[loop]} < {right[loop]}"])
    pairs = pairs.intersect(isl.Map(f"{{ [{', '.join(left)}] -> [{', '.join(right)}] : {later} }}"))
    if pairs.is_empty():
        return None
    first = pairs.domain().lexmin()
    targets = pairs.intersect_domain(first).range()
    return point_of(first), point_of(targets.lexmin()), point_of(targets.lexmax())


def touched(nest: Nest, array: str, first: Iteration, last: Iteration) -> int:
    """The number of elements of an array between two iterations, both included."""
    low, high, every = (
        isl.Set(f"{{ [{inside}] }}") for inside in (_listed(first), _listed(last), _listed(f"x{at}" for at in range(len(first))))
    )
    between = low.lex_le_set(every).range().intersect(high.lex_ge_set(every).range())
    maps = [touches(nest, access).intersect_domain(between) for access in nest.accesses if access.tensor == array]
    found = maps[0].range()
    for one in maps[1:]:
        found = found.union(one.range())
    counted: list[isl.Point] = []
    found.foreach_point(counted.append)
    return len(counted)


def _listed(terms: Iterable[object]) -> str:
    return ", ".join(map(str, terms))


def point_of(single: isl.Set) -> Iteration:
    """The coordinates of a set of a single point."""
    point = single.sample_point()
    return tuple(point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in range(single.dim(isl.dim_type.set)))
