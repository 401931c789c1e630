"""Public API: `jit`, kernels, specs and configuration."""
