"""The states of stencils in time, by NumPy on whole arrays."""

import numpy as np


def states(A, steps, step):
    """All states; a step is given the last one and changes its copy inside the border."""
    U = [A]
    for _ in range(steps):
        new = U[-1].copy()
        if min(A.shape) > 2:
            step(U[-1], new)
        U.append(new)
    return np.array(U)


def inner(U, *shift):
    """U inside its border, shifted."""
    return U[tuple(slice(1 + s, n - 1 + s) for s, n in zip(shift, U.shape, strict=True))]


def weighted(weights):
    """A step that sums shifted states, each with its weight."""

    def step(old, new):
        inner(new, *(0 for _ in old.shape))[:] = sum(w * inner(old, *s) for s, w in weights.items())

    return step


def sweep(weights):
    """A step in place, in the order of the elements: what is behind is new already."""

    def step(old, new):
        for point in np.ndindex(*(n - 2 for n in old.shape)):
            new[tuple(p + 1 for p in point)] = sum(
                w * new[tuple(p + 1 + q for p, q in zip(point, s, strict=True))] for s, w in weights.items()
            )

    return step


def cross(axes, centre, side):
    """The weights of a point and of its neighbours along each axis."""
    sides = {tuple(d * (a == axis) for a in range(axes)): side for axis in range(axes) for d in (-1, 1)}
    return {(0,) * axes: centre, **sides}


NINE = {(p, q): (2 - abs(p)) * (2 - abs(q)) / 4 for p in (-1, 0, 1) for q in (-1, 0, 1)}

BEHIND = {(-1, 0): 0.5, (0, -1): 0.5, (0, 0): 0.5, (1, 0): 0.5, (0, 1): 0.5}


def half_steps(A, steps):
    """The states of the nine-point stencil, with the sums along the rows between them."""
    U = np.zeros((2 * steps + 1, *A.shape))
    U[::2] = states(A, steps, weighted(NINE))
    U[1::2] = A
    for t in range(1, 2 * steps + 1, 2):
        U[t, :, 1:-1] = U[t - 1, :, :-2] + 2 * U[t - 1, :, 1:-1] + U[t - 1, :, 2:]
    return U
