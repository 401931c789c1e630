"""ONNX frontend: reading models, operator definitions, and import of stages into graphs."""
