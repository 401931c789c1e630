"""Loops over micro tiles.

C text of loops over linked micro tiles: one function for all calls whose kernels take like arguments, and tables of shapes.

The function of a call names the functions of its tile shapes in tables, and passes these on with its extents and strides. The
loops know no numbers: they are a translation unit of their own, and all libraries of a machine share what is compiled of it.
Loops for every call would cost a compiler 10 to 30 ms each (GCC 12); an indirect call costs a machine as much as a direct one.

C text of loops over micro tiles: one function for each way in which a nest calls a micro kernel.

Whatever of a call is known (extents, strides, whether to accumulate) stands in the function as a constant. A kernel in C is
inlined there, so that its addresses become displacements, its last rows and columns are chosen at compile time, and a tile's
stores overlap the next one's loads: 2% of G2's time (tiles of 6x64, Zen 5). Kernels with many shapes stay functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tilewright.block.integers import IntegerExpression
from tilewright.block.memory import Range, View
from tilewright.block.statements import MatrixTiles
from tilewright.c_text.integer_expressions import pointer, to_c
from tilewright.c_text.software_prefetch import CURSORS
from tilewright.c_text.statements import function, indent
from tilewright.graph.contraction_roles import outer_reductions
from tilewright.graph.types import element_bytes
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import LINE_BYTES, MicroKernel, matrix_parameters, stored_types
from tilewright.kernels.element_types import C_TYPES, suffix
from tilewright.kernels.helpers import INLINE, Helper
from tilewright.kernels.translation_units import WEAK
from tilewright.leaves.declaration import CFile
from tilewright.leaves.matrix_tiles.epilogues import kernel_epilogue, kernel_name, operand_steps
from tilewright.tile.products.tile import PREFETCH_STEPS

DECLARATIONS = """\
typedef void tw_tile(void);
struct tw_panel {
  long columns, last, step; /* of C; of them in the last vector, 0 if it is whole; rows of the largest tile */
  tw_tile *const *of_rows;  /* the function of step rows stands at step - 1 */
};
struct tw_fetch;
"""
"""The shapes that a call uses: its panels, the widest first."""
LOOPS = (
    "for (long j = 0; j < n; j += panel->columns, b += b_panel) {",
    "  while (n - j < panel->columns)",
    "    panel++;",
    "  for (long i = 0, rows; i < m; i += rows) {",
    "    rows = m - i < panel->step ? m - i : panel->step;",
)


def loops_name(kernel: MicroKernel, call: MatrixTiles) -> str:
    """The function that loops over tiles, by the types of operands and what the epilogue takes."""
    stored = stored_types(kernel.element_types, kernel_epilogue(call))
    types = [] if set(stored) == {"float32"} else list(stored)
    places = ((*operand_steps(call, operand), operand.view.dtype) for operand in call.operands)
    operands = ("".join(["r" * (row != 0), "c" * moves, suffix(dtype)]) or "x" for row, moves, dtype in places)
    return "_".join(["tw_tiles", *types, *operands])


def loops_source(kernel: MicroKernel, call: MatrixTiles) -> KernelSource:
    """Its translation unit."""
    lines = [*LOOPS, *indent(list(_tile_of_table(kernel, call))), "  }", "}"]
    text = "\n".join([INLINE, CURSORS.text, DECLARATIONS, function(f"{WEAK} {loops_signature(kernel, call)}", lines)])
    return KernelSource(SourceKind.C, text, joins=True)


def loops_signature(kernel: MicroKernel, call: MatrixTiles) -> str:
    """Its C signature."""
    left, right, result = (C_TYPES[of] for of in stored_types(kernel.element_types, kernel_epilogue(call)))
    parameters = [
        "const struct tw_panel *panel, long m, long n, long k",
        f"const {left} *a, long a_row, long a_column",
        f"const {right} *b, long b_panel, long b_row",
        f"{result} *c, long c_row, long accumulate",
        *(f"{_type(call, name)}{name}" for name in _operand_values(call)),
        "struct tw_fetch *fetches, long fetch_count",
    ]
    return f"void {loops_name(kernel, call)}({', '.join(parameters)})"


def tables(kernel: MicroKernel, name: str, panels: Sequence[tuple[int, Sequence[int]]]) -> Iterator[str]:
    """The tables of a call's shapes, `panels`: columns of each, and the rows of its tiles."""
    assert kernel.of_shape is not None
    for number, (columns, pieces) in enumerate(panels):
        functions = (f"[{rows - 1}] = (tw_tile *){kernel.of_shape(name, rows, columns)[0]}" for rows in pieces)
        yield f"static tw_tile *const of_rows_{number}[] = {{{', '.join(functions)}}};"
    rows = (
        f"{{{columns}, {columns % kernel.lanes}, {kernel.rows_for(columns)}, of_rows_{number}}}"
        for number, (columns, _) in enumerate(panels)
    )
    yield f"static const struct tw_panel panels[] = {{{', '.join(rows)}}};"


def _tile_of_table(kernel: MicroKernel, call: MatrixTiles) -> Iterator[str]:
    """The call of a tile, by the signature of its shape; with the number of columns of the last vector if that is in part."""
    stored = stored_types(kernel.element_types, kernel_epilogue(call))
    types = [c_type for name, c_type in matrix_parameters(stored).items() if name not in ("m", "n")]
    types += [_type(call, name) for name in _operand_values(call)]
    given = ", ".join([f"k, {OPERANDS}, accumulate", *_epilogue_arguments(call)])
    whole = ", ".join(map(str.strip, types))
    yield "  tw_tile *const tile = panel->of_rows[rows - 1];"
    yield "  if (panel->last)"
    yield f"    ((void (*)({whole}, long))tile)({given}, panel->last);"
    yield "  else"
    yield f"    ((void (*)({whole}))tile)({given});"
    yield "  tw_advance(fetches, fetch_count);"


MOST_INLINED = 6
"""Shapes of a micro kernel that one function may inline: each is a copy of its text."""
COPY_CHARACTERS, CALL_CHARACTERS, TABLE_CHARACTERS = 5000, 600, 200
"""What an inlined tile costs a compiler, the call of a linked one, and tables of shapes: as much as so many characters of vector
loops (GCC 12, 6 x 64: 30, 4 and 1 ms)."""
OF_LAYERS = ("b_panel", "b_row", "c_row")
"""Strides that layers of a network differ in."""
OPERANDS = "a + i * a_row, a_row, a_column, b, b_row, c + i * c_row + j, c_row"
"""What a tile at row i and column j reads and writes."""


def may_inline(kernel: MicroKernel, calls: Iterable[MatrixTiles]) -> bool:
    """Whether the shapes of all these calls are few."""
    return all(0 < _copies(kernel, call) <= MOST_INLINED for call in calls)


def tile_shapes(kernel: MicroKernel, call: MatrixTiles) -> frozenset[tuple[int, int]]:
    """All (rows, columns) for which a call may use a kernel."""
    if call.shapes is None:
        rows, columns, _ = call.sides
        return frozenset((m, n) for n in columns.pieces(kernel.columns) for m in rows.pieces(_row_step(kernel, call, n)))
    known = [(Range(0, 0, 0, frozenset((m,))), Range(0, 0, 0, frozenset((n,)))) for m, n in call.shapes]
    return frozenset((m, n) for r, c in known for n in c.pieces(kernel.columns) for m in r.pieces(kernel.rows_for(n)))


def by_kernel(calls: Iterable[MatrixTiles]) -> dict[str, list[MatrixTiles]]:
    """The calls of every function that computes tiles, by its name; slices of a panel before the last only add up."""
    found: dict[str, list[MatrixTiles]] = {}
    for call in calls:
        for variant in (replace(call, epilogue=None), call) if call.panel_slice_steps and _slices(call) > 1 else (call,):
            found.setdefault(kernel_name(variant), []).append(variant)
    return found


def tiles_name(call: MatrixTiles) -> str:
    """The function that a call needs; its name says what it takes for granted."""
    tags = [f"{_tag(name)}{value}".replace("-", "m") for name, value in constants_of(call).items()]
    shapes = "x".join("_".join(map(str, sizes)) for sizes in map(sorted, _sizes(call)))
    software_prefetches = [f"fetch{call.software_prefetches}"] if call.software_prefetches else []
    slices = [f"by{call.panel_slice_steps}"] if call.panel_slice_steps else []
    return "_".join([kernel_name(call), "tiles", *([shapes] if shapes != "x" else []), *tags, *software_prefetches, *slices])


def tiles_call(call: MatrixTiles) -> str:
    """The statement that runs a block."""
    constants = constants_of(call)
    given = [text for name, text in _arguments(call).items() if name not in constants]
    given += ["fetches"] if call.software_prefetches else []
    return f"{tiles_name(call)}({', '.join(given)});"


def tiles_declaration(call: MatrixTiles) -> str:
    """For the file that calls the function of another object."""
    return f"extern void {tiles_name(call)}({', '.join(_parameters(call))});"


def has_tables(kernel: MicroKernel, call: MatrixTiles) -> bool:
    """Whether a call of linked tiles goes by tables of its shapes: they are known, and no tile asks for the next panel."""
    return call.shapes is not None and not call.prefetching and kernel.emit_shape is not None and kernel.reduction_loops == 1


def tiles_by_tables(kernel: MicroKernel, calls: Iterable[MatrixTiles]) -> Iterator[str]:
    """The function of every way in which these calls use a kernel whose shapes are linked."""
    for name, call in {tiles_name(call): call for call in calls}.items():
        pieces = panels_of(kernel, call)
        given = [argument for argument in _arguments(call) if argument not in ("m", "n", "k")]
        fetches = f"{'fetches' if call.software_prefetches else 0}, {call.software_prefetches}"
        arguments = ["panels, m, n, k", *given, fetches]
        text = [*tables(kernel, kernel_name(call), pieces), f"{loops_name(kernel, call)}({', '.join(arguments)});"]
        yield _function(name, call, text)


def tiles_functions(kernel: MicroKernel, calls: Iterable[MatrixTiles], *, by_shape: bool = False) -> Iterator[str]:
    """The function of every way in which these calls use a kernel; `by_shape` if those of its shapes are in the same file."""
    kernel = kernel if by_shape else replace(kernel, of_shape=None)
    for name, call in {tiles_name(call): call for call in calls}.items():
        remark = f"/* Tiles of {kernel.rows} x {kernel.columns}: column panels outside, one stays in L1 while rows pass. */"
        yield f"{remark}\n{_function(name, call, _columns(kernel, call))}"


def _function(name: str, call: MatrixTiles, lines: Iterable[str]) -> str:
    """The definition of a call's function: its constants, then these lines."""
    constants = constants_of(call)
    known = [f"  const long {', '.join(f'{name} = {value}' for name, value in constants.items())};"] if constants else []
    qualifiers = "TW_INLINE" if call.known is not None else "static __attribute__((noinline))"
    head = f"{qualifiers} void {name}({', '.join(_parameters(call))}) {{"
    return "\n".join([head, *known, *(f"  {line}" for line in lines), "}", ""])


def _parameters(call: MatrixTiles) -> list[str]:
    """The parameters of a call's function."""
    constants = constants_of(call)
    free = [f"{_type(call, argument)}{argument}" for argument in _arguments(call) if argument not in constants]
    return [*free, *(["struct tw_fetch *fetches"] if call.software_prefetches else [])]


def tile_loop_helpers(call: MatrixTiles) -> list[Helper]:
    """The helpers that the function of a call needs."""
    return [CURSORS] if call.software_prefetches else []


def tiles_weights(file: CFile, calls: Sequence[MatrixTiles]) -> dict[str, int]:
    """What every function of these calls costs a compiler, in characters."""
    by_name = {tiles_name(call): call for kernel_calls in by_kernel(calls).values() for call in kernel_calls if call in calls}
    return {name: _weight(file.kernels[call.tile.micro_kernel], call, links=file.links_kernels) for name, call in by_name.items()}


def _weight(kernel: MicroKernel, call: MatrixTiles, *, links: bool) -> int:
    if links and not call.inlined and has_tables(kernel, call):
        return TABLE_CHARACTERS
    of_copy = CALL_CHARACTERS if links and not call.inlined else COPY_CHARACTERS
    return of_copy * min(_copies(kernel, call), MOST_INLINED)


def values_of(call: MatrixTiles) -> dict[str, IntegerExpression | View]:
    """What the function of a call is given, by the names of its parameters."""
    (rows, columns, _), roles, left, right = call.sides, call.tile.roles, call.left, call.right
    values: dict[str, IntegerExpression | View] = {"m": rows.size, "n": columns.size, "k": _depth(call)}
    values |= {"a": left, "a_row": left.stride(roles.row), "a_column": left.stride(roles.depth)}
    values |= {"b": right, **dict(zip(("b_panel", "b_row"), right_steps(call), strict=True))}
    for i, (steps, *moved) in enumerate(loops_around(call), 1):
        values |= {f"k_{i}": steps, f"a_step_{i}": moved[0], f"b_step_{i}": moved[1]}
    values |= {"c": call.write, "c_row": call.write.stride(roles.row), "accumulate": call.accumulate}
    if call.ahead is not None:
        values |= {"ahead": call.ahead, "ahead_row": call.ahead.stride(roles.depth)}
    return values | _operand_values(call)


def _operand_values(call: MatrixTiles) -> dict[str, IntegerExpression | View]:
    values: dict[str, IntegerExpression | View] = {}
    for i, operand in enumerate(call.operands):
        row, _ = operand_steps(call, operand)
        values |= {f"e{i}": operand.view, **({f"e{i}_row": row} if row != 0 else {})}
    return values


def _depth(call: MatrixTiles) -> IntegerExpression:
    """The steps of a sum; 0 where a loop around them is empty."""
    ranges, (_, _, depth) = dict(call.box), call.sides
    around = outer_reductions(call.operator, call.tile.roles)
    return 0 if any(ranges[axis].size == 0 for axis in around) else depth.size


def right_steps(call: MatrixTiles) -> tuple[IntegerExpression, IntegerExpression]:
    """Elements of B between panels of the micro kernel's columns, and between steps of the depth: between groups of interleaved
    ones, or between columns where the micro kernel reads them so."""
    right, tile = call.right, call.tile
    if right.panels is not None:
        return right.panels.stride, right.panels.row
    apart = right.stride(tile.roles.column if tile.right_by_columns else tile.roles.depth)
    return tile.columns * apart if tile.right_by_columns else tile.columns, apart


def loops_around(call: MatrixTiles) -> list[tuple[IntegerExpression, IntegerExpression, IntegerExpression]]:
    """Steps, and elements from one to the next in A and in B, of every reduction loop of the micro kernel around the depth,
    innermost first; those that it has more pass once."""
    ranges, count = dict(call.box), call.tile.reduction_loops - 1
    passing = [axis for axis in outer_reductions(call.operator, call.tile.roles) if ranges[axis].size != 1] if count else []
    loops = [(ranges[axis].size, call.left.stride(axis), call.right.stride(axis)) for axis in passing]
    return [*loops, *[(1, 0, 0)] * (count - len(loops))]


def _arguments(call: MatrixTiles) -> dict[str, str]:
    values = values_of(call).items()
    return {name: pointer(of.buffer, of.offset) if isinstance(of, View) else to_c(of) for name, of in values}


def _type(call: MatrixTiles, argument: str) -> str:
    value = values_of(call)[argument]
    return f"{'const ' * (argument != 'c')}{C_TYPES[value.dtype]} *" if isinstance(value, View) else "long "


def constants_of(call: MatrixTiles) -> dict[str, int]:
    """What is known of a call. Strides of a product of a known A are given all the same: all layers share its function."""
    given = OF_LAYERS if call.known is not None else ()
    return {name: value for name, value in values_of(call).items() if isinstance(value, int) and name not in given}


def _tag(name: str) -> str:
    return "".join(part[0] for part in name.split("_"))


def _sizes(call: MatrixTiles) -> tuple[set[int], set[int]]:
    shapes = call.shapes or frozenset()
    return {rows for rows, _ in shapes}, {columns for _, columns in shapes}


def _copies(kernel: MicroKernel, call: MatrixTiles) -> int:
    if call.shapes is None:
        return len({(m, -(-n // kernel.lanes)) for m, n in tile_shapes(kernel, call)})
    rows, columns = _sizes(call)
    return sum(len(_pieces(rows, kernel.rows_for(piece))) for piece in _pieces(columns, kernel.columns))


def _pieces(sizes: set[int], tile: int) -> list[int]:
    """The sizes of the pieces that a tile cuts any of these sizes into, the whole tile first.

    >>> _pieces({24, 8}, 6)
    [6, 2]
    """
    return sorted({part for size in sizes for part in ({tile} if size >= tile else set()) | ({size % tile} - {0})}, reverse=True)


def panels_of(kernel: MicroKernel, call: MatrixTiles) -> list[tuple[int, list[int]]]:
    """The columns of panels, and the rows of the tiles of each."""
    rows, columns = _sizes(call)
    return [(piece, _pieces(rows, kernel.rows_for(piece))) for piece in _pieces(columns, kernel.columns)]


def _columns(kernel: MicroKernel, call: MatrixTiles) -> Iterator[str]:
    rows, columns = _sizes(call)
    step = kernel.columns
    if call.shapes is None:
        yield f"for (long j = 0; j < n; j += {step}, b += b_panel) {{"
        yield from (f"  {line}" for line in _rows_of_any_shape(kernel, call))
        yield "}"
        return
    yield "long j = 0;"
    for piece in _pieces(columns, step):
        whole = piece == step
        yield f"for (; j + {step} <= n; j += {step}, b += b_panel) {{" if whole else f"if (n - j == {piece}) {{"
        yield from (f"  {line}" for line in _panel(kernel, call, _pieces(rows, kernel.rows_for(piece)), piece))
        yield "}"


def _panel(kernel: MicroKernel, call: MatrixTiles, pieces: list[int], columns: int) -> Iterator[str]:
    """All rows over a panel; where tiles ask for what comes next, over one slice of it after the other."""
    if not call.panel_slice_steps:
        yield from _rows(kernel, call, pieces, columns)
        return
    depth, count = known_depth(call), _slices(call)
    steps = call.panel_slice_steps
    yield "long p = 0;"
    if count > 1:
        yield f"for (; p < {(count - 1) * steps}; p += {steps}) {{"
        yield from (f"  {line}" for line in _rows(kernel, replace(call, epilogue=None), pieces, columns, steps))
        yield "}"
    yield "{"
    yield from (f"  {line}" for line in _rows(kernel, call, pieces, columns, depth - (count - 1) * steps))
    yield "}"


def _slices(call: MatrixTiles) -> int:
    """How many slices a panel is read in."""
    return -(-known_depth(call) // call.panel_slice_steps)


def known_depth(call: MatrixTiles) -> int:
    """The steps of a sum whose tiles prefetch panels."""
    depth = _depth(call)
    assert isinstance(depth, int), "tiles that prefetch panels have a known depth"
    return depth


def _rows(kernel: MicroKernel, call: MatrixTiles, pieces: list[int], columns: int, steps: int = 0) -> Iterator[str]:
    """All rows over a panel, or over the slice of so many steps from `p` on."""
    yield "long i = 0;"
    for piece in pieces:
        whole = piece == kernel.rows_for(columns)
        tile = _tile_of_slice(kernel, call, piece, columns, steps) if steps else _tile_of(kernel, call, piece, columns)
        head = f"for (; i + {piece} <= m; i += {piece})" if whole else f"if (m - i == {piece})"
        yield f"{head} {{" if call.software_prefetches else head
        yield f"  {tile}"
        yield from [f"  tw_advance(fetches, {call.software_prefetches});", "}"] if call.software_prefetches else []


def _row_step(kernel: MicroKernel, call: MatrixTiles, columns: int) -> int:
    """Rows of a tile of so many columns where shapes are known at run time: one panel that is all there is may be narrow and
    tall; more than that many shapes would only take time to compile."""
    most = call.sides[1].most
    return kernel.rows_for(columns) if most is not None and most <= kernel.columns else kernel.rows


def _rows_of_any_shape(kernel: MicroKernel, call: MatrixTiles) -> Iterator[str]:
    steps = {-(-n // kernel.lanes): _row_step(kernel, call, n) for n in call.sides[1].pieces(kernel.columns)}
    step = str(max(steps.values(), default=kernel.rows))
    if len(set(steps.values())) > 1:
        lanes, vectors = kernel.lanes, kernel.columns // kernel.lanes
        yield f"const long step = {kernel.rows * vectors} / ((tw_min(n - j, {kernel.columns}) + {lanes - 1}) / {lanes});"
        step = "step"
    rows, columns, _ = call.sides
    tile = _tile(call, _piece(rows, "m - i", step), _piece(columns, "n - j", str(kernel.columns)))
    yield from (f"for (long i = 0; i < m; i += {step})", f"  {tile}")


def _piece(size: Range, rest: str, tile: str) -> str:
    """The size of the next piece of a range."""
    is_one = size.sizes == frozenset({1}) or size.most == 1
    return "1" if is_one else f"tw_min({rest}, {tile})"


def _tile(call: MatrixTiles, rows: str, columns: str) -> str:
    """A tile of a shape that is known at run time."""
    product = f"{_product(call)}, {rows}, {columns}, accumulate"
    return f"{kernel_name(call)}({', '.join([product, *_epilogue_arguments(call)])});"


def _product(call: MatrixTiles) -> str:
    """What a tile sums over and works on, as the ABI orders it."""
    loops = range(1, call.tile.reduction_loops)
    if not loops:
        return f"k, {OPERANDS}"
    count, of_a, of_b = (", ".join(f"{name}_{i}" for i in loops) for name in ("k", "a_step", "b_step"))
    return f"k, {count}, a + i * a_row, a_row, a_column, {of_a}, b, b_row, {of_b}, c + i * c_row + j, c_row"


def _tile_of(kernel: MicroKernel, call: MatrixTiles, rows: int, columns: int) -> str:
    asked = _asked_rows(kernel, call, call.ahead, columns) if call.ahead is not None else ()
    return _shaped(kernel, call, (rows, columns), _product(call), "accumulate", (*_epilogue_arguments(call), *asked))


def _asked_rows(kernel: MicroKernel, call: MatrixTiles, ahead: View, columns: int) -> tuple[str, str, str]:
    """What tiles ask for of the rows ahead: of every group of steps the first tile for the first row, the next one for the
    second, and those after the last row for none; rows may begin within lines."""
    step, line, row = kernel.rows_for(columns), line_elements(call), ahead.stride(call.tile.roles.depth)
    lines = -(-columns // line) + (not isinstance(row, int) or row % line != 0)
    first, last = f"ahead + j + i / {step} * ahead_row", PREFETCH_STEPS * step
    return first, f"{PREFETCH_STEPS} * ahead_row", f"i < {last} ? {lines} : 0"


def line_elements(call: MatrixTiles) -> int:
    """Elements of B in a cache line."""
    return LINE_BYTES // element_bytes(call.right.dtype)


def _shaped(
    kernel: MicroKernel, call: MatrixTiles, shape: tuple[int, int], product: str, accumulate: str, more: Iterable[str]
) -> str:
    """A tile of a shape that is known: by the function of that shape where there is one."""
    name = kernel_name(call)
    if kernel.of_shape is None:
        return f"{name}({', '.join([product, *map(str, shape), accumulate, *more])});"
    source, last = kernel.of_shape(name, *shape)
    return f"{source}({', '.join([product, accumulate, *more, *last])});"


def _tile_of_slice(kernel: MicroKernel, call: MatrixTiles, rows: int, columns: int, steps: int) -> str:
    """A tile over a slice, which asks for its share of the next one: what lies behind a panel is the next panel."""
    step, line = kernel.rows_for(columns), line_elements(call)
    lines, at_once = lines_of_tile(steps, kernel.columns, max(_sizes(call)[0]), step, line)
    left, right = "a + i * a_row + p * a_column, a_row, a_column", "b + p * b_row, b_row"
    product = f"{steps}, {left}, {right}, c + i * c_row + j, c_row"
    asked = (f"b + (p + {steps}) * b_row + i / {step} * {lines * line}", str(at_once * line), str(at_once))
    return _shaped(kernel, call, (rows, columns), product, "accumulate || p", (*_epilogue_arguments(call), *asked))


def lines_of_tile(steps: int, columns: int, rows: int, step: int, line: int) -> tuple[int, int]:
    """What a tile of so many rows asks for of the next slice of a panel, of which the tiles of all rows take equal shares: lines
    of so many elements, and how many of them before every group of steps."""
    lines = -(-steps * columns // (line * -(-rows // step)))
    return lines, -(-lines * PREFETCH_STEPS // steps)


def _epilogue_arguments(call: MatrixTiles) -> Iterator[str]:
    """Where a tile finds the operands of the epilogue."""
    for i, operand in enumerate(call.operands):
        row, moves = operand_steps(call, operand)
        yield f"e{i}{f' + i * e{i}_row' if row != 0 else ''}{' + j' if moves else ''}"
        yield from [f"e{i}_row"] if row != 0 else []
