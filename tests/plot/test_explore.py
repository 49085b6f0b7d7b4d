"""The interactive view of runs: its data against the events, the page in a real browser, the widget."""

import json
import re
import sys
import zlib

import numpy as np
import pytest
from browser import CHROMIUM, Page

import cyclotron as cy
from cyclotron.plot import _explore_data as explore_data

KINDS = {"float64": "f8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "int8": "i1", "int16": "i2"}
READY = "document.querySelector('.cyclotron').dataset.frames > 0"


@cy.kernel
def solve(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


def simulate(latency=1, size=5, **options):
    machine = cy.Machine(link=cy.Link(latency=latency, depth=1))
    program = solve.compile(cy.spec((size, size)), cy.spec((size, size)), machine=machine)
    return cy.run(program, backend="sim", functional=False, **options)


def views(*results, critical_path=None):
    """The data as the page reads them."""
    data = zlib.decompress(explore_data.data_of(results, critical_path))
    length = int.from_bytes(data[:8], "little")

    def array(found):
        if set(found) != {"type", "at", "length"}:
            return found
        kind = KINDS.get(found["type"], found["type"])
        return np.frombuffer(data, kind, found["length"], 8 + length + found["at"])

    return json.loads(data[8 : 8 + length], object_hook=array)["views"]


def states(view, cycle):
    """The state of each cell at a cycle, by its name; of cells that do nothing ``""``."""
    spans = view["spans"]
    found = []
    for first, last in zip(spans["offsets"][:-1], spans["offsets"][1:], strict=True):
        now = [n for n in range(first, last) if spans["starts"][n] <= cycle and cycle < int(spans["ends"][n])]
        assert len(now) <= 1
        found.append(view["states"][spans["states"][now[0]]]["name"] if now else "")
    return found


def expected(result, cycle):
    """The same, from the events and messages themselves."""
    found = [""] * int(np.prod(result.grid))
    for event in result.events:
        if event["start"] <= cycle < event["end"]:
            found[event["pe"]] = str(event["operator"])
    for message in result.messages:
        if message["waiting"] <= cycle < message["received"]:
            found[message["receiver"]] = "waits for a message"
        if message["ready"] <= cycle < message["sent"]:
            found[message["sender"]] = "waits to send"
    return found


@pytest.fixture(scope="module")
def result():
    return simulate(latency=3)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the PATH")
    with Page(tmp_path_factory.mktemp("profile")) as page:
        yield page


def test_states_are_those_of_events_and_messages(result):
    (view,) = views(result)
    seen = set()
    for cycle in range(result.cycles):
        assert states(view, cycle) == expected(result, cycle)
        seen.update(states(view, cycle))
    assert seen == {
        "", "multiply", "multiply_add", "subtract", "divide", "waits for a message", "waits to send",
    }  # fmt: skip


def test_each_cell_has_its_class_and_cycles(result):
    (view,) = views(result)
    core = result.program.core
    assert view["class_of"].tolist() == [core.class_of(pe) + 1 for pe in np.ndindex(result.grid)]
    for one, cause in zip(view["counts"], ("busy", "stall_empty", "stall_full", "idle"), strict=True):
        np.testing.assert_array_equal(one["cycles"], result.stats[cause].reshape(-1))
    for one, of in zip(view["classes"], core.classes, strict=True):
        assert len(one["text"]) == len(one["instructions"])
        assert one["bytes"] == max(address + size for address, size, *_ in one["memory"])
        assert one["region"] == of.region


def test_the_path_adds_up_to_the_cycles(result):
    (view,) = views(result)
    assert sum(end - start for _, _, start, end, *_ in view["path"]) == result.cycles
    (view,) = views(result, critical_path=False)
    assert not view["path"]


def test_large_arrays_are_samples_and_say_so(monkeypatch, result):
    monkeypatch.setattr(explore_data, "_MOST_PES", 9)
    (view,) = views(result)
    assert view["notes"] == ["9 of 25 PEs are shown: every 2nd of each dimension"]
    assert view["shape"] == [3, 3]
    for cycle in range(result.cycles):
        chosen = np.array(expected(result, cycle), dtype=object).reshape(result.grid)[::2, ::2]
        assert states(view, cycle) == chosen.reshape(-1).tolist()
    np.testing.assert_array_equal(view["counts"][0]["cycles"], result.stats["busy"][::2, ::2].reshape(-1))


def test_many_records_are_samples(monkeypatch, result):
    monkeypatch.setattr(explore_data, "_MOST_SPANS", 100)
    monkeypatch.setattr(explore_data, "_MOST_RECORDS", 10)
    (view,) = views(result)
    assert view["shape"] == [3, 3]
    assert "no critical path is followed: explore(critical_path=True)" in view["notes"][1]


def test_without_events_there_is_nothing_to_scrub_over():
    result = simulate(event_limit=3)
    (view,) = views(result)
    assert view["spans"] is None
    assert re.match(r"no cycles to scrub over: .*event_limit=\d+ to keep them all", view["notes"][0])
    with pytest.raises(cy.ExecutionError) as caught:
        result.explore(critical_path=True).to_html()
    assert caught.value.code == "CYC717"


def test_other_backends_have_nothing_to_explore():
    with pytest.raises(cy.ExecutionError) as caught:
        cy.run(solve.compile(np.eye(2), np.eye(2))).explore()
    assert caught.value.code == "CYC712"


def test_without_anywidget_the_message_says_what_to_do(monkeypatch, result):
    from cyclotron.plot import _explore

    _explore._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    view = result.explore()
    with pytest.raises(cy.BackendUnavailable, match=r"cyclotron-compiler\[notebook\].*to_html") as caught:
        view.widget
    assert caught.value.code == "CYC722"
    assert "<iframe" in view._repr_mimebundle_()["text/html"]
    monkeypatch.setattr(_explore, "_MOST_INLINE", 10)
    assert "needs anywidget" in view._repr_mimebundle_()["text/html"]


def test_the_widget_has_the_data_and_is_steered(result):
    pytest.importorskip("anywidget")
    view = result.explore()
    view.widget.cycle = 4
    assert view.widget.get_state()["cycle"] == 4
    assert view.widget.data == view._data
    assert {"application/vnd.jupyter.widget-view+json", "text/html"} <= set(view._repr_mimebundle_())


def test_a_page_needs_no_network(result, tmp_path):
    path = tmp_path / "run.html"
    page = result.explore().to_html(path)
    assert path.read_text(encoding="utf-8") == page
    assert not re.search(r"https?://|<link|src=|import ", page)


def open_page(page, path, *results):
    results[0].explore(*results[1:]).to_html(path)
    page.requests.clear()
    page.open(path, READY)
    assert page.errors == []
    assert len(page.requests) == 1


def scrub(page, cycle):
    page.evaluate(
        f"{{ const slider = document.querySelector('input[type=range]'); slider.value = {cycle};"
        "slider.dispatchEvent(new Event('input')); }"
    )
    page.wait(f"document.querySelector('.cyclotron').dataset.cycle == {cycle}")


def colors(page):
    """The colour in each cell's upper left part, row by row."""
    found = page.evaluate(
        "(() => { const canvas = document.querySelector('canvas.array');"
        "const context = canvas.getContext('2d');"
        "const side = canvas.width / 5; const all = [];"
        "for (let y = 0; y < 5; y++) for (let x = 0; x < 5; x++)"
        " all.push([...context.getImageData((x + 0.25) * side, (y + 0.25) * side, 1, 1).data].slice(0, 3));"
        "return all; })()"
    )
    return ["#" + bytes(color).hex() for color in found]


def test_the_browser_shows_each_cycle(page, result, tmp_path):
    open_page(page, tmp_path / "run.html", result)
    (view,) = views(result)
    palette = {state["name"]: state["color"].lower() for state in view["states"]} | {"": "#ececec"}
    for cycle in (0, 7, result.cycles // 2, result.cycles - 1, 3):
        scrub(page, cycle)
        assert colors(page) == [palette[name] for name in expected(result, cycle)]
        computing = sum(name != "" and "waits" not in name for name in expected(result, cycle))
        assert f"Cycle {cycle} of {result.cycles}: {computing} of 25 PEs compute" in page.text("p.now")
    page.evaluate("document.querySelector('input[name=waits]').click()")
    page.wait("!document.querySelector('.legend').innerText.includes('waits')")
    assert not {palette["waits for a message"], palette["waits to send"]} & set(colors(page))


def test_a_click_shows_program_memory_and_line(page, result, tmp_path):
    open_page(page, tmp_path / "run.html", result)
    event = next(e for e in result.events if e["pe"] == 3 * 5 + 2 and e["operator"] == "multiply_add")
    scrub(page, int(event["start"]))
    box = page.evaluate("document.querySelector('canvas.array').getBoundingClientRect().toJSON()")
    page.click(box["x"] + 2.5 / 5 * box["width"], box["y"] + 3.5 / 5 * box["height"])
    page.wait("document.querySelector('.details .here')")
    assert page.text(".details h3") == "PE (i = 3, r = 2)"
    assert "X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]" in page.text(".source")
    assert re.match(r".*test_explore\.py:\d+\n", page.text(".source"))
    number = result.program.core.class_of([3, 2])
    assert page.text(".program") == "\n".join(
        result.program.core.classes[number].text.rstrip("\n").split("\n")[1:]
    )
    assert page.text(".program [aria-current]").startswith("    [i, r]_X.a ← [i, r]_X.a + [i, r]_L")
    assert f"multiply_add, j = {event['loops'][0]}; from cycle {event['start']}" in page.text(".details .now")
    assert page.evaluate(
        "[...document.querySelectorAll('.memory .here td:last-child')].map(c => c.innerText)"
    )


def test_the_keyboard_chooses_and_scrubs(page, result, tmp_path):
    open_page(page, tmp_path / "run.html", result)
    page.evaluate("document.querySelector('canvas.array').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.press(key)
    page.wait("document.querySelector('.details h3').innerText == 'PE (i = 1, r = 1)'")
    page.evaluate("document.querySelector('input[type=range]').focus()")
    page.press("ArrowRight")
    page.wait("document.querySelector('.cyclotron').dataset.cycle == 1")
    page.press("End")
    page.wait(f"document.querySelector('.cyclotron').dataset.cycle == {result.cycles - 1}")
    slider = "document.querySelector('input[type=range]')"
    assert page.evaluate(f"{slider}.ariaValueText") == f"cycle {result.cycles - 1} of {result.cycles}"
    unnamed = "[...document.querySelectorAll('input, select, button, canvas:not([aria-hidden])')]"
    assert (
        page.evaluate(f"{unnamed}.filter(e => !(e.ariaLabel || e.innerText || e.labels?.length)).length") == 0
    )


def test_it_plays(page, result, tmp_path):
    open_page(page, tmp_path / "run.html", result)
    page.evaluate("document.querySelector('.play').click()")
    page.wait("document.querySelector('.cyclotron').dataset.cycle >= 3")
    assert page.text(".play") == "Pause"
    page.evaluate("document.querySelector('.play').click()")
    assert page.text(".play") == "Play"


def test_two_runs_side_by_side(page, result, tmp_path):
    fast = simulate(latency=1)
    open_page(page, tmp_path / "two.html", fast, result)
    scrub(page, fast.cycles + 1)
    first, second = page.evaluate("[...document.querySelectorAll('p.now')].map(p => p.innerText)")
    assert first.startswith(f"Ended after {fast.cycles} cycles: 0 of 25")
    assert second.startswith(f"Cycle {fast.cycles + 1} of {result.cycles}")
    page.evaluate("document.querySelector('input[name=path]').click()")
    page.wait("document.querySelector('.path').innerText.startsWith('Critical path, cycles')")


def test_layers_of_the_whole_run(page, result, tmp_path):
    open_page(page, tmp_path / "run.html", result)
    page.evaluate(
        "{ const layer = document.querySelector('.layer'); layer.selectedIndex = 1;"
        "layer.dispatchEvent(new Event('change')); }"
    )
    mean = 100 * result.utilization.mean()
    text = f"cycles, computing {mean:.{int(mean < 10)}f} %"
    page.wait(f"document.querySelector('p.now').innerText.includes({text!r})")


def test_a_dark_ground(tmp_path, result):
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the PATH")
    with Page(tmp_path / "profile", dark=True) as page:
        open_page(page, tmp_path / "run.html", result)
        assert page.evaluate("document.querySelector('.cyclotron').classList.contains('dark')")
        scrub(page, result.cycles - 1)
        assert "#303030" in colors(page)


def test_a_large_array_opens_and_scrubs(page, tmp_path):
    """In a tenth of the time that a busy machine is given."""
    program = solve.compile(cy.spec((64, 64)), cy.spec((64, 64)))
    open_page(page, tmp_path / "run.html", cy.run(program, backend="sim", functional=False))
    milliseconds = page.evaluate(
        "(async () => { const slider = document.querySelector('input[type=range]');"
        "const start = performance.now();"
        "for (let n = 0; n < 30; n++) { slider.value = n * 5; slider.dispatchEvent(new Event('input'));"
        "await new Promise(requestAnimationFrame); } return (performance.now() - start) / 30; })()"
    )
    assert milliseconds < 200
