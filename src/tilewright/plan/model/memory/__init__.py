"""Memory: movement and traffic of every level, working sets, pages, and the capacity of memory that software fills."""
