"""The picture of a PE's memory and the bytes that it tells, against the program's own data."""

from __future__ import annotations

import base64
import io
import itertools
import json
import math
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import Rectangle

import cyclotron as cy
from cyclotron.compiler.memory_map import colors_of


@cy.kernel
def heat(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] += u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


def compiled(depth: int = 3) -> cy.Program:
    machine = cy.Machine(grid=(2, 2), link=cy.Link(depth=depth), pe=cy.PE(memory=4096))
    return heat.compile(np.zeros((8, 6)), 3, machine=machine)


def stationary() -> cy.Program:
    """With weights that are loaded before the time loop and kept, in float32."""
    schedule = cy.Schedule().space("k", "j").time("i").prefetch("B").stream("A", along="j")
    A = cy.spec((3, 4), "float32")
    return matmul.compile(A, cy.spec((4, 5), "float32"), schedule=schedule, machine=cy.Machine())


def nothing() -> cy.Program:
    return matmul.compile(np.zeros((0, 3)), np.zeros((3, 2)))


def data_of(program: cy.Program) -> Any:
    return json.loads(program.core.to_bytes()[24:])


@pytest.mark.parametrize("make", [compiled, stationary])
def test_values_alive_at_once_lie_apart(make: Any) -> None:
    program = make()
    assert max(one.data for one in program.memory.classes) == program.memory_bytes
    for one in program.memory.classes:
        bars = [(slot, live) for slot in one.slots for live in slot.live]
        for (a, at), (b, when) in itertools.combinations(bars, 2):
            if a is not b and at[0] <= when[1] and when[0] <= at[1]:
                assert a.address + a.size <= b.address or b.address + b.size <= a.address
        assert all(0 <= first <= last < one.instructions for _, (first, last) in bars)
        assert one.data == max(slot.address + slot.size for slot in one.slots)


def test_persistent_values_live_over_all_instructions() -> None:
    for one in stationary().memory.classes:
        kept = [slot for slot in one.slots if slot.persistent]
        assert [(slot.size, slot.live) for slot in kept] == [(4, ((0, one.instructions - 1),))]


@pytest.mark.parametrize("depth", [1, 3])
def test_queues_and_code_are_those_of_the_program(depth: int) -> None:
    program = compiled(depth)
    data = data_of(program)
    for one, pe_class in zip(program.memory.classes, data["classes"], strict=True):
        into = {step["channel"] for step in pe_class["code"] if "channel" in step and "destination" in step}
        sizes = [math.prod(data["channels"][channel]["tile"]) * 8 for channel in into]
        assert one.queues == depth * sum(sizes) > 0
        assert one.instructions == len(pe_class["code"])
        assert one.code >= 4 * one.instructions
        assert one.total == one.data + one.queues + one.code


def test_loops_are_nested_intervals() -> None:
    for one in compiled().memory.classes:
        spans = [(first, last) for _, first, last in one.loops]
        assert spans == sorted(spans)
        for a, b in itertools.combinations(spans, 2):
            assert a[1] < b[0] or a[1] > b[1]


def test_picture(tmp_path: Any) -> None:
    memory = compiled().memory
    path = tmp_path / "memory.png"
    figure = memory.plot(path=path)
    assert path.read_bytes().startswith(b"\x89PNG")
    one = memory.fullest
    bars = [patch for patch in figure.axes[0].patches if type(patch) is Rectangle]
    assert len(bars) == sum(len(slot.live) for slot in one.slots)
    assert sum(bar.get_width() * bar.get_height() for bar in bars) == sum(
        slot.size * (last + 1 - first) for slot in one.slots for first, last in slot.live
    )
    alone = figure.figure.add_subplot()
    assert memory.plot("class 0", ax=alone) is figure
    assert "class 0" in alone.get_title(loc="left")


def test_text_and_html_tell_the_same_bytes() -> None:
    memory = compiled().memory
    html = memory._repr_html_()
    for one in memory.classes:
        for text in (str(memory), html):
            for part in (one.data, one.queues, one.code):
                assert f"{part:,}" in text
    (picture,) = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]+)"', html)
    bars = sum(len(slot.live) for slot in memory.fullest.slots)
    assert base64.b64decode(picture).count(b"<rect") == 1 + bars
    assert "<svg" not in html, "notebooks that are not trusted lose it"
    assert "4,096" in html
    assert str(memory) == repr(memory)


def test_png_has_every_value_at_its_addresses() -> None:
    image = pytest.importorskip("PIL.Image")
    memory = compiled().memory
    one = memory.fullest
    with image.open(io.BytesIO(memory._repr_png_())) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    height, width, _ = pixels.shape
    colors = colors_of(one.slots)
    for slot in one.slots:
        y = height - round(height * (slot.address + slot.size / 2) / one.data)
        for first, last in slot.live:
            x = int(width * (first + last + 1) / 2 / one.instructions)
            assert "#" + bytes(pixels[y, x].tolist()).hex() == colors[slot.name].lower()


def test_what_has_no_bound_is_told() -> None:
    memory = heat.compile(np.zeros((4, 4)), 2, schedule=cy.Schedule().space("i", "j").time("t")).memory
    assert memory.capacity is None
    assert any(one.queues is None for one in memory.classes)
    assert "no bound" in str(memory)
    memory.plot()


def test_refusals() -> None:
    memory = compiled().memory
    with pytest.raises(cy.ShapeError, match="no class `class 99`") as found:
        memory.plot("class 99")
    assert found.value.code == "CYC403"
    assert "class 0" in str(found.value)
    memory = nothing().memory
    assert "<table>" in memory._repr_html_()
    assert not memory.classes
    assert str(memory) == "no PE has a program"
    with pytest.raises(cy.ShapeError, match="no PE"):
        memory.plot()
