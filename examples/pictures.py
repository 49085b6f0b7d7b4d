"""Arrays as pictures side by side, which the examples beside this file draw."""

import numpy as np


def canvas(columns, width, height):
    """A row of matplotlib's axes, or None where that is not installed, which is said."""
    try:
        import matplotlib as mpl

        mpl.use("agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: matplotlib is not installed")
        return None
    _, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained")
    return axes


def draw(axis, array, title="", **look):
    """An array as a picture without ticks; `look` is imshow's."""
    picture = axis.imshow(array, **look)
    axis.set_title(title, fontsize=10)
    axis.set(xticks=[], yticks=[], facecolor="black")  # where the array is masked
    return picture


def films(path, arrays, label="", width=10, height=2.9, **look):
    """Arrays by title, in a row, in one range of colours; whether there is a picture."""
    look = {"vmin": min(map(np.min, arrays.values())), "vmax": max(map(np.max, arrays.values()))} | look
    axes = canvas(len(arrays), width, height)
    if axes is None:
        return False
    for axis, (title, array) in zip(axes, arrays.items(), strict=True):
        picture = draw(axis, array, title, **look)
    figure = axes[0].figure
    figure.colorbar(picture, ax=axes, label=label)
    figure.savefig(path, dpi=120)
    return True
