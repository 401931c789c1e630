"""ONNX sessions: `InferenceSession` and the backend interface of ONNX."""
