"""A NumPy-style function becomes one fused kernel: compile by the first call, check against NumPy, write into an array."""

import numpy as np

import tilewright as tw


@tw.jit
def dense(x, weights, bias):  # x (rows, inputs), weights (inputs, outputs), bias (outputs,)
    return tw.relu(x @ weights + bias)


random = np.random.default_rng(0)
x, weights = random.standard_normal((48, 64), np.float32), random.standard_normal((64, 96), np.float32)
bias = random.standard_normal(96, np.float32)

result = dense(x, weights, bias)  # the first call of a shape plans, compiles and caches a kernel
print("result", result.shape, result.dtype)

# `interpret=True` computes the same in NumPy: the reference for debugging.
print("equal to NumPy:", np.allclose(result, dense(x, weights, bias, interpret=True), atol=1e-4))

# Arrays that the function closes over are constants: they are packed once, when the kernel is loaded.
layer = tw.jit(lambda x: tw.relu(x @ weights + bias))
print("weights as constants:", np.allclose(layer(x), result, atol=1e-4))

# `out=` writes into an array of the caller.
out = np.empty_like(result)
print("out is returned:", dense(x, weights, bias, out=out) is out)

# Planning alone runs no compiler; the plan says which operators are fused, and which micro kernel computes the product.
plan = dense.lower(x, weights, bias).plan
print("one chain of", [operator.name for operator in plan.chain.operators])
