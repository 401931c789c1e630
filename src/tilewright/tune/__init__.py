"""Tuning by measurement: schedules around a choice, rankers, unroll factors, the pipeline of `tilewright tune`, fits of prices.

Their tools: timing in pairs, exact working sets, a cache simulator.
"""
