"""A Kalman filter that follows what moves in the plane from noisy measurements of its position."""

import numpy as np
from pictures import canvas

import cyclotron as cy


@cy.kernel
def kalman(z, x, P, F, Q, H, R):
    track = cy.zeros((len(z), len(x)))
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z[t] - H @ x)
        P = (np.eye(len(x)) - K @ H) @ P
        track[t] = x
    return track, P


def problem(steps, noise=0.2):
    """Measurements of a way in circles, and a model that knows of positions and velocities."""
    time = np.arange(steps) * 0.2
    way = np.stack([np.cos(time), np.sin(time)], axis=1)
    z = way + np.random.default_rng(4).normal(0, noise, way.shape)
    F, H = np.eye(4), np.eye(2, 4)
    F[0, 2] = F[1, 3] = 0.2
    return z, np.zeros(4), np.eye(4), F, 0.02 * np.eye(4), H, noise**2 * np.eye(2)


def main():
    arguments = problem(30)
    result = cy.run(kalman.compile(*arguments), backend="sim")
    track = result.outputs["track"]
    np.testing.assert_allclose(track, kalman.reference(*arguments)[0], atol=1e-12)
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    way = problem(30, 0)[0]
    before, after = (np.sqrt(np.mean((one[5:, :2] - way[5:]) ** 2)) for one in (arguments[0], track))
    print(f"{result.cycles / len(track):.0f} cycles a step; errors of {before:.2f} become {after:.2f}")
    axes = canvas(2, 8, 3.6)
    if axes is None:
        return
    axes[0].plot(*way.T, "k:", label="way")
    axes[0].plot(*arguments[0].T, "x", label="measured")
    axes[0].plot(*track[:, :2].T, label="filtered")
    axes[0].legend()
    axes[1].plot(track[:, 2:], label=["along x", "along y"])
    axes[1].legend(title="velocity")
    axes[0].figure.savefig("kalman.png", dpi=120)
    print("the way and the track: kalman.png")


if __name__ == "__main__":
    main()
