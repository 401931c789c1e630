"""Names of what a plan is priced by."""

from collections.abc import Mapping

TERMS: Mapping[str, tuple[str, ...]] = {
    "arithmetic": ("arithmetic",),
    "functions": (
        *("pass_cycles_per_vector", "tile_transpose_cycles", "strided_cycles_per_vector", "scattered_line_cycles"),
        *("row_cycles", "scattered_point_cycles", "function_cycles_per_vector", "other_function_cycles"),
    ),
    "traffic": ("overlapped_traffic", "visible_l1_traffic", "visible_traffic", "visible_later_passes"),
    "packing": ("pack_cycles_per_vector", "transpose_cycles_per_vector"),
    "tile ends": ("tile_end_cycles",),
    "block runs": ("block_cycles",),
    "pages": ("page_cycles", "far_page_cycles", "lookup_cycles", "stream_cycles", "column_line_cycles", "run_cycles"),
    "spills": ("spilling",),
    "combine": ("combining",),
    "prefetches": ("prefetch_cycles_per_line", "prefetch_hides", "visible_stream"),
    "call": ("call_s",),
}
"""The terms of the price that can be switched off, and what they are made of."""
