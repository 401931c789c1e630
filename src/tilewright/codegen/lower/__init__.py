"""Lowering of plans to loop nests."""
