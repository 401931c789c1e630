"""C texts of the functions in double precision."""
