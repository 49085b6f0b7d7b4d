"""Values of traced kernels: indices, conditions, elements, arrays and their subscripts."""
