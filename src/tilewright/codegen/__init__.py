"""Code generation: plans lowered to loop nests, and loop nests emitted as C."""
