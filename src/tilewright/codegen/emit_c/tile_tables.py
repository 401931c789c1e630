"""C text of loops over linked micro tiles: one function for all calls whose kernels take like arguments, and tables of shapes.

The function of a call names the functions of its tile shapes in tables, and passes these on with its extents and strides. The
loops know no numbers: they are a translation unit of their own, and all libraries of a machine share what is compiled of it.
Loops for every call would cost a compiler 10 to 30 ms each (GCC 12); an indirect call costs a machine as much as a direct one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.codegen.emit_c.c_text import function, indent
from tilewright.codegen.emit_c.epilogues import kernel_epilogue
from tilewright.codegen.emit_c.software_prefetch import CURSORS
from tilewright.codegen.loop_nest import KernelCall, TileOperand
from tilewright.kernels.contract import KernelSource, MicroKernel, SourceKind, matrix_parameters, stored_types
from tilewright.kernels.element_access import C_TYPES, suffix
from tilewright.kernels.translation_units import WEAK

DECLARATIONS = """\
typedef void tw_tile(void);
struct tw_panel {
  long columns, last, step; /* of C; of them in the last vector, 0 if it is whole; rows of the largest tile */
  tw_tile *const *of_rows;  /* the function of step rows stands at step - 1 */
};
struct tw_fetch;
"""
"""The shapes that a call uses: its panels, the widest first."""
VOCABULARY = "#define TW_INLINE static inline __attribute__((always_inline, unused))\n"
LOOPS = (
    "for (long j = 0; j < n; j += panel->columns, b += b_panel) {",
    "  while (n - j < panel->columns)",
    "    panel++;",
    "  for (long i = 0, rows; i < m; i += rows) {",
    "    rows = m - i < panel->step ? m - i : panel->step;",
)


def loops_name(kernel: MicroKernel, call: KernelCall) -> str:
    """The function that loops over tiles, by the types of operands and what the epilogue takes."""
    stored = stored_types(kernel.element_types, kernel_epilogue(call))
    types = [] if set(stored) == {"float32"} else list(stored)
    operands = ("".join(["r" * (o.row != 0), "c" * o.has_columns, suffix(o.view.dtype)]) or "x" for o in _operands(call))
    return "_".join(["tw_tiles", *types, *operands])


def loops_source(kernel: MicroKernel, call: KernelCall) -> KernelSource:
    """Its translation unit."""
    lines = [*LOOPS, *indent(list(_tile(kernel, call))), "  }", "}"]
    text = "\n".join([VOCABULARY, CURSORS.text, DECLARATIONS, function(f"{WEAK} {loops_signature(kernel, call)}", lines)])
    return KernelSource(SourceKind.C, text, joins=True)


def loops_signature(kernel: MicroKernel, call: KernelCall) -> str:
    """Its C signature."""
    left, right, result = (C_TYPES[of] for of in stored_types(kernel.element_types, kernel_epilogue(call)))
    parameters = [
        "const struct tw_panel *panel, long m, long n, long k",
        f"const {left} *a, long a_row, long a_column",
        f"const {right} *b, long b_panel, long b_row",
        f"{result} *c, long c_row, long accumulate",
        *(
            f"const {C_TYPES[o.view.dtype]} *e{i}{f', long e{i}_row' if o.row != 0 else ''}"
            for i, o in enumerate(_operands(call))
        ),
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


def _tile(kernel: MicroKernel, call: KernelCall) -> Iterator[str]:
    """The call of a tile, by the signature of its shape; with the number of columns of the last vector if that is in part."""
    stored = stored_types(kernel.element_types, kernel_epilogue(call))
    product = "k, a + i * a_row, a_row, a_column, b, b_row, c + i * c_row + j, c_row, accumulate"
    more, types = ([product], [c_type for name, c_type in matrix_parameters(stored).items() if name not in ("m", "n")])
    for i, operand in enumerate(_operands(call)):
        has_rows = operand.row != 0
        more += [f"e{i}{f' + i * e{i}_row' if has_rows else ''}{' + j' if operand.has_columns else ''}"]
        more += [f"e{i}_row"] if has_rows else []
        types += [f"const {C_TYPES[operand.view.dtype]} *", *(["long "] if has_rows else [])]
    given, whole = ", ".join(more), ", ".join(map(str.strip, types))
    yield "  tw_tile *const tile = panel->of_rows[rows - 1];"
    yield "  if (panel->last)"
    yield f"    ((void (*)({whole}, long))tile)({given}, panel->last);"
    yield "  else"
    yield f"    ((void (*)({whole}))tile)({given});"
    yield "  tw_advance(fetches, fetch_count);"


def _operands(call: KernelCall) -> tuple[TileOperand, ...]:
    return call.epilogue.operands if call.epilogue is not None else ()
