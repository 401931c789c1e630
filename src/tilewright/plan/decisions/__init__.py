"""Decisions beside the loops: micro kernel, packs, prefetches, stores, split reductions, long sums."""
