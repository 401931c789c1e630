"""The memory accesses of generated code, as a program: the same C text, compiled with another vocabulary.

`emit_trace` gives C whose loops, conditions, packing and vector loops are those of `render.c`, word by word, but whose vectors
hold nothing and whose loads and stores only note the cache lines that they touch. Micro kernels, which may come as assembly or
objects, are replaced by what their contract makes them access: for every step of K the lines of a row of B, then the elements
of A row by row; at the end the rows of C, read if accumulated, and written. No address is ever dereferenced, so no tensor
needs memory.

A touch is one 64-bit word: bit 0 for a write, then the line, and from bit `49 - log2(line_bytes)` upwards the buffer, numbered
from 1. Buffers are told apart by the upper 16 bits of their addresses (`tag`); the lower 48 are where they lie.

What is combined: a touch of the line that was touched last, if it is not the first write to it (this changes no cache); and,
unless `every_step` is asked for, steps of K in which a row of A stays in its line (the line then counts as used when it was
entered). Stack slots of gathers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from tests.oracles.traced_helpers import traced
from tilewright.artifact import Signature
from tilewright.block.loop_nest import WORD_BYTES, LoopNest, PackedConstant
from tilewright.c_text.names import buffer_name
from tilewright.c_text.scalar_expressions import kernel_epilogue
from tilewright.kernels.contract import Along, Epilogue, MicroKernel, matrix_abi
from tilewright.kernels.dialects.vocabulary import lanes_text, row_unroll_text
from tilewright.kernels.element_access import suffix
from tilewright.kernels.functions.vector_functions import VECTOR_FUNCTIONS
from tilewright.kernels.helpers import texts
from tilewright.render.c.c_file import DECLARATIONS, Argument, File
from tilewright.render.c.library import chains_and_entry, helpers
from tilewright.render.c.nest import kernel_calls
from tilewright.render.c.program import Program, c_file
from tilewright.render.c.tile_loops import by_kernel, tiles_functions

TAG_SHIFT = 48
ENTRY_POINT = "tw_trace"


@dataclass(frozen=True, slots=True)
class Trace:
    """C text that replays a program's accesses on one thread, blocks in order. It imports no symbol.

    `buffers` names what is told apart, in the order of numbers from 1: inputs, constants and outputs, tensors between chains,
    then the scratch buffers and the packed constants of every chain. The ABI:

        typedef void tw_sink(void *state, const unsigned long *touches, long count);
        void tw_trace(tw_sink *sink, void *state, void *const *tensors, const long *sizes, char *workspace, char *constants,
                      char *scratch);
        long tilewright_run_workspace_bytes(const long *sizes);

    `tensors` are tagged addresses (see `tag`), `sizes` those of the artifact's ABI, the rest plain addresses. Packed constants
    take `constant_bytes`; what packs them is not traced.
    It is not reentrant.
    """

    text: str
    signature: Signature
    buffers: tuple[str, ...]
    line_bytes: int
    constant_bytes: int

    @property
    def buffer_shift(self) -> int:
        """The lowest bit of a touch that belongs to the buffer's number."""
        return TAG_SHIFT + 1 - _shift(self.line_bytes)


def tag(number: int) -> int:
    """What is added to every address in buffer `number`."""
    return number << TAG_SHIFT


def emit_trace(program: Program, *, line_bytes: int = 64, every_step: bool = False) -> Trace:
    """The trace of a lowered program; with `every_step` rows of A are touched at every step of K."""
    slots = (*program.signature.inputs, *program.signature.outputs)
    between = [buffer_name(buffer) for buffer, _ in program.workspace.places]
    scratch = [(nest.name, buffer_name(buffer.name)) for nest in program.nests for buffer in nest.buffers]
    packed = [(nest.name, buffer_name(constant.buffer.name)) for nest in program.nests for constant in nest.constants]
    first = len(slots) + 1
    tensor_tags = {tensor: tag(first + i) for i, tensor in enumerate(between)}
    buffer_tags = {place: tag(first + len(between) + i) for i, place in enumerate((*scratch, *packed))}
    apart = replace(program, nests=tuple(replace(nest, structure=None) for nest in program.nests))  # each has buffers of its own
    file = _with_tags(c_file(apart), program.constants, tensor_tags, buffer_tags)
    text = "\n".join(
        [
            _vocabulary(program.dialect.lanes, line_bytes),
            DECLARATIONS,
            *texts(traced(helpers(file))),
            *_kernels(program, every_step),
            *(_with_buffer_tags(text, buffer_tags) for text in chains_and_entry(file)),
            ENTRY.format(entry_point=file.entry_point),
        ]
    )
    names = [f"{nest}.{buffer}" if len(program.nests) > 1 else buffer for nest, buffer in (*scratch, *packed)]
    buffers = (*(slot.name for slot in slots), *between, *names)
    return Trace(text, program.signature, buffers, line_bytes, sum(map(_constant_bytes, program.constants)))


def _with_tags(
    file: File, packed: Sequence[PackedConstant], tensors: Mapping[str, int], buffers: Mapping[tuple[str, str], int]
) -> File:
    """The file whose arguments are tagged: tensors between chains, and packed constants, which lie one after the other."""
    ends = accumulate(map(_constant_bytes, packed), initial=0)
    constants = dict(zip((buffer_name(constant.buffer.name) for constant in packed), ends, strict=False))

    def tagged(nest: LoopNest, argument: Argument) -> Argument:
        pointer = argument.pointer
        if pointer.startswith("workspace"):
            pointer = f"{pointer} + {tensors[argument.name]}"
        elif "constants" in pointer:
            place = constants[argument.name] + buffers[nest.name, argument.name]
            pointer = f"(char *)context->constants + {place}"
        return replace(argument, pointer=pointer)

    nests = ((nest, tuple(tagged(nest, argument) for argument in arguments)) for nest, arguments in file.nests)
    return replace(file, nests=tuple(nests))


def _constant_bytes(constant: PackedConstant) -> int:
    """What it takes on cache lines of its own."""
    size = constant.buffer.size_words
    assert isinstance(size, int)
    return size * WORD_BYTES


def _with_buffer_tags(text: str, tags: Mapping[tuple[str, str], int]) -> str:
    """The text of a routine whose scratch buffers are tagged."""
    nest = re.search(r"^static void (\w+)_task\(", text, re.MULTILINE)
    for (of, buffer), tag in tags.items():
        if nest is not None and of == nest[1]:
            text = re.sub(rf"(\*const {buffer} = \([\w ]+ \*\)\(scratch \+ )", rf"\g<1>{tag} + ", text)
    return text


def _kernels(program: Program, every_step: bool) -> Iterator[str]:
    calls = [call for nest in program.nests for call in kernel_calls(nest)]
    for name, named_calls in by_kernel(calls).items():
        kernel = program.kernels[named_calls[0].kernel]
        epilogue = kernel_epilogue(named_calls[0])
        declaration = kernel.signature(name, epilogue, prefetching=named_calls[0].prefetching)
        if kernel.reduction_loops > 1:
            yield _kernel(kernel, matrix_abi(f"{name}_steps"), None, every_step)
            yield NESTED_KERNEL.format(declaration=declaration, steps=f"{name}_steps", ends=_ends(epilogue))
        else:
            yield _kernel(kernel, declaration, epilogue, every_step)
        yield from tiles_functions(kernel, [call for call in named_calls if call in calls])


def _kernel(kernel: MicroKernel, declaration: str, epilogue: Epilogue | None, every_step: bool) -> str:
    stays, rows = "0" if every_step else "line == seen[i]", kernel.rows_for(1)
    right = RIGHT_BY_COLUMNS if kernel.right_by_columns else RIGHT_BY_ROWS
    if kernel.interleave > 1:
        right = {name: text.format(h=kernel.interleave) for name, text in RIGHT_IN_GROUPS.items()}
    return KERNEL.format(declaration=declaration, rows=rows, stays=stays, ends=_ends(epilogue), **right)


def _ends(epilogue: Epilogue | None) -> str:
    """What a tile touches at its end beside the result."""
    return "".join(_operand_touches(f"e{i}", along) for i, along in enumerate(epilogue.operands)) if epilogue is not None else ""


def _operand_touches(name: str, along: Along) -> str:
    """An operand of the epilogue, once for every row of the tile."""
    row = f" + i * {name}_row" if along.rows else ""
    load = f"tw_load_part{suffix(along.element_type)}({name}{row}, {'n' if along.columns else '1'})"
    return f"  for (long i = 0; i < m; i++)\n    (void){load};\n"


def _vocabulary(lanes: int, line_bytes: int) -> str:
    functions = " ".join(f"TW_ONE(tw_{name}) TW_ROWS_OF(tw_{name})" for name in (*VECTOR_FUNCTIONS, "exp2_down"))
    text = VOCABULARY.replace("@LANES@", str(lanes)).replace("@SHIFT@", str(_shift(line_bytes)))
    return row_unroll_text() + lanes_text(lanes) + text.replace("@FUNCTIONS@", functions)


def _shift(line_bytes: int) -> int:
    shift = line_bytes.bit_length() - 1
    assert line_bytes == 1 << shift, f"lines of {line_bytes} bytes"
    return shift


VOCABULARY = """\
typedef unsigned long tw_word;
typedef void tw_sink(void *state, const tw_word *touches, long count);
#define TW_INLINE static inline __attribute__((always_inline, unused))
#define TW_LANES @LANES@
#define TW_LINE_SHIFT @SHIFT@
#define TW_TOUCHES 4096

static tw_word tw_touches[TW_TOUCHES];
static long tw_count;
static tw_word tw_last;
static tw_sink *tw_current_sink;
static void *tw_state;

static void tw_drain(void) {
  tw_current_sink(tw_state, tw_touches, tw_count);
  tw_count = 0;
}
TW_INLINE void tw_touch_line(tw_word line, tw_word write) {
  const tw_word touch = line << 1 | write;
  if (touch == tw_last || (touch | 1) == tw_last)
    return;
  tw_last = touch;
  tw_touches[tw_count++] = touch;
  if (tw_count == TW_TOUCHES)
    tw_drain();
}
TW_INLINE tw_word tw_line(const void *p) { return (tw_word)p >> TW_LINE_SHIFT; }
TW_INLINE void tw_touch_span(const void *p, long bytes, tw_word write) {
  if ((tw_word)p >> 48 == 0) /* the stack */
    return;
  for (tw_word line = tw_line(p); bytes > 0 && line <= tw_line((const char *)p + bytes - 1); line++)
    tw_touch_line(line, write);
}
TW_INLINE void tw_touch(const float *p, long n, tw_word write) { tw_touch_span(p, n * (long)sizeof(float), write); }

typedef float tw_vec;
typedef int tw_mask;
TW_INLINE void tw_prefetch(const float *p) { (void)p; }
TW_INLINE float tw_read(const float *p) { tw_touch(p, 1, 0); return 0.0f; }
TW_INLINE tw_vec tw_load(const float *p) { tw_touch(p, TW_LANES, 0); return 0.0f; }
TW_INLINE void tw_store(float *p, tw_vec v) { (void)v; tw_touch(p, TW_LANES, 1); }
TW_INLINE void tw_stream(float *p, tw_vec v) { tw_store(p, v); }
TW_INLINE void tw_fence(void) {}
TW_INLINE tw_vec tw_load_part(const float *p, long n) { tw_touch(p, n, 0); return 0.0f; }
TW_INLINE void tw_store_part(float *p, tw_vec v, long n) { (void)v; tw_touch(p, n, 1); }
TW_INLINE tw_vec tw_load_strided(const float *p, long stride, long n) {
  for (long i = 0; i < n; i++)
    tw_touch(p + i * stride, 1, 0);
  return 0.0f;
}
TW_INLINE void tw_store_strided(float *p, long stride, tw_vec v, long n) {
  (void)v;
  for (long i = 0; i < n; i++)
    tw_touch(p + i * stride, 1, 1);
}
#define TW_ONE(name) TW_INLINE tw_vec name(tw_vec v) { return v; }
#define TW_TWO(name) TW_INLINE tw_vec name(tw_vec a, tw_vec b) { return a + b; }
#define TW_COMPARISON(name) TW_INLINE tw_mask name(tw_vec a, tw_vec b) { return a < b; }
TW_ONE(tw_splat) TW_ONE(tw_sqrt) TW_ONE(tw_abs) TW_ONE(tw_floor)
TW_ONE(tw_reduce_add) TW_ONE(tw_reduce_multiply) TW_ONE(tw_reduce_maximum) TW_ONE(tw_reduce_minimum)
TW_ONE(tw_reduce_larger) TW_ONE(tw_reduce_smaller)
#define TW_ROWS_OF(name) TW_INLINE void name##_rows(tw_vec *v) { (void)v; }
TW_ROWS_OF(tw_reduce_add) TW_ROWS_OF(tw_reduce_multiply) TW_ROWS_OF(tw_reduce_maximum) TW_ROWS_OF(tw_reduce_minimum)
TW_ROWS_OF(tw_reduce_larger) TW_ROWS_OF(tw_reduce_smaller)
@FUNCTIONS@
TW_TWO(tw_maximum) TW_TWO(tw_minimum) TW_TWO(tw_larger) TW_TWO(tw_smaller)
TW_INLINE tw_vec tw_multiply_add(tw_vec a, tw_vec b, tw_vec c) { return a + b + c; }
TW_INLINE double tw_multiply_add_float64(double a, double b, double c) { return a + b + c; }
TW_COMPARISON(tw_less) TW_COMPARISON(tw_less_equal) TW_COMPARISON(tw_greater)
TW_COMPARISON(tw_greater_equal) TW_COMPARISON(tw_equal) TW_COMPARISON(tw_not_equal)
TW_INLINE tw_vec tw_where(tw_mask mask, tw_vec a, tw_vec b) { return mask ? a : b; }
TW_INLINE tw_vec tw_first(tw_vec a, tw_vec b, long n) { return n ? a : b; }
TW_INLINE tw_vec tw_iota(void) { return 0.0f; }
TW_INLINE void tw_transpose(tw_vec *v) { (void)v; }
"""

KERNEL = """\
static {declaration} {{
  tw_word seen[{rows}];
  for (long i = 0; i < m; i++)
    seen[i] = 0;
  for (long p = 0; p < k; p++, a += a_column, b += {step}) {{
    {touches}
    for (long i = 0; i < m; i++) {{
      const tw_word line = tw_line(a + i * a_row);
      if ({stays})
        continue;
      seen[i] = line;
      tw_touch_line(line, 0);
    }}
  }}
  for (long i = 0; i < m && accumulate; i++)
    tw_touch_span(c + i * c_row, n * sizeof *c, 0);
{ends}  for (long i = 0; i < m; i++)
    tw_touch_span(c + i * c_row, n * sizeof *c, 1);
}}
"""
NESTED_KERNEL = """\
static {declaration} {{
  for (long q_2 = 0; q_2 < k_2; q_2++)
    for (long q_1 = 0; q_1 < k_1; q_1++)
      {steps}(k, a + q_1 * a_step_1 + q_2 * a_step_2, a_row, a_column, b + q_1 * b_step_1 + q_2 * b_step_2, b_row, c, c_row, m, n,
        accumulate || q_1 || q_2);
{ends}}}
"""
"""Of three reduction loops, as calls for every point of the outer ones."""
RIGHT_BY_ROWS = {"step": "b_row", "touches": "tw_touch_span(b, n * sizeof *b, 0);"}
RIGHT_IN_GROUPS = {"step": "p % {h} == {h} - 1 ? b_row : 0", "touches": "tw_touch_span(b, n * {h} * sizeof *b, 0);"}
RIGHT_BY_COLUMNS = {"step": "1", "touches": "for (long j = 0; j < n; j++) tw_touch_span(b + j * b_row, sizeof *b, 0);"}

ENTRY = """\
struct tw_in_order {{
  struct tw_blocks blocks;
  long next, count;
}};
static long tw_next_in_order(struct tw_blocks *blocks) {{
  struct tw_in_order *order = (struct tw_in_order *)blocks;
  return order->next < order->count ? order->next++ : -1;
}}
static void tw_run_in_order(void *pool, void (*task)(void *argument, struct tw_blocks *blocks, char *scratch), void *argument,
                            long count, long scratch_bytes, long expected_ns) {{
  struct tw_in_order order = {{{{tw_next_in_order}}, 0, count}};
  (void)scratch_bytes, (void)expected_ns;
  if (count > 0)
    task(argument, &order.blocks, pool);
}}
__attribute__((visibility("default"))) void tw_trace(tw_sink *sink, void *state, void *const *tensors, const long *sizes,
                                                     char *workspace, char *constants, char *scratch) {{
  const struct tw_context context = {{scratch, tw_run_in_order, (const char *const *)constants, 0}};
  tw_current_sink = sink;
  tw_state = state;
  tw_count = 0;
  tw_last = 0;
  {entry_point}(&context, tensors, sizes, workspace);
  tw_drain();
}}
"""
