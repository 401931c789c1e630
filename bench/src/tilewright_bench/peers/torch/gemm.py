"""PyTorch on products: `mm` into a tensor made ahead, its prepacked linear layers; for squares the `sgemm` of its MKL."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tilewright.errors import UnsupportedOperation
from tilewright_bench.cases.case import TOLERANCE, aligned
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import Contender, Peer


def prepare(case: GemmCase, threads: int) -> Iterator[Contender]:
    """Stock builds for x86 bring an MKL, whose symbols the library exports."""
    import torch

    torch.set_num_threads(threads)
    if case.is_looped:
        yield from _squares(case)
        return
    if case.result_dtype != case.dtype:
        raise UnsupportedOperation(f"its products of {case.dtype} are summed in that type")
    a, b = (torch.from_numpy(operand) for operand in case.operands)
    out = torch.from_numpy(case.empty_result())
    yield _contender("torch", lambda: torch.mm(a, b, out=out), case.tolerance)
    if case.prepacked and case.dtype == "float32":
        yield from _linear(a, b)


def _linear(a: Any, b: Any) -> Iterator[Contender]:
    """What `torch.compile` makes of a linear layer whose weights are frozen."""
    import torch

    weight, rows = b.t().contiguous(), a.shape[0]
    if torch.backends.mkldnn.is_available():
        ours = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
        yield _contender("torch mkldnn", lambda: torch.ops.mkldnn._linear_pointwise(a, ours, None, "none", [], ""))
    if torch.backends.mkl.is_available():
        packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, rows)
        yield _contender("torch mkl", lambda: torch.ops.mkl._mkl_linear(a, packed, weight, None, rows))


def _contender(name: str, product: Callable[[], Any], tolerance: float = TOLERANCE) -> Contender:
    import torch

    last: list[Any] = []

    def call() -> None:
        with torch.inference_mode():
            last[:] = [product()]

    return Contender(name, call, lambda: last[0].numpy(), tolerance=tolerance)


def _squares(case: GemmCase) -> Iterator[Contender]:
    library = _library()
    a, b = case.operands
    out, name = case.empty_result(), call_loops.GEMMS[case.dtype]
    runs = call_loops.executions(case.flops)
    loop = call_loops.fortran_gemm(getattr(library, f"{name}_"), a, b, out)
    yield Contender(f"torch ({name})", lambda: loop(runs), lambda: out, runs, tolerance=case.tolerance)
    if case.prepacked and case.dtype == "float32":
        packed_out = aligned(case.result_shape)
        compute = call_loops.mkl_compute(library.cblas_sgemm_compute, a, _packed(library, case), packed_out)
        yield Contender("torch (sgemm_compute)", lambda: compute(runs), lambda: packed_out, runs)


def _packed(library: ctypes.CDLL, case: GemmCase) -> Any:
    """The right-hand side as MKL's `cblas_sgemm_pack` arranges it."""
    shape, b = case.shape, case.operands[1]
    row_major, b_matrix, no_transpose = 101, 162, 111
    library.cblas_sgemm_pack_get_size.restype = ctypes.c_size_t
    packed = aligned((library.cblas_sgemm_pack_get_size(b_matrix, shape.m, shape.n, shape.k) // 4 + 1,))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (b, packed)]
    alpha, leading = ctypes.c_float(1.0), shape.n
    library.cblas_sgemm_pack(
        row_major, b_matrix, no_transpose, shape.m, shape.n, shape.k, alpha, pointers[0], leading, pointers[1]
    )
    return packed


def _library() -> ctypes.CDLL:
    import torch

    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))


PEER = Peer(
    "torch",
    ("torch",),
    prepare,
    "as installed, inference mode, mm into a tensor made ahead; squares: [sd]gemm_ of the MKL in libtorch_cpu.so in a loop in C",
    prepacked_note="mm, of float32 also linear layers of mkldnn and mkl, which make a new tensor; squares: cblas_sgemm_compute",
)
