"""Layers and problems of other tools as kernels: PyTorch's modules, Timeloop's problems."""
