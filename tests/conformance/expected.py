"""What is expected of cases beyond their outputs: which may run as NumPy, which are not supported, and why."""

from __future__ import annotations

from collections.abc import Mapping

TRAINING = "steps of optimizers and derivatives are not computed"
NOT_SUPPORTED: Mapping[str, str] = dict.fromkeys(
    (
        *("test_adagrad", "test_adagrad_multiple", "test_adam", "test_adam_multiple"),
        *("test_momentum", "test_momentum_multiple", "test_nesterov_momentum"),
        *("test_gradient_of_add", "test_gradient_of_add_and_mul"),
    ),
    TRAINING,
)
"""The reason by the name of the case."""

TOLERANCES: Mapping[str, tuple[float, str]] = {
    "test_attention_4d_causal_fp16_expanded": (
        2.0**-9,
        "two units in the last place, as the suite allows for bfloat16: of the six float16 roundings of the formula, the outputs "
        "are up to 6.9e-4 from the exact result, the expected ones up to 8.7e-4",
    ),
}
"""Relative tolerances that are wider than the suite's, with the reason."""

EMPTY = "a reduction of no elements is a constant"
SERIAL = "a loop over positions that depend on each other, or on contents"
IN_PARTS: Mapping[str, str] = {
    "Dropout": "in training it draws random numbers",
    "Equal": "strings",
    "FlexAttention": "graphs inside, shared keys, or another type than float32",
    "Pad": "the amount of padding depends on contents of several inputs",
    "Pow": "integers to powers that are none",
    "Resize": "a part of a tensor (tf_crop_and_resize): elements outside have a value of their own",
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMin"), EMPTY),
    **dict.fromkeys(("ReduceProd", "ReduceSum", "ReduceSumSquare"), EMPTY),
}
"""Operators that have a lowering, which some cases do not fit, and why."""
