"""Text of C that leaves and renderers share: integers, expressions, lookups, loops over points and vectors."""
