"""The measures of mappings are kept on disk: a search goes on where another ended."""

import mapped_kernels as kernels
import pytest

import cyclotron as cy
from cyclotron.mapper import search
from cyclotron.mapper.evaluate import Measured
from cyclotron.mapper.measure_cache import MeasureCache

ENERGY = cy.Energy(
    {name: {"float64": 0.7} for name in ("add", "multiply", "divide", "subtract", "sqrt")},
    hop_picojoules_per_byte=0.1,
    sram_picojoules_per_byte=0.1,
    memory_picojoules_per_byte={"default": 0.2},
)
MACHINE = cy.Machine(grid=(2, 2), pe=cy.PE(memory=1 << 20), energy=ENERGY)


CASE = kernels.factor(4)


class Counted:
    """Calls of `evaluate`, of which the one with a number may be an interrupt."""

    def __init__(self, monkeypatch, stop=None):
        self.schedules, self.compiled, self._stop = [], 0, stop
        self._evaluate = search.evaluate
        monkeypatch.setattr(search, "evaluate", self)

    def __call__(self, system, schedule, *rest):
        if len(self.schedules) == self._stop:
            raise KeyboardInterrupt
        self.schedules.append(schedule)
        found = self._evaluate(system, schedule, *rest)
        self.compiled += isinstance(found, Measured)
        return found


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_CACHE_DIR", str(tmp_path))
    return tmp_path


def mapped(machine=MACHINE, **options):
    options = {"top": 1000, "gap": 0, "candidates": 30, "time_limit": None, **options}
    found = cy.map(CASE.kernel, *CASE.args, machine=machine, **options)
    return [(one.schedule, one.cycles, one.memory, one.pes, one.energy) for one in found], found


def test_the_second_search_compiles_only_what_was_refused(monkeypatch):
    with monkeypatch.context() as patch:
        first = Counted(patch)
        once, report = mapped()
    assert first.compiled > 5
    with monkeypatch.context() as patch:
        second = Counted(patch)
        again, report_again = mapped()
    assert second.compiled == 0
    assert len(second.schedules) == len(first.schedules) - first.compiled
    assert again == once
    assert report_again.bound == report.bound
    assert report_again.report.tried == report.report.tried


def test_another_machine_or_size_is_searched_anew(monkeypatch):
    mapped()
    counted = Counted(monkeypatch)
    mapped(cy.Machine(grid=(2, 2), link=cy.Link(latency=2), pe=cy.PE(memory=1 << 20)))
    assert counted.compiled > 5


def test_an_interrupted_search_keeps_what_it_measured(monkeypatch):
    with monkeypatch.context() as patch:
        first = Counted(patch, stop=9)
        mapped()
    assert first.compiled > 3
    second = Counted(monkeypatch)
    mapped()
    tried_again = [one for one in second.schedules if one in first.schedules]
    assert len(tried_again) == len(first.schedules) - first.compiled


def test_searches_of_two_processes_keep_both(folder):
    kernel, arguments = CASE.kernel, CASE.args
    system = kernel.recurrences(*arguments).core
    ones, others = MeasureCache(system, MACHINE), MeasureCache(system, MACHINE)
    schedules = cy.Schedule().space("i"), cy.Schedule().space("j")
    for cache, schedule in zip((ones, others), schedules, strict=True):
        cache.put(Measured(schedule, schedule.time("k"), 7, 8, 9, (), 0.1))
        cache.write()
    found = MeasureCache(system, MACHINE)
    for schedule in schedules:
        assert found.get(schedule, (2,)) == Measured(schedule, schedule.time("k"), 7, 8, 9, (2,), 0.1)


@pytest.mark.parametrize(
    "content", [b"[]", b"[1]", b"nonsense", b'{"x": 1}', b'{"x": {"complete": {"space": 1}}}']
)
def test_a_file_of_another_layout_is_passed_over(content):
    kernel, arguments = CASE.kernel, CASE.args
    cache = MeasureCache(kernel.recurrences(*arguments).core, MACHINE)
    schedule = cy.Schedule().space("i")
    cache.put(Measured(schedule, schedule, 7, 8, 9))
    cache.write()
    cache._store.put(cache._key, content.replace(b"x", repr(schedule.to_dict()).encode()))
    assert MeasureCache(kernel.recurrences(*arguments).core, MACHINE).get(schedule, ()) is None
