"""Lowering of plans to block programs: where everything lies, and what is done in which order; no device, no language."""
