"""GPUs: chains are planned as one kernel each."""
