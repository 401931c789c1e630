"""Published networks as ONNX models with random weights, at full width; a module for each family names its sources."""
