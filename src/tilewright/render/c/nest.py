"""C text of one region: the function of a thread, and the one that has all blocks run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, takewhile
from math import prod

from tilewright.block.integers import IntegerExpression, Variable, maximum, quotient, remainder, unequal
from tilewright.block.memory import WORD_BYTES, Buffer, BufferName
from tilewright.block.program import Region, entered
from tilewright.block.statements import For, If, Leaf, Let, Prefetch, Rounded, Statement
from tilewright.c_text import names, software_prefetch
from tilewright.c_text.integer_expressions import local, pointer, to_c, value_helpers
from tilewright.c_text.names import variable_name
from tilewright.c_text.statements import comment, function, indent, words
from tilewright.graph.types import Tensor
from tilewright.kernels.element_types import C_TYPES
from tilewright.kernels.helpers import Helper
from tilewright.lower.plan_comment import header
from tilewright.render.c.c_file import (
    RUN_ARGUMENTS,
    File,
    NestCall,
    Routine,
    RoutineSource,
    loop_helpers,
    nest_name,
)
from tilewright.render.c.leaf_texts import LeafText, with_leaf_texts
from tilewright.render.c.operator_nests import with_shared_nests

WHOLE_BELOW = Helper(
    "tw_whole_below",
    """\
TW_INLINE long tw_whole_below(float x) { /* the largest integer that is not above x; at most 2^30 from 0, least for NaN */
  const long whole = x >= 0x1p30f ? 1L << 30 : x > -0x1p30f ? (long)x : -(1L << 30);
  return whole - ((float)whole > x);
}
""",
)
WHOLE_ABOVE = Helper(
    "tw_whole_above",
    """\
TW_INLINE long tw_whole_above(float x) { /* the least integer that is not below x; at most 2^30 from 0, least for NaN */
  const long whole = x >= 0x1p30f ? 1L << 30 : x > -0x1p30f ? (long)x : -(1L << 30);
  return whole + ((float)whole < x);
}
""",
)

FENCE = Helper(
    "tw_fence",
    """\
TW_INLINE void tw_fence(void) {
#ifdef __x86_64__
  __asm__ volatile("sfence" ::: "memory");
#endif
}
""",
)
"""Behind stores past the caches: others see then what was stored."""

BLOCK, NEXT_BLOCK = map(local, ("block", "next"))
LOOKUPS_BEFORE = "lookups_before"
CALLER = ("const struct tw_context *const caller", "(void *)context")
"""What lookups report positions to, and its expression in the entry point."""


def routine_of(file: File, source: RoutineSource) -> Routine:
    """The functions of a chain, `NAME_task` for a thread's blocks and `NAME_run` for all of them, and what a call passes on.

    Both know nothing of the whole program: pointers and run-time sizes are numbered in the order of their own arguments.
    """
    dialect, arguments = file.dialect, source.arguments
    region = with_leaf_texts(with_shared_nests(source.region, source.plan.execution.nests, dialect), dialect)
    task, run = _task_lines(region), _run_lines(region)
    mentioned = words([*task, *run])
    sizes = [(name, value) for name, value in _sizes(file, source) if name in mentioned]
    numbers = tuple(number for number, argument in enumerate(arguments) if argument.name in mentioned)
    used = [(f"{arguments[number].c_type} *const {arguments[number].name}", arguments[number].pointer) for number in numbers]
    used += [CALLER] if "caller" in mentioned else []
    pointers = [f"{declared} = call->tensors[{number}];" for number, (declared, _) in enumerate(used)]
    size_arguments = [(name, f"sizes[{number}]") for number, (name, _) in enumerate(sizes)]
    opening = [
        "const struct tw_call *call = argument;",
        *(["const long *sizes = call->sizes;"] if sizes and words(task) & dict(sizes).keys() else []),
    ]
    signature = f"static void {region.name}_task(void *argument, struct tw_blocks *blocks, char *scratch)"
    text = [
        comment(header(source.region, source.plan)),
        function(signature, [*opening, *defined(size_arguments, file.bounds, [*pointers, *task])]),
        function(f"void {region.name}_run({RUN_ARGUMENTS})", defined(size_arguments, file.bounds, run)),
    ]
    passed = tuple(pointer for _, pointer in used), tuple(value for _, value in sizes)
    shared = tuple(dict.fromkeys(node.nest for node in region.nodes() if isinstance(node, NestCall)))
    nests = {nest_name(called): called for called in shared}
    return Routine(
        region.name,
        "\n".join(text),
        *passed,
        leaves_of(source.region),
        nest_helpers(region),
        source.structure,
        nests,
        numbers,
        tuple(name for name, _ in sizes),
        all(len(node.lowered.text()) == 1 for node in region.nodes() if isinstance(node, LeafText)),
    )


def routine_like(source: RoutineSource, theirs: RoutineSource, other: Routine, sizes: Mapping[str, str]) -> Routine:
    """The routine of a region, without its text, as that of another region of its structure; `sizes` are those of the file."""
    tensors = zip(_tensors(theirs), _tensors(source), strict=True)
    own = {names.stride(old.name, d): names.stride(new.name, d) for old, new in tensors for d in range(len(new.shape))}
    known = {LOOKUPS_BEFORE: str(source.lookups_before)}
    passed = tuple(known.get(name) or sizes[own.get(name, name)] for name in other.size_names)
    given = (source.arguments[number].pointer for number in other.arguments)
    return replace(
        other, name=source.region.name, text="", pointers=(*given, *other.pointers[len(other.arguments) :]), sizes=passed
    )


def _tensors(source: RoutineSource) -> list[Tensor]:
    """Those that the chain of a region reads, and its result."""
    chain = source.plan.chain
    return [chain.tensor(name) for name in (*chain.inputs, chain.output)]


def _sizes(file: File, source: RoutineSource) -> Iterator[tuple[str, str]]:
    """All run-time sizes that a routine may be passed: (variable, C expression in the entry point)."""
    yield from file.definitions
    yield LOOKUPS_BEFORE, str(source.lookups_before)


def nest_helpers(region: Region) -> frozenset[Helper]:
    """The helpers that the functions of a chain call."""
    return frozenset((*node_helpers(region.nodes()), *software_prefetch.prefetch_helpers(_prefetches(region))))


def node_helpers(nodes: Iterable[Statement]) -> Iterator[Helper]:
    """The helpers that these statements call, bodies left out."""
    for node in nodes:
        match node:
            case For() if not node.level:
                yield from (*value_helpers(node.whole.start), *value_helpers(node.whole.stop))
            case If():
                yield from value_helpers(node.condition)
            case Let(value=Rounded(rounds_up=rounds_up)):
                yield WHOLE_ABOVE if rounds_up else WHOLE_BELOW
            case Let(value=value):
                assert not isinstance(value, Rounded)
                yield from value_helpers(value)
            case LeafText():
                yield from node.lowered.helpers()
                yield from [FENCE] if node.streams else []
            case NestCall():
                yield from loop_helpers(node.nest)
                for value in (*node.numbers, *(offset for _, offset in node.places)):
                    yield from value_helpers(value)


def leaves_of(region: Region) -> list[Leaf]:
    """Every leaf of a region."""
    return [node for node in region.nodes() if isinstance(node, Leaf)]


def _task_lines(region: Region) -> list[str]:
    """All that a thread does, behind its pointers and sizes."""
    axes = list(_with_inner_blocks(region))
    last = [names.last_block(axis.axis) for axis, inner in axes if _repacks(axis, inner)]
    last += [names.prefetched_block(axis.axis) for axis, inner in axes if _refetches(region, axis, inner)]
    lines = [f"long {block} = -1;" for block in last]
    lines += software_prefetch.declaration(_prefetches(region))
    streams = any(isinstance(node, LeafText) and node.streams for node in region.nodes())
    fence = ["tw_fence();"] if streams else []
    return [*_buffers(region), *node_lines(region.setup), *lines, *_blocks(region), *fence]


def _run_lines(region: Region) -> list[str]:
    """The statements that have all blocks of a chain run."""
    call = "struct tw_call call = {tensors, sizes};"
    if _is_simple(region):
        return [call, "(void)context;", f"{region.name}_task(&call, 0, 0);"]
    _, size = _offsets(region.scratch)
    count = _block_count(region)
    rest = ", ".join(map(to_c, (count, size * WORD_BYTES, count * region.block_ns)))
    return [call, f"context->parallel_for(context->pool, {region.name}_task, &call, {rest});"]


def _blocks(region: Region) -> list[str]:
    """All blocks of a thread's share."""
    head = "const long block = 0;" if _is_simple(region) else "for (long block; (block = blocks->next(blocks)) >= 0;)"
    return [f"{head} {{", *indent(_block(region)), "}"]


def _buffers(region: Region) -> list[str]:
    lines: list[str] = []
    offsets, _ = _offsets(region.scratch)
    for buffer, offset in zip(region.scratch, offsets, strict=True):
        place, c_type = to_c(offset * WORD_BYTES), C_TYPES[buffer.dtype]
        lines.append(f"{c_type} *const {names.buffer_name(buffer.name)} = ({c_type} *)(scratch + {place}); /* {buffer.note} */")
    return lines


def _offsets(buffers: tuple[Buffer, ...]) -> tuple[list[IntegerExpression], IntegerExpression]:
    """Where every scratch buffer begins, and the words that all take: of a reuse group as many as the largest one."""
    sizes: dict[BufferName | int, IntegerExpression] = {}
    groups = [buffer.name if buffer.reuse_group is None else buffer.reuse_group for buffer in buffers]
    for buffer, group in zip(buffers, groups, strict=True):
        sizes[group] = maximum(sizes[group], buffer.size_words) if group in sizes else buffer.size_words
    ends = list(accumulate(sizes.values(), initial=0))
    starts = dict(zip(sizes, ends, strict=False))
    return [starts[group] for group in groups], ends[-1]


def _block(region: Region) -> list[str]:
    """What is done for one block: decode its number, refresh packed operands that changed, run the body."""
    lines = []
    for axis, inner in _with_inner_blocks(region):
        number, last = quotient(BLOCK, inner), names.last_block(axis.axis)
        lines += _decode(axis, number, is_outermost=axis is region.parallel[0])
        body = node_lines(entered(axis.body)) if axis is not region.parallel[-1] else []
        if _repacks(axis, inner):
            body = [f"if ({to_c(unequal(number, local(last)))}) {{", *indent([f"{last} = {to_c(number)};", *body]), "}"]
        lines += body
    before = tuple(takewhile(lambda node: not isinstance(node, Prefetch), region.block))
    prefetches = [line for axis, inner in _with_inner_blocks(region) for line in _software_prefetches(region, axis, inner)]
    return [*lines, *node_lines(before), *prefetches, *node_lines(region.block[len(before) :])]


def _prefetches(region: Region) -> tuple[Prefetch, ...]:
    """What the tiles of a block ask for."""
    return tuple(node for node in region.block if isinstance(node, Prefetch))


def _software_prefetches(region: Region, axis: For, inner: IntegerExpression) -> list[str]:
    """Where blocks begin that read something else of an axis: from now on ask for what the blocks after these read."""
    prefetches = enumerate(_prefetches(region))
    starts = [software_prefetch.start(i, prefetch) for i, prefetch in prefetches if prefetch.axis == axis.axis]
    if not starts:
        return []
    number, fetched = quotient(BLOCK, inner), names.prefetched_block(axis.axis)
    following = (number + 1) * inner
    lines = [f"{fetched} = {to_c(number)};"] if _refetches(region, axis, inner) else []
    lines.append(f"const long next = {to_c(following)};")
    for decoded, inside in _with_inner_blocks(region):
        lines += _decode(decoded, quotient(NEXT_BLOCK, inside), is_outermost=decoded is region.parallel[0])
    conditions = [f"{to_c(following)} < {to_c(prod(axis.trips for axis in region.parallel))}"]
    conditions += [to_c(unequal(number, local(fetched)))] if _refetches(region, axis, inner) else []
    return [f"if ({' && '.join(conditions)}) {{", *indent([*lines, *starts]), "}"]


def _refetches(region: Region, axis: For, inner: IntegerExpression) -> bool:
    """Whether several blocks in a row read the same of the prefetched data."""
    return inner != 1 and any(prefetch.axis == axis.axis for prefetch in _prefetches(region))


def _with_inner_blocks(region: Region) -> Iterator[tuple[For, IntegerExpression]]:
    """The parallel axes, each with the number of blocks of all axes inside it."""
    for position, axis in enumerate(region.parallel):
        yield axis, prod(inner.trips for inner in region.parallel[position + 1 :])


def _repacks(axis: For, inner: IntegerExpression) -> bool:
    """Whether an axis has operands packed for several blocks in a row: a thread may be given any blocks."""
    return bool(entered(axis.body)) and inner != 1


def _decode(axis: For, position: IntegerExpression, *, is_outermost: bool) -> list[str]:
    if not isinstance(axis.block.start, Variable):
        return []
    start = variable_name(axis.block.start)
    position = position if is_outermost else remainder(position, axis.trips)
    position = axis.trips - 1 - position if axis.descends else position
    lines = [f"const long {start} = {to_c(position * axis.tile)};"]
    if size := axis.block.size_variable:
        lines.append(f"const long {variable_name(size)} = tw_min({axis.tile}, {to_c(axis.whole.size)} - {start});")
    return lines


def node_lines(nodes: tuple[Statement, ...]) -> list[str]:
    """The statements of a body."""
    return [line for node in nodes for line in _node(node)]


def _node(node: Statement) -> list[str]:
    match node:
        case For():
            return _loop(node)
        case If(condition, body):
            return [f"if ({to_c(condition)}) {{", *indent(node_lines(body)), "}"]
        case Let(variable, Rounded(element, rounds_up)):
            number, whole = f"(float)*({pointer(element.buffer, element.offset)})", WHOLE_ABOVE if rounds_up else WHOLE_BELOW
            return [f"const long {variable_name(variable)} = {whole.name}({number});"]
        case Let(variable, value):
            assert not isinstance(value, Rounded)
            return [f"const long {variable_name(variable)} = {to_c(value)};"]
        case LeafText():
            return [*_remark(node.note), *node.lowered.text()]
        case NestCall(nest, note, places, numbers):
            given = [*(pointer(buffer, offset) for buffer, offset in places), *map(to_c, numbers)]
            return [*_remark(note), f"{nest_name(nest)}({', '.join(given)});"]
        case _:
            return []  # software prefetch starts where blocks begin: `_software_prefetches`


def _remark(text: str) -> list[str]:
    return [f"/* {text} */"] if text else []


def _loop(loop: For) -> list[str]:
    variable, start, stop = to_c(loop.block.start), to_c(loop.whole.start), to_c(loop.whole.stop)
    more = f"{variable} < {stop}" + (f" || {variable} == {start}" if loop.may_be_empty else "")
    size = loop.block.size_variable
    lines = [f"const long {variable_name(size)} = tw_min({loop.tile}, {stop} - {variable});"] if size else []
    step = f"{variable}++" if loop.tile == 1 else f"{variable} += {loop.tile}"
    return [f"for (long {variable} = {start}; {more}; {step}) {{", *indent([*lines, *node_lines(loop.body)]), "}"]


def _is_simple(region: Region) -> bool:
    """Whether a chain is one block that needs no scratch: the pool, whose locks cost as much as 16 x 16 x 16, is left out."""
    return _block_count(region) == 1 and not region.scratch


def _block_count(region: Region) -> IntegerExpression:
    return prod(axis.trips for axis in region.parallel)


def defined(definitions: Collection[tuple[str, str]], bounds: Mapping[str, tuple[int, int]], lines: list[str]) -> list[str]:
    """The lines, after definitions of the run-time sizes that they mention."""
    mentioned = words(lines) if definitions else frozenset[str]()
    used = [(name, value) for name, value in definitions if name in mentioned]
    return [*(line for name, value in used for line in _definition(bounds, name, value)), *lines]


def _definition(bounds: Mapping[str, tuple[int, int]], name: str, value: str) -> Iterator[str]:
    """A run-time size; of an extent the compiler is told the range: then it folds divisions, paddings and edges."""
    yield f"const long {name} = {value};"
    if name in bounds:
        low, high = bounds[name]
        yield f"if ({name} < {low} || {name} > {high}) __builtin_unreachable();"
