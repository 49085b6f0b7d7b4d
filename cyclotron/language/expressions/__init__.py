"""What kernels compute with, one value at a time: elements, indices, operators and dtypes."""
