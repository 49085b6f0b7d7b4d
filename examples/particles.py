"""Particles in cells: each adds its charge to the cells around it, and the field of its cell moves it."""

import numpy as np
from pictures import canvas

import cyclotron as cy


@cy.kernel
def density(x, cells):
    rho = cy.zeros(cells, dtype=x.dtype)
    for p in range(x.shape[0]):
        rho[cy.floor(x[p]).astype("int64")] += 1 - (x[p] - cy.floor(x[p]))
    for p in range(x.shape[0]):
        rho[cy.floor(x[p] + 1).astype("int64") % cells] += x[p] - cy.floor(x[p])
    return rho


@cy.kernel
def pushed(x, v, field, step, cells):
    places = cy.floor(x).astype("int64")
    faster = v + step * field[places]
    return (x + step * faster) % cells, faster


@cy.kernel
def histogram(v, low, width, bins):
    counts = cy.zeros(bins, dtype="int64")
    for p in range(v.shape[0]):
        counts[cy.clip(cy.floor((v[p] - low) / width), 0, bins - 1).astype("int64")] += 1
    return counts


def field_of(rho):
    """The field of a density on a ring, whose mean is the background's."""
    force = np.cumsum(rho - rho.mean())
    return force - force.mean()


def beams(particles, cells):
    """Two beams that pass each other, almost evenly spread."""
    even = np.arange(particles) * cells / particles
    x = (even + 0.2 * np.sin(2 * np.pi * even / cells)) % cells
    return x, np.where(np.arange(particles) % 2 == 0, 1.0, -1.0)


def main():
    particles, cells, steps, step = 128, 16, 80, 0.2
    x, v = beams(particles, cells)
    one_pe = cy.Schedule().time("p", "i")
    spread = density.compile(x, cells, schedule=one_pe)
    push = pushed.compile(x, v, np.zeros(cells), step, cells)
    cycles = cy.run(spread, backend="sim", functional=False).cycles
    seen = [(x, v)]
    for _ in range(steps):
        rho = cy.run(spread, x, backend="sim").output
        assert np.array_equal(rho, density.reference(x, cells))
        assert np.isclose(rho.sum(), particles)
        found = tuple(cy.run(push, x, v, 0.08 * field_of(rho), backend="local").outputs.values())
        expected = pushed.reference(x, v, 0.08 * field_of(rho), step, cells)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        x, v = found
        seen.append((x, v))
    counts = histogram.compile(v, -4.0, 0.5, 16, schedule=one_pe)
    assert np.array_equal(cy.run(counts, backend="sim").output, np.histogram(v, 16, (-4, 4))[0])
    print(f"{cycles / (2 * particles):.1f} cycles for each share of a particle's charge, on one PE")

    axes = canvas(3, 10, 2.9)
    if axes is None:
        return
    for axis, at in zip(axes, (0, steps // 2, steps), strict=True):
        axis.plot(*seen[at], ".", markersize=3)
        axis.set(title=f"step {at}", xlabel="place", ylabel="velocity", ylim=(-4, 4))
    axes[0].figure.savefig("particles.png", dpi=120)


if __name__ == "__main__":
    main()
