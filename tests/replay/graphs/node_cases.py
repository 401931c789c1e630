"""ONNX's own tests of single operators: one or more of every operator that is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.conformance.cases import cases
from tests.replay.planning import Planned, imported

NAMES = """
    abs acos_example acosh_example add and2d argmax_no_keepdims_example argmax_negative_axis_keepdims_random
    argmin_no_keepdims_example asin_example asinh_example atan_example atanh_example attention_4d attention_4d_fp16
    attention_4d_gqa attention_4d_diff_heads_sizes attention_4d_scaled attention_4d_gqa_scaled
    attention_4d_diff_heads_sizes_scaled attention_4d_causal attention_4d_gqa_causal attention_4d_diff_heads_sizes_causal
    attention_4d_attn_mask attention_4d_attn_mask_3d attention_4d_attn_mask_3d_causal averagepool_2d_precomputed_pads
    averagepool_2d_precomputed_same_upper averagepool_3d_default averagepool_2d_pads batchnorm_example bitshift_right_uint8
    bitwise_and_i32_2d bitwise_not_2d bitwise_or_i32_2d bitwise_xor_i32_2d cast_FLOAT_to_FLOAT16 cast_FLOAT16_to_FLOAT
    cast_DOUBLE_to_FLOAT cast_FLOAT_to_BFLOAT16 castlike_FLOAT_to_FLOAT16 ceil_example celu clip_example clip_outbounds
    clip_default_min concat_1d_axis_0 concat_3d_axis_0 basic_conv_with_padding basic_conv_without_padding
    conv_with_strides_padding conv_with_strides_no_padding convinteger_without_padding convtranspose convtranspose_3d
    convtranspose_pad convtranspose_pads convtranspose_autopad_same cos_example cosh_example depthtospace_example
    dequantizelinear dequantizelinear_uint16 div_example dynamicquantizelinear einsum_transpose einsum_sum
    einsum_batch_diagonal einsum_inner_prod einsum_batch_matmul elu_example equal erf exp_example eyelike_without_dtype
    flatten_axis0 flexattention flexattention_scaled floor_example gather_0 gather_1 gather_2d_indices gather_elements_0
    gather_elements_1 gathernd_example_int32 gathernd_example_float32 gathernd_example_int32_batch_dim1 gelu_tanh_1
    gemm_default_zero_bias gemm_default_scalar_bias gemm_default_vector_bias gemm_transposeA globalaveragepool globalmaxpool
    greater greater_equal group_normalization_example hardsigmoid_example hardswish hardmax_example instancenorm_example isinf
    isnan lrn layer_normalization_4d_axis0 layer_normalization_4d_axis2 layer_normalization_default_axis leakyrelu_example
    less less_equal log_example logsoftmax_example_1 logsoftmax_axis_1 l2normalization_axis_0 lppool_1d_default
    lppool_3d_default lppool_2d_same_lower matmul_2d matmul_3d matmul_4d matmul_bcast matmul_1d_3d matmulinteger max_example
    maxpool_2d_uint8 maxpool_with_argmax_2d_precomputed_pads maxpool_with_argmax_2d_precomputed_strides maxpool_1d_default
    maxpool_3d_default mean_example mvn min_example mish mod_mixed_sign_float64 mod_float32_mixed_sign_fmod_0
    mod_float_edge_cases_fmod_0_float64 mul_example neg_example nllloss_NC nllloss_NCd1d2_reduction_sum
    nllloss_NCd1d2_with_weight_reduction_sum nllloss_NCd1 not_2d or2d prelu_example pow_example qlinearmatmul_2D_uint8_float32
    qlinearmatmul_2D_int8_float32 quantizelinear rms_normalization_4d_axis0 reciprocal_example
    reduce_max_default_axes_keepdim_example reduce_min_default_axes_keepdims_example reduce_prod_default_axes_keepdims_example
    relu reversesequence_time rotary_embedding rotary_embedding_interleaved rotary_embedding_with_interleaved_rotary_dim
    rotary_embedding_no_position_ids_interleaved round selu_example shrink_hard sigmoid_example sign sin_example sinh_example
    softmax_example softmax_axis_1 sce_none sce_none_weights_log_prob sce_mean sce_mean_3d_log_prob softplus_example
    softsign_example spacetodepth split_equal_parts_1d_opset13 split_equal_parts_default_axis_opset13 split_equal_parts_2d
    sqrt_example sub_example sum_example swiglu swish tan_example tanh_example thresholdedrelu_example transpose_default triu
    triu_square tril where_example xor2d
"""


def graphs() -> Mapping[str, Planned]:
    return {name: imported(lambda name=name: _models()[f"test_{name}"]) for name in NAMES.split()}


@cache
def _models() -> Mapping[str, Any]:
    """By the names of the tests."""
    return {case.name: case.model() for case in cases() if case.kind == "node"}
