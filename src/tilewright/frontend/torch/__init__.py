"""Graphs of PyTorch's ATen operators become graphs of operators. torch is imported for whoever asks for it alone."""
