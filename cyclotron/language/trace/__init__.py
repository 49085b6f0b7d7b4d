"""Recording of kernels: loops, branches, assignments, early exits."""
