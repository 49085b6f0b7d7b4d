"""The mapper: the best schedule of a kernel on a machine, and a proof of how far from the best it may be."""
