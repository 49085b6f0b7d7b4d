"""Running programs on the backends, and their results."""
