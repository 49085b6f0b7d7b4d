"""What kernels compute with, arrays: of tiles, symbolic ones, and whole-array expressions."""
