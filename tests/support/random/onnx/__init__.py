"""Random ONNX graphs in the style of detection, segmentation and language models, compared with onnxruntime.

    python -m tests.support.random.onnx 0 100        # graphs 0 to 99, a summary, and the smallest failing program of each failure
    python -m tests.support.random.onnx 0 100 --ends # the same of what follows detectors and language models

A graph is grown node by node (`growing`), by onnxruntime's results of every single node, so that it is valid and well conditioned
by construction. Failing programs are shrunk (`shrinking`).
"""
