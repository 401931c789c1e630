"""Attention with a causal mask, and decoding with a growing cache of keys and values."""

import numpy as np

import tilewright as tw

HEADS, SHARED_HEADS, WIDTH, CAPACITY = 4, 2, 16, 64


@tw.jit
def prefill(q, k, v):  # q (b, heads, m, width), k and v (b, shared heads, m, width)
    return tw.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


@tw.jit
def decode(q, keys, values, lengths):  # one query; lengths (b,): how many keys are valid
    return tw.scaled_dot_product_attention(q, keys, values, key_lengths=lengths, enable_gqa=True)


random = np.random.default_rng(0)
query = random.standard_normal((1, HEADS, 8, WIDTH), np.float32)
key, value = (random.standard_normal((1, SHARED_HEADS, 8, WIDTH), np.float32) for _ in range(2))
first = prefill(query, key, value)
print("prefill", first.shape)

# Row 0 of a causal mask sees key 0 alone: its result is that value, for the heads that share it.
print("row 0 is value 0:", np.allclose(first[:, :, 0], np.repeat(value[:, :, 0], HEADS // SHARED_HEADS, axis=1), atol=1e-5))

# A cache with room for more: slices of it are arguments as they are, nothing is copied, and no length needs a kernel of its own.
keys, values = (np.zeros((1, SHARED_HEADS, CAPACITY, WIDTH), np.float32) for _ in range(2))
keys[:, :, :8], values[:, :, :8] = key, value
for step in range(8, 20):
    keys[:, :, step], values[:, :, step] = (random.standard_normal((1, SHARED_HEADS, WIDTH), np.float32) for _ in range(2))
    token = random.standard_normal((1, HEADS, 1, WIDTH), np.float32)
    used = step + 1
    out = decode(token, keys[:, :, :used], values[:, :, :used], np.array([used]))
print("decoded", step + 1, "keys:", out.shape, "kernels:", len(decode.kernels))

# The same over the whole buffer, with the number of valid keys as data.
whole = decode(token, keys, values, np.array([used]))
print("lengths as data agree:", np.allclose(out, whole, atol=1e-5))
