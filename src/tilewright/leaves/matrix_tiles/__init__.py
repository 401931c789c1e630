"""Matrix tiles: contractions by micro kernels, their work, loops, functions and epilogues."""
