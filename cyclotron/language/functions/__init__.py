"""NumPy's functions on values of traced kernels; the modules fill the tables of `registry`."""

from cyclotron.language.functions import (  # noqa: F401 - imported for what they register
    along_axis,
    attributes,
    compositions,
    creation,
    einsum,
    elementwise,
    forms,
    grids,
    indexing,
    joining,
    linalg,
    matrices,
    ordering,
    random,
    rearrangement,
    reductions,
    running,
    search,
    shifts,
    statistics,
)
