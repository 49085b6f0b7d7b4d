"""k-means: a PE for each point, totals over them for the centres, until no point changes its cluster."""

import numpy as np
from pictures import canvas

import cyclotron as cy


@cy.kernel
def kmeans(x, y, cx, cz, steps):
    labels = cy.zeros(len(x), dtype=int) - 1
    cx, cz = cx.copy(), cz.copy()
    for step in range(steps):  # noqa: B007
        nearest = cy.argmin((x[:, None] - cx) ** 2 + (y[:, None] - cz) ** 2, axis=1)
        changed = cy.sum(nearest != labels)
        labels = nearest
        if changed == 0:
            break
        for c in range(len(cx)):
            size = cy.sum(labels == c)
            cx[c] = cy.sum(cy.where(labels == c, x, 0.0)) / size
            cz[c] = cy.sum(cy.where(labels == c, y, 0.0)) / size
    return labels, cx, cz


def problem(points, steps):
    """Three clouds of points, and three centres of which two begin in one cloud."""
    rng = np.random.default_rng(3)
    x, y = np.concatenate([rng.normal(at, 0.6, (points, 2)) for at in ([0, 0], [2, 2], [0, 3])]).T
    first = [points // 4, points // 2 - 1, 2 * points + points // 2]
    return x.copy(), y.copy(), x[first], y[first], steps


def main():
    x, y, *_, steps = arguments = problem(12, 20)
    one_point_a_pe = cy.Schedule().space("i")
    result = cy.run(kmeans.compile(*arguments, schedule=one_point_a_pe), backend="sim")
    labels, *centres = result.outputs.values()
    expected = kmeans.reference(*arguments)
    assert np.array_equal(labels, expected[0])
    np.testing.assert_allclose(centres, expected[1:], rtol=1e-12)
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    print(f"{result.steps['step']} of {steps} steps; the clusters have {np.bincount(labels)} points")
    axes = canvas(2, 8, 3.4)
    if axes is None:
        return
    for axis, (name, (cx, cz)) in zip(axes, {"first": arguments[2:4], "last": centres}.items(), strict=True):
        axis.scatter(x, y, c=labels if name == "last" else 0 * labels)
        axis.plot(cx, cz, "r*", markersize=14)
        axis.set(title=f"{name} centres")
    axes[0].figure.savefig("kmeans.png", dpi=120)
    print("the clusters: kmeans.png")


if __name__ == "__main__":
    main()
