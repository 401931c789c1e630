"""Attention and two linear layers as operators of torch: one kernel each, eagerly and in graphs that any backend compiles.

`tilewright::attention` and `tilewright::mlp` are custom operators with fake implementations: `torch.compile` with any backend,
`torch.export` and `make_fx` keep them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from tilewright.api import torch_internals as internals
from tilewright.api.jit import jit
from tilewright.api.torch_operators.calls import check_no_tangents, no_gradient
from tilewright.errors import DTypeError, ShapeError, TilewrightError
from tilewright.frontend.tracing import functions
from tilewright.frontend.tracing.attention import scaled_dot_product_attention

ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "none": lambda x: x,
        "relu": functions.relu,
        "gelu": functions.gelu,
        "gelu_tanh": lambda x: functions.gelu(x, approximate="tanh"),
        "silu": functions.silu,
        "sigmoid": functions.sigmoid,
        "tanh": functions.tanh,
    }
)
"""By name in calls of `mlp`."""
PLAIN = (torch.Tensor, torch.nn.Parameter)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
"""What the kernels take; sums are of float32."""


def attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top-left",
    window: int | tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    key_lengths: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """`tilewright.scaled_dot_product_attention` of tensors: q (..., m, k), k (..., l, k), v (..., l, n) give (..., m, n).

    The arguments and their meaning are the same there: masks of truth values or numbers, `is_causal` with both alignments,
    `window`, `softcap`, `key_lengths`, `scale`, and groups of heads. Queries without keys give 0.

    An operator of torch, `torch.ops.tilewright.attention`, which any backend of torch.compile keeps as it is. Tensors have one
    type of float32, bfloat16 and float16. Raises `UnsupportedOperation` where a gradient is wanted, `DTypeError` for other
    types and `ShapeError` for shapes that do not fit.

    >>> q, k, v = torch.zeros(2, 4, 3, 8), torch.zeros(2, 2, 5, 8), torch.ones(2, 2, 5, 6)
    >>> attention(q, k, v, is_causal=True, enable_gqa=True).shape
    torch.Size([2, 4, 3, 6])
    """
    _check("attention", {"q": q, "k": k, "v": v}, {"attn_mask": attn_mask})
    left, right = window if isinstance(window, tuple | list) else (window, window)
    tensors = q, k, v, attn_mask, key_lengths
    run = torch.ops.tilewright.attention if _is_recorded(tensors) else _run_attention
    return run(*tensors, is_causal, causal_alignment, left, right, softcap, scale, enable_gqa)


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, activation: str = "gelu") -> Any:
    """Two linear layers with an activation between them: `linear(activation(linear(x, w1, b1)), w2, b2)`, as torch.nn has them.

    x is (..., n), w1 (h, n), b1 (h) or None, w2 (m, h), b2 (m) or None; the result is (..., m). Activations are "none", "relu",
    "gelu", "gelu_tanh" (the approximation), "silu", "sigmoid" and "tanh".

    An operator of torch, `torch.ops.tilewright.mlp`; types and errors are as those of `attention`. `torch.compile` with
    backend="tilewright" packs the weights once; here they are read as they lie, in every call.

    >>> mlp(torch.ones(2, 3), torch.ones(4, 3), None, torch.ones(5, 4), torch.ones(5), activation="relu")[0].tolist()
    [13.0, 13.0, 13.0, 13.0, 13.0]
    """
    if activation not in ACTIVATIONS:
        raise TilewrightError(
            f"activation={activation!r} is not known", where="mlp", hint=f"choose from {', '.join(ACTIVATIONS)}"
        )
    _check("mlp", {"x": x, "w1": w1, "w2": w2}, {"b1": b1, "b2": b2})
    for name, tensor, rank in (("w1", w1, 2), ("b1", b1, 1), ("w2", w2, 2), ("b2", b2, 1)):
        if tensor is not None and tensor.dim() != rank:
            raise ShapeError(f"mlp: {name} has {tensor.dim()} dimensions, not {rank}")
    tensors = x, w1, b1, w2, b2
    return (torch.ops.tilewright.mlp if _is_recorded(tensors) else _run_mlp)(*tensors, activation)


def _is_recorded(tensors: Sequence[Any]) -> bool:
    """Whether torch is to see an operator: it compiles, traces, or has put other tensors in the place of these.

    Everywhere else the kernel is called at once; the way through torch's dispatcher takes longer.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return True
    is_plain = all(tensor is None or type(tensor) in PLAIN for tensor in tensors)
    return not is_plain or internals.is_watched()


def _check(name: str, required: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Raises for what no kernel takes, and where a gradient would be lost."""
    given = {**required, **{name: value for name, value in others.items() if value is not None}}
    for title, value in given.items():
        if not isinstance(value, torch.Tensor):
            raise DTypeError(f"{name}: {title} is a {type(value).__name__}", why="it takes tensors of torch")
        is_mask = title == "attn_mask" and value.dtype == torch.bool
        if not is_mask and (value.dtype not in DTYPES or value.dtype != next(iter(required.values())).dtype):
            why = "tensors have one type of float32, bfloat16 and float16"
            raise DTypeError(f"{name}: {title} has dtype {value.dtype}", why=why, hint="convert it: x.float()")
    if torch.is_grad_enabled() and any(value.requires_grad for value in given.values()):
        raise no_gradient(name)


@jit(static_argnames=("is_causal", "causal_alignment", "left", "right", "softcap", "scale", "enable_gqa"))
def _attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any,
    key_lengths: Any,
    is_causal: bool,
    causal_alignment: str,
    left: int | None,
    right: int | None,
    softcap: float | None,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    return scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        window=(left, right),
        softcap=softcap,
        key_lengths=key_lengths,
        scale=scale,
        enable_gqa=enable_gqa,
    )


@jit(static_argnames=("activation",))
def _mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, *, activation: str) -> Any:
    hidden = functions.matmul(x, functions.matrix_transpose(w1))
    hidden = ACTIVATIONS[activation](hidden if b1 is None else hidden + b1)
    result = functions.matmul(hidden, functions.matrix_transpose(w2))
    return result if b2 is None else result + b2


_ATTENTION = (
    "(Tensor q, Tensor k, Tensor v, Tensor? attn_mask, Tensor? key_lengths, bool is_causal, str causal_alignment, SymInt? left, "
    "SymInt? right, float? softcap, float? scale, bool enable_gqa) -> Tensor"
)


def _run_attention(*arguments: Any) -> Any:
    """The arguments are those of the schema, of which the first five are tensors."""
    return _attention(*map(_detached, arguments[:5]), *arguments[5:])


_attention_operator = torch.library.custom_op("tilewright::attention", _run_attention, mutates_args=(), schema=_ATTENTION)


@_attention_operator.register_fake  # type: ignore[untyped-decorator]
def _(q: Any, k: Any, v: Any, attn_mask: Any, *_: Any) -> Any:
    """The result's shape. Equal extents are guarded to stay equal, as operators of torch do."""
    check_no_tangents("attention")
    if not q.dim() == k.dim() == v.dim() >= 2:
        raise ShapeError("attention: q, k and v have as many dimensions, at least two")
    equal = [(q.shape[-1], k.shape[-1]), *zip(k.shape[:-1], v.shape[:-1], strict=True)]
    equal += zip(q.shape[:-3], k.shape[:-3], strict=True)
    if attn_mask is not None:
        given = zip(reversed(attn_mask.shape), reversed((*q.shape[:-1], k.shape[-2])), strict=False)
        equal += [(extent, full) for extent, full in given if extent != 1]
    for first, second in equal:
        torch._check(first == second, lambda: "attention: the shapes of q, k, v and attn_mask do not fit")
    return q.new_empty((*q.shape[:-1], v.shape[-1]))


_MLP = "(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, str activation) -> Tensor"


def _run_mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, activation: str) -> Any:
    x, w1, b1, w2, b2 = map(_detached, (x, w1, b1, w2, b2))
    result = _mlp(x.reshape(-1, x.shape[-1]), w1, b1, w2, b2, activation=activation)
    return result.reshape(*x.shape[:-1], w2.shape[0])


_mlp_operator = torch.library.custom_op("tilewright::mlp", _run_mlp, mutates_args=(), schema=_MLP)


@_mlp_operator.register_fake  # type: ignore[untyped-decorator]
def _(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, activation: str) -> Any:
    check_no_tangents("mlp")
    torch._check(x.shape[-1] == w1.shape[1], lambda: f"x is {x.shape[-1]} wide and w1 {w1.shape[1]}")
    torch._check(w1.shape[0] == w2.shape[1], lambda: f"w1 gives {w1.shape[0]} values and w2 takes {w2.shape[1]}")
    return x.new_empty((*x.shape[:-1], w2.shape[0]))


def _detached(tensor: Any) -> Any:
    return tensor.detach() if tensor is not None and tensor.requires_grad else tensor
