"""The graph: operators as index maps and scalar bodies, their builders, the rewrites, and the reference interpreter."""
