"""A corpus of kernels, one file a family, each with its data, sizes, schedules and oracle."""
