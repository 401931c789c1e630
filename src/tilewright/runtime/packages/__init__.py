"""Packages: files of compiled kernels with their constants, which load without planner, code generation or compiler."""
