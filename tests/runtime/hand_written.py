"""An artifact written by hand: e[i] = (sum over j of a[i, j] * b[j], a[i, 0]), with scratch, workspace and a parallel region."""

from __future__ import annotations

import platform

from tilewright.artifact import CONTEXT_DECLARATION, Artifact
from tilewright.entry_point import Signature, Symbol, TensorSlot
from tilewright.kernel_source import KernelSource

TEXT = (
    CONTEXT_DECLARATION
    + """
#define EXPORT __attribute__((visibility("default")))
struct arguments { const float *a; float *b, *e; const long *sizes; };

static void rows(void *argument, struct tw_blocks *blocks, char *scratch) {
  struct arguments *x = argument;
  float *row = (float *)scratch;
  const long *s = x->sizes, *strides = s + 2;
  for (long i; (i = blocks->next(blocks)) >= 0;) {
    float sum = 0;
    for (long j = 0; j < s[1]; j++)
      row[j] = x->a[i * strides[0] + j];
    for (long j = 0; j < s[1]; j++)
      sum += row[j] * x->b[j];
    x->e[i * strides[3]] = sum;
    x->e[i * strides[3] + strides[4]] = s[1] ? row[0] : 0;
  }
}

EXPORT long dot_workspace_bytes(const long *sizes) { return sizes[1] * 4; }

EXPORT void dot(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace) {
  struct arguments x = {tensors[0], (float *)workspace, tensors[2], sizes};
  for (long j = 0; j < sizes[1]; j++)
    x.b[j] = ((const float *)tensors[1])[j * sizes[4]];
  context->parallel_for(context->pool, rows, &x, sizes[0], sizes[1] * 4, 1L << 30);
}
"""
)

SIGNATURE = Signature(
    symbols=(Symbol("n", 0, 1000), Symbol("k", 0, 300)),
    inputs=(TensorSlot("a", "float32", ("n", "k"), unit_stride_dim=1), TensorSlot("b", "float32", ("k",))),
    outputs=(TensorSlot("e", "float32", ("n", 2)),),
)


def dot(text: str = TEXT, linked: tuple[KernelSource, ...] = ()) -> Artifact:
    """The artifact; `text` may be varied to get another key."""
    return Artifact("dot", text, linked, platform.machine(), frozenset(), SIGNATURE)


def elementwise(dtype: str, c_type: str, expression: str) -> Artifact:
    """e[i] = expression of x, for one dimension."""
    text = f"""{CONTEXT_DECLARATION}
#define EXPORT __attribute__((visibility("default")))
EXPORT long map_workspace_bytes(const long *sizes) {{ return 0; }}
EXPORT void map(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace) {{
  for (long i = 0; i < sizes[0]; i++) {{
    {c_type} x = (({c_type} *)tensors[0])[i * sizes[1]];
    (({c_type} *)tensors[1])[i * sizes[2]] = {expression};
  }}
}}
"""
    slots = [TensorSlot(name, dtype, ("n",)) for name in ("x", "e")]
    signature = Signature((Symbol("n", 0, 1 << 40),), (slots[0],), (slots[1],))
    return Artifact("map", text, (), platform.machine(), frozenset(), signature)
