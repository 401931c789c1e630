"""Dynamic dimensions: batches and lengths of any size with a few kernels, prepared ahead; a row has the same bits alone."""

import numpy as np

import tilewright as tw

random = np.random.default_rng(0)
weights = random.standard_normal((32, 24), np.float32)


@tw.jit
def layer(x):  # x (batch, 32)
    return tw.softmax(x @ weights, axis=-1)


# The first call is specialised; an extent with a second value is dynamic from then on.
for batch in (8, 3, 5, 64, 17):
    layer(random.standard_normal((batch, 32), np.float32))
print("5 batches, kernels:", len(layer.kernels))


# `prepare` says ahead which extents vary, and compiles before any call.
prepared = tw.jit(lambda x: tw.softmax(x @ weights, axis=-1))
prepared.prepare(tw.spec((tw.Dim("batch", 1, 512), 32)))
print("prepared kernels:", len(prepared.kernels))

x = random.standard_normal((40, 32), np.float32)
alone = np.concatenate([prepared(row[None]) for row in x])
print("rows alone have the same bits:", np.array_equal(alone, prepared(x)))
print("kernels after 41 calls:", len(prepared.kernels))


# `dynamic=True`: every extent above 1 is dynamic from the first call on. A question about one divides its range.
@tw.jit(dynamic=True)
def halved(x):
    return x[: x.shape[0] // 2] if x.shape[0] > 16 else x


shapes = [halved(np.ones((n, 4), np.float32)).shape for n in (10, 16, 17, 100)]
print("shapes", shapes, "kernels:", len(halved.kernels))

# The explanation shows the range that a kernel serves.
print(next(line.strip() for line in prepared.kernels[-1].explain().splitlines() if "1048576" in line))
