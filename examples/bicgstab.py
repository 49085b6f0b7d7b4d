"""BiCGStab for variable conductivity and a wind: a matrix that is not symmetric, and is never built."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def apply(k, wind, v):
    """Diffusion by k, and what the wind carries along the rows, upwind."""
    down = (k[1:] + k[:-1]) / 2 * (v[1:] - v[:-1])
    right = (k[:, 1:] + k[:, :-1]) / 2 * (v[:, 1:] - v[:, :-1])
    result = (k + wind) * v
    result[:-1] -= down
    result[1:] += down
    result[:, :-1] -= right
    result[:, 1:] += right - wind * v[:, :-1]
    return result


@cy.kernel
def bicgstab(k, wind, b, tolerance, steps):
    x, v, p = cy.zeros_like(b), cy.zeros_like(b), cy.zeros_like(b)
    r, shadow = b.copy(), b.copy()
    rho = alpha = omega = 1.0
    for step in range(steps):  # noqa: B007
        new = cy.sum(shadow * r)
        p = r + new / rho * (alpha / omega) * (p - omega * v)
        rho = new
        v = apply(k, wind, p)
        alpha = rho / cy.sum(shadow * v)
        s = r - alpha * v
        t = apply(k, wind, s)
        omega = cy.sum(t * s) / cy.sum(t * t)
        x = x + alpha * p + omega * s
        r = s - omega * t
        if cy.sum(r * r) < tolerance**2:
            break
    return x


def problem(n, tolerance=1e-8, steps=60):
    """Two kinds of soil, and a well in the middle."""
    k, b = np.ones((n, n)), np.zeros((n, n))
    k[n // 2 :, n // 4 :] = 20
    b[n // 2, n // 2] = 1
    return k, 0.5, b, tolerance, steps


def main():
    arguments = k, wind, b, _, steps = problem(12)
    program = bicgstab.compile(*arguments)
    result = cy.run(program, backend="sim")
    x = result.output
    # NumPy adds in another order, so that its last bits differ.
    np.testing.assert_allclose(x, bicgstab.reference(*arguments), rtol=0, atol=1e-8)
    columns = [apply.reference(k, wind, unit.reshape(b.shape)).ravel() for unit in np.eye(b.size)]
    exact = np.linalg.solve(np.array(columns).T, b.ravel()).reshape(b.shape)
    taken = result.steps["step"]
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    print(f"{taken} of {steps} steps, {result.cycles / taken:.0f} cycles each, with six sums over the grid")
    print(f"{np.abs(x - exact).max():.1e} from what LAPACK finds by the whole matrix")

    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    for axis, (name, array) in zip(axes, {"conductivity": k, "x": x}.items(), strict=True):
        axis.figure.colorbar(draw(axis, array, name), ax=axis)
    axes[0].figure.savefig("bicgstab.png", dpi=120)
    print("the soil and the solution: bicgstab.png")


if __name__ == "__main__":
    main()
