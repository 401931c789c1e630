"""Activations: functions of single elements with coefficients, and softmax with its kin."""
