"""Store: files that processes share, their limit on size, and what the cache keeps of compilations."""
