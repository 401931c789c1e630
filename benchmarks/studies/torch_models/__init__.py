"""PyTorch models under torch.compile: times, errors and compile times of the backends, beside eager and onnxruntime."""
