"""Whole models with random weights, exported to ONNX in the forms that exporters give them: for tests and benchmarks of models.

    python -m benchmarks.onnx_models [--models bert,vit] [--exporters dynamo,torchscript] [--small] [--keep DIRECTORY]

exports them, runs each under onnxruntime, and prints nodes, size, and the results' distance from torch.
"""
