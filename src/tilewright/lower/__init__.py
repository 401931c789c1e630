"""Lowering of plans to loop nests: where everything lies, and what is done in which order; no device, no language."""
