"""`tilewright bench gpu`: kernels of the card that is here, their results, resources, times and bytes, beside PyTorch."""
