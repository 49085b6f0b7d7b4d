"""Maxwell's equations in the plane (FDTD): a point source in a box whose walls absorb (Berenger's PML)."""

import numpy as np
from pictures import films

import cyclotron as cy


@cy.kernel
def maxwell(src, sx, sy, si, sj, c):
    n, m = len(sx), len(sy)
    Ex, Ey, Ez = cy.zeros((n, m)), cy.zeros((n, m)), cy.zeros((n, m))  # Ez split into what each axis damps
    Hx, Hy = cy.zeros((n, m - 1)), cy.zeros((n - 1, m))
    for t in range(len(src)):
        Hx -= c * (Ez[:, 1:] - Ez[:, :-1])
        Hy += c * (Ez[1:] - Ez[:-1])
        down = Hy[1:, 1:-1] - Hy[:-1, 1:-1]
        right = Hx[1:-1, 1:] - Hx[1:-1, :-1]
        Ex[1:-1, 1:-1] = ((1 - sx[1:-1, None]) * Ex[1:-1, 1:-1] + c * down) / (1 + sx[1:-1, None])
        Ey[1:-1, 1:-1] = ((1 - sy[1:-1]) * Ey[1:-1, 1:-1] - c * right) / (1 + sy[1:-1])
        Ez = Ex + Ey
        Ez[si, sj] += src[t]
    return Ez


def absorber(n, width, most):
    """The conductivity of walls: none inside, and then it grows with the square of the depth."""
    depth = np.arange(n)
    depth = np.maximum(0, np.maximum(width - depth, depth - (n - 1 - width)))
    return most * (depth / width) ** 2


def problem(n, steps, most=0.8):
    walls = absorber(n, n // 4, most)
    pulse = np.exp(-(((np.arange(steps) - 10) / 4) ** 2))
    return pulse, walls, walls, n // 2, n // 3, 0.5


def main():
    n, steps = 24, 60
    fields = {}
    for name, most in {"mirrors": 0.0, "absorbing walls": 0.8}.items():
        arguments = problem(n, steps, most)
        result = cy.run(maxwell.compile(*arguments), backend="sim")
        fields[name] = result.output
        assert np.array_equal(result.output, maxwell.reference(*arguments))  # bit for bit
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    left = [float(np.sum(field[6:-6, 6:-6] ** 2)) for field in fields.values()]
    print(f"the bits of NumPy; the walls leave {left[1] / left[0]:.1%} of the energy that mirrors keep")

    # The source is fed into its own PE: that costs a step the same on grids of any size.
    for size in (12, 24, 48):
        programs = [maxwell.compile(*problem(size, steps)) for steps in (10, 20)]
        less, more = (cy.run(program, backend="sim", functional=False).cycles for program in programs)
        print(f"{size} x {size} points: {(more - less) / 10:.0f} cycles a step")
    shown = {"early": maxwell(*problem(n, 24))} | fields
    if films("maxwell.png", shown, "Ez", cmap="RdBu", vmin=-0.12, vmax=0.12):
        print("a pulse between mirrors, and one that leaves: maxwell.png")


if __name__ == "__main__":
    main()
