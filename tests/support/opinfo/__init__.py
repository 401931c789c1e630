"""PyTorch's samples of its operators, exported to ONNX, compared with onnxruntime.

    python -m tests.support.opinfo 0 100                                       # samples 0 to 99, and what becomes of them
    python -m tests.support.opinfo 0 400 --store tests/models/opinfo_samples   # files of the samples that tests compare
    python -m tests.support.opinfo 0 3000 --only 'conv|pool'                   # those that draw such an operator

Failing programs are shrunk, as those of `random.onnx` are.
"""
