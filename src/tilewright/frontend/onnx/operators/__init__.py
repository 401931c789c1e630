"""ONNX operators: one file per operator, or per group of operators that share their attributes, in a folder per family."""
