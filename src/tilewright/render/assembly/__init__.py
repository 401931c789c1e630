"""Assembly of tile programs: x86-64, for GNU `as`."""
