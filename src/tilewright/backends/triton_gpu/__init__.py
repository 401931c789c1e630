"""The backend of GPUs: plans of one kernel per chain, as Triton."""
