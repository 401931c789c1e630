"""C text of loop nests: one file per graph, readable, importing nothing.

The file holds the vector vocabulary, the micro kernels with the loops that tile them, one task per chain, and the entry point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilewright.codegen import emit_fetch, names
from tilewright.codegen.artifact import CONTEXT_DECLARATION
from tilewright.codegen.c_file import Argument, File
from tilewright.codegen.emit_epilogue import kernel_epilogue
from tilewright.codegen.emit_loops import emit_vector_loops
from tilewright.codegen.emit_packing import PACKING, copy_lines
from tilewright.codegen.emit_rounding import with_rounding
from tilewright.codegen.emit_tiles import (
    by_kernel,
    function_declaration,
    inlined_declaration,
    may_inline,
    tile_shapes,
    tiles_call,
    tiles_functions,
)
from tilewright.codegen.emit_window import windows_text
from tilewright.codegen.expressions import (
    Value,
    add,
    ceil_divide,
    divide,
    maximum,
    minimum,
    multiply,
    remainder,
    round_up,
    subtract,
    to_c,
    unequal,
)
from tilewright.codegen.loop_nest import (
    BlockLoop,
    Buffer,
    Copy,
    Define,
    If,
    KernelCall,
    LoopNest,
    Node,
    ParallelAxis,
    VectorLoops,
)
from tilewright.kernels.contract import KernelSource, MicroKernel, SourceKind
from tilewright.kernels.elements import reading

EXPORTED = '__attribute__((visibility("default")))'
FLOAT_BYTES = 4
ALIGNMENT_FLOATS = 16

CALL_DECLARATION = """\
struct tw_call {
  void *const *tensors;
  const long *sizes;
  char *workspace;
  const char *constants;
};
"""


def emit_file(file: File) -> tuple[str, tuple[KernelSource, ...]]:
    """The C text, and what must be linked with it (kernels that are not C of the same dialect)."""
    calls = [call for nest, _ in file.nests for call in kernel_calls(nest)]
    kernel_text, linked = _kernels(file, calls)
    chains = with_rounding(chains_and_entry(file))
    parts = [
        _comment(file.header),
        file.dialect.prelude,
        "TW_INLINE long tw_min(long a, long b) { return a < b ? a : b; }",
        "TW_INLINE long tw_max(long a, long b) { return a > b ? a : b; }",
        CONTEXT_DECLARATION,
        CALL_DECLARATION,
        PACKING,
        *reading(element_types(file)),
        *([emit_fetch.FETCHING] if any(nest.fetches for nest, _ in file.nests) else []),
        *kernel_text,
        *windows_text(chains, file.dialect.lanes),
        *chains,
    ]
    return "\n".join(parts), linked


def element_types(file: File) -> frozenset[str]:
    """Of all that the chains read and write outside their scratch."""
    return frozenset(argument.dtype for _, arguments in file.nests for argument in arguments)


def chains_and_entry(file: File) -> list[str]:
    """The functions of all chains and the entry points: what follows the vocabulary, the packing and the kernels in a file."""
    chains = (part for nest, arguments in file.nests for part in _chain(file, nest, arguments))
    return [*chains, *_entry(file), *(_preparation(file) if file.prepared else [])]


def kernel_calls(nest: LoopNest) -> list[KernelCall]:
    """Every kernel call of a nest."""
    roots = [*nest.setup, *(node for axis in nest.parallel for node in axis.prologue), *nest.body]
    return [node for root in roots for node in _walk(root) if isinstance(node, KernelCall)]


def _streams(nest: LoopNest) -> bool:
    """Whether micro tiles store past the caches: other threads see it once this one has passed a fence."""
    return any(call.epilogue is not None and call.epilogue.streams for call in kernel_calls(nest))


def _walk(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, BlockLoop | If):
        for inner in node.body:
            yield from _walk(inner)


def _comment(lines: tuple[str, ...]) -> str:
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])


def _kernels(file: File, calls: list[KernelCall]) -> tuple[list[str], tuple[KernelSource, ...]]:
    """The text of every kernel used; kernels in the file's own dialect stand in it, others are declared and linked."""
    text, linked = [], []
    for name, own in by_kernel(calls).items():
        kernel, epilogue, asks = file.kernels[own[0].kernel], kernel_epilogue(own[0]), own[0].asks
        source = kernel.source(name, _variants(kernel, own), epilogue, asks=asks)
        if source.kind is SourceKind.C and str(source.content).startswith(file.dialect.prelude):
            declaration = inlined_declaration if may_inline(kernel, own) else function_declaration
            text.append(declaration(name, epilogue, asks))
            text.append(str(source.content).removeprefix(file.dialect.prelude))
        else:
            text.append(kernel.declaration(name, epilogue))
            linked.append(source)
        text += tiles_functions(kernel, [call for call in own if call in calls])
    return text, tuple(dict.fromkeys(linked))


def _variants(kernel: MicroKernel, calls: list[KernelCall]) -> frozenset[tuple[int, int]]:
    """The (rows, vectors) that the calls need."""
    wanted = {(m, -(-columns // kernel.lanes)) for call in calls for m, columns in tile_shapes(kernel, call)}
    return frozenset(wanted) or frozenset({(1, 1)})


def _chain(file: File, nest: LoopNest, arguments: tuple[Argument, ...]) -> tuple[str, ...]:
    task = _task(file, nest, arguments)
    return (task,) if _is_simple(nest) else (_scratch_function(file, nest), task)


def _scratch_function(file: File, nest: LoopNest) -> str:
    _, size = _offsets(nest.buffers)
    lines = [f"return {to_c(multiply(size, FLOAT_BYTES))};"]
    return _function(f"static long {nest.name}_scratch_bytes(const long *sizes)", _defined(file, lines))


def _task(file: File, nest: LoopNest, arguments: tuple[Argument, ...]) -> str:
    last = [f"long {names.last_block(axis.axis)} = -1;" for axis, inner in _with_inner_blocks(nest) if _repacks(axis, inner)]
    last += [
        f"long {names.fetched_block(axis.axis)} = -1;"
        for axis, inner in _with_inner_blocks(nest)
        if _refetches(nest, axis, inner)
    ]
    last += emit_fetch.declaration(nest.fetches)
    fence = ["tw_fence();"] if _streams(nest) else []
    body = [*_nodes(nest.setup), *last, *_blocks(nest), *fence]
    text = "\n".join(body)
    lines: list[str] = []
    for argument in (one for one in arguments if re.search(rf"\b{one.name}\b", text)):
        lines.append(f"{argument.c_type} *const {argument.name} = ({argument.c_type} *){argument.pointer};")
    lines += [*_buffers(file, nest), *body]
    signature = f"static void {nest.name}_task(void *argument, struct tw_blocks *blocks, char *scratch)"
    opening = ["const struct tw_call *call = argument;", "const long *sizes = call->sizes;"]
    return _comment(nest.header) + "\n" + _function(signature, [*opening, *_defined(file, lines)])


def _blocks(nest: LoopNest) -> list[str]:
    """All blocks of a thread's share."""
    head = "const long block = 0;" if _is_simple(nest) else "for (long block; (block = blocks->next(blocks)) >= 0;)"
    return [f"{head} {{", *_indent(_block(nest)), "}"]


def _buffers(file: File, nest: LoopNest) -> list[str]:
    lines: list[str] = []
    offsets, _ = _offsets(nest.buffers)
    for buffer, offset in zip(nest.buffers, offsets, strict=True):
        place = to_c(add(multiply(offset, FLOAT_BYTES), file.buffer_tags.get((nest.name, buffer.name), 0)))
        lines.append(f"float *const {buffer.name} = (float *)(scratch + {place}); /* {buffer.note} */")
    return lines


def _offsets(buffers: tuple[Buffer, ...]) -> tuple[list[Value], Value]:
    """Where every scratch buffer begins, and how many elements all take: as many as the largest one in every place."""
    sizes: dict[str, Value] = {}
    for buffer in buffers:
        size, place = round_up(buffer.elements, ALIGNMENT_FLOATS), buffer.place or buffer.name
        sizes[place] = maximum(sizes[place], size) if place in sizes else size
    starts: dict[str, Value] = {}
    end: Value = 0
    for place, size in sizes.items():
        starts[place] = end
        end = add(end, size)
    return [starts[buffer.place or buffer.name] for buffer in buffers], end


def _block(nest: LoopNest) -> list[str]:
    """What is done for one block: decode its number, refresh packed operands that changed, run the body."""
    lines = []
    for axis, inner in _with_inner_blocks(nest):
        number, last = divide("block", inner), names.last_block(axis.axis)
        lines += _decode(axis, number, is_outermost=axis is nest.parallel[0])
        body = _nodes(axis.prologue)
        if _repacks(axis, inner):
            body = [f"if ({to_c(unequal(number, last))}) {{", *_indent([f"{last} = {to_c(number)};", *body]), "}"]
        lines += body
    fetches = [line for axis, inner in _with_inner_blocks(nest) for line in _fetches(nest, axis, inner)]
    return [*lines, *fetches, *_nodes(nest.body)]


def _fetches(nest: LoopNest, axis: ParallelAxis, inner: Value) -> list[str]:
    """Where blocks begin that read something else of an axis: from now on ask for what the blocks after these read."""
    position = nest.parallel.index(axis)
    starts = [emit_fetch.start(i, fetch) for i, fetch in enumerate(nest.fetches) if fetch.position == position]
    if not starts:
        return []
    number, fetched = divide("block", inner), names.fetched_block(axis.axis)
    following = multiply(add(number, 1), inner)
    lines = [f"{fetched} = {to_c(number)};"] if _refetches(nest, axis, inner) else []
    lines.append(f"const long next = {to_c(following)};")
    for other, inside in _with_inner_blocks(nest):
        lines += _decode(other, divide("next", inside), is_outermost=other is nest.parallel[0])
    conditions = [f"{to_c(following)} < {to_c(multiply(1, *(_trips(one) for one in nest.parallel)))}"]
    conditions += [to_c(unequal(number, fetched))] if _refetches(nest, axis, inner) else []
    return [f"if ({' && '.join(conditions)}) {{", *_indent([*lines, *starts]), "}"]


def _refetches(nest: LoopNest, axis: ParallelAxis, inner: Value) -> bool:
    """Whether several blocks in a row read the same of what is fetched ahead."""
    return inner != 1 and any(nest.parallel[fetch.position] is axis for fetch in nest.fetches)


def _with_inner_blocks(nest: LoopNest) -> Iterator[tuple[ParallelAxis, Value]]:
    """The parallel axes, each with the number of blocks of all axes inside it."""
    for position, axis in enumerate(nest.parallel):
        yield axis, multiply(1, *(_trips(other) for other in nest.parallel[position + 1 :]))


def _repacks(axis: ParallelAxis, inner: Value) -> bool:
    """Whether an axis has operands packed for several blocks in a row: a thread may be given any blocks."""
    return bool(axis.prologue) and inner != 1


def _trips(axis: ParallelAxis) -> Value:
    return ceil_divide(axis.extent, axis.tile) if axis.variable else 1


def _decode(axis: ParallelAxis, position: Value, *, is_outermost: bool) -> list[str]:
    if not axis.variable:
        return []
    position = position if is_outermost else remainder(position, _trips(axis))
    position = subtract(subtract(_trips(axis), 1), position) if axis.descends else position
    lines = [f"const long {axis.variable} = {to_c(multiply(position, axis.tile))};"]
    if axis.size_variable:
        rest = minimum(axis.tile, f"{to_c(axis.extent)} - {axis.variable}")
        lines.append(f"const long {axis.size_variable} = {to_c(rest)};")
    return lines


def _nodes(nodes: tuple[Node, ...]) -> list[str]:
    return [line for node in nodes for line in _node(node)]


def _node(node: Node) -> list[str]:
    match node:
        case BlockLoop():
            return _loop(node)
        case If(condition, body):
            return [f"if ({to_c(condition)}) {{", *_indent(_nodes(body)), "}"]
        case Define(name, value):
            return [f"const long {name} = {to_c(value)};"]
        case Copy():
            return copy_lines(node)
        case KernelCall():
            return [tiles_call(node)]
        case VectorLoops():
            return emit_vector_loops(node)


def _loop(loop: BlockLoop) -> list[str]:
    variable = loop.variable
    more = f"{variable} < {to_c(loop.stop)}" + (f" || {variable} == {to_c(loop.start)}" if loop.may_be_empty else "")
    lines = []
    if loop.size_variable:
        rest = f"tw_min({loop.tile}, {to_c(loop.stop)} - {variable})"
        lines.append(f"const long {loop.size_variable} = {rest};")
    step = f"{variable}++" if loop.tile == 1 else f"{variable} += {loop.tile}"
    return [f"for (long {variable} = {to_c(loop.start)}; {more}; {step}) {{", *_indent([*lines, *_nodes(loop.body)]), "}"]


def _entry(file: File) -> list[str]:
    workspace = [f"return {to_c(multiply(file.workspace_elements, FLOAT_BYTES))};"]
    constants = "context->constants" if file.prepared else "0"
    lines = [f"struct tw_call call = {{tensors, sizes, workspace, {constants}}};", *(_run(nest) for nest, _ in file.nests)]
    if not any("context" in line for line in lines):
        lines.append("(void)context;")
    arguments = "const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace"
    return [
        _function(f"{EXPORTED} long {file.entry_point}_workspace_bytes(const long *sizes)", _defined(file, workspace)),
        _function(f"{EXPORTED} void {file.entry_point}({arguments})", _defined(file, lines)),
    ]


def _preparation(file: File) -> list[str]:
    """What packs the constants, once for all calls."""
    lines: list[str] = []
    for one in file.prepared:
        source, buffer = one.source, one.constant.buffer
        pointers = [
            f"const float *const {source.name} = (const float *){source.pointer};",
            f"float *const {buffer.name} = (float *)(packed + {one.offset_bytes}); /* {buffer.note} */",
        ]
        lines += ["{", *_indent([*pointers, *_nodes(one.constant.copies)]), "}"]
    size = [f"return {file.constant_bytes};"]
    return [
        _function(f"{EXPORTED} long {file.entry_point}_constant_bytes(void)", size),
        _function(f"{EXPORTED} void {file.entry_point}_prepare(const void *const *constants, char *packed)", lines),
    ]


def _is_simple(nest: LoopNest) -> bool:
    """Whether a chain is one block that needs no scratch: the pool, whose locks cost as much as 16 x 16 x 16, is left out."""
    return _block_count(nest) == 1 and not nest.buffers


def _block_count(nest: LoopNest) -> Value:
    return multiply(1, *(_trips(axis) for axis in nest.parallel))


def _run(nest: LoopNest) -> str:
    """The statement that runs a chain."""
    if _is_simple(nest):
        return f"{nest.name}_task(&call, 0, 0);"
    count = _block_count(nest)
    rest = f"{to_c(count)}, {nest.name}_scratch_bytes(sizes), {to_c(multiply(count, nest.block_ns))}"
    return f"context->parallel_for(context->pool, {nest.name}_task, &call, {rest});"


def _defined(file: File, lines: list[str]) -> list[str]:
    """The lines, after definitions of the run-time sizes that they mention."""
    text = "\n".join(lines)
    used = [(name, value) for name, value in file.definitions if name in text]
    silent = [] if "sizes" in text or used else ["(void)sizes;"]
    return [*silent, *(line for name, value in used for line in _definition(file, name, value)), *lines]


def _definition(file: File, name: str, value: str) -> Iterator[str]:
    """A run-time size; of an extent the compiler is told the range: then it folds divisions, paddings and edges."""
    yield f"const long {name} = {value};"
    if name in file.bounds:
        low, high = file.bounds[name]
        yield f"if ({name} < {low} || {name} > {high}) __builtin_unreachable();"


def _function(signature: str, lines: list[str]) -> str:
    return "\n".join([f"{signature} {{", *_indent(lines), "}", ""])


def _indent(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
