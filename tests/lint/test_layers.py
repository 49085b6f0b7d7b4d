"""Includes and imports that point up, or round, are found on small made-up trees, and none in this one."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/checks"))

import layers  # noqa: E402


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cyclotron_layer(support)\n"
        "cyclotron_layer(poly EXTERNAL cyclotron::isl)\n"
        "cyclotron_layer(recurrence poly)\n"
        "cyclotron_layer(program)\n"
    )
    for layer in ("support", "poly", "recurrence", "program", "bindings"):
        (tmp_path / "src" / layer).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "include", "complaint"),
    [
        ("src/recurrence/a.cpp", "<cyclotron/poly/set.hpp>", None),
        ("src/recurrence/a.cpp", '"cyclotron/support/error.hpp"', None),
        ("src/bindings/a.cpp", "<cyclotron/program/program.hpp>", None),
        ("src/bindings/a.cpp", "<pybind11/stl.h>", None),
        ("src/poly/a.cpp", "<isl/set.h>", None),
        ("src/poly/a.cpp", "<cyclotron/recurrence/system.hpp>", "poly may not include recurrence"),
        ("src/program/deep/a.hpp", "<cyclotron/poly/set.hpp>", "program may not include poly"),
        ("src/program/a.cpp", "<pybind11/stl.h>", "only bindings"),
        ("src/program/a.cpp", "<isl/set.h>", "only poly"),
        ("src/extra/a.cpp", "<vector>", "src/extra: not in the layer list"),
    ],
)
def test_an_include_that_points_up_is_found(tree, file, include, complaint):
    path = tree / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#include {include}\n")
    found = layers.violations(tree)
    assert bool(found) == bool(complaint)
    assert not complaint or complaint in found[0]


LAYER_TABLE = """
[tool.cyclotron]
accessors = ["compiler.program.Program.plot"]
[tool.cyclotron.layers]
support = []
"language.values" = []
"language.syntax" = ["language.values"]
language = ["language.syntax"]
compiler = ["language"]
plot = ["compiler"]
__init__ = ["plot"]
"""
ACCESSOR = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from cyclotron.plot import Plots, other
class Program:
    @property
    def plot(self) -> Plots:
        from cyclotron.plot import Plots
        return Plots(self)
"""


@pytest.fixture
def package(tmp_path):
    """A package that has no fault, to be given one."""
    (tmp_path / "pyproject.toml").write_text(LAYER_TABLE)
    for name in ("support", "language", "language/values", "language/syntax", "compiler", "plot", ""):
        (tmp_path / "cyclotron" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "cyclotron" / name / "__init__.py").touch()
    (tmp_path / "cyclotron/_core.pyi").touch()
    (tmp_path / "cyclotron/language/values/affine.py").touch()
    (tmp_path / "cyclotron/compiler/program.py").write_text(ACCESSOR.replace(", other", ""))
    return tmp_path


def faults_with(package, files):
    for path, text in files.items():
        file = package / "cyclotron" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return layers.violations_of_package(package)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("language/syntax/a.py", "from cyclotron.language.values.affine import Affine"),
        ("language/syntax/a.py", "from ..values import affine\nfrom ..values.affine import Affine"),
        ("language/values/a.py", "from cyclotron.support import errors\nfrom cyclotron import _core"),
        ("compiler/a.py", "def f():\n    import cyclotron.language.syntax"),
        ("compiler/a.py", "from importlib import import_module\npandas = import_module('pandas')"),
        ("compiler/a.py", "import numpy as np\nfrom os.path import join"),
        ("plot/a.py", "from cyclotron.compiler.program import Program"),
        ("__init__.py", "from cyclotron.compiler.program import Program\nfrom cyclotron import plot"),
    ],
)
def test_an_import_that_points_down_is_none_of_the_faults(package, file, text):
    assert faults_with(package, {file: text}) == []


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("language/values/a.py", "import cyclotron.language.syntax", ":1: language.values may not import"),
        (
            "language/values/a.py",
            "def f():\n    from cyclotron.language import syntax",
            ":2: language.values",
        ),
        (
            "language/values/a.py",
            "class A:\n  def f(self):\n    from cyclotron import plot",
            ":3: language.v",
        ),
        (
            "language/values/a.py",
            "from cyclotron.language import kernel",
            "language.values may not import lan",
        ),
        ("language/values/a.py", "from ..syntax import rewrite", "may not import language.syntax"),
        ("language/values/a.py", "from .. import syntax", "may not import language.syntax"),
        (
            "language/__init__.py",
            "from .compiler import program\nfrom ..compiler import program",
            "__init__.py:2",
        ),
        (
            "support/a.py",
            "if TYPE_CHECKING:\n    from cyclotron.compiler import program",
            ":2: support may not",
        ),
        (
            "support/a.py",
            "if typing.TYPE_CHECKING:\n    import cyclotron",
            "may not import __init__ (cyclotron)",
        ),
        (
            "support/a.py",
            "try:\n    pass\nexcept A:\n    import cyclotron.language",
            "may not import language",
        ),
        (
            "support/a.py",
            "import_module('cyclotron.language')",
            "imports 'cyclotron.language' by import_module",
        ),
        (
            "support/a.py",
            "importlib.import_module(f'cyclotron.{a}')",
            "imports 'cyclotron.' by import_module",
        ),
        ("support/a.py", "import_module('.a', __package__)", "imports '.a' by import_module"),
        ("support/a.py", "__import__('cyclotron')", "imports 'cyclotron' by __import__"),
        ("support/a.py", "from numpy import *", "imports all names of numpy"),
        (
            "plot/a.py",
            "from cyclotron.compiler.program import *",
            "imports all names of cyclotron.compiler.pr",
        ),
        ("words/a.py", "", "cyclotron/words/a.py: not in the table"),
        ("words.py", "", "cyclotron/words.py: not in the table"),
    ],
)
def test_an_import_that_points_up_or_hides_is_found(package, file, text, complaint):
    found = faults_with(package, {file: text})
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ACCESSOR, 4),  # `other` is used by nothing
        (ACCESSOR.replace(", other", "") + "def f(a: Plots): ...", 4),
        (ACCESSOR.replace(", other", "").replace("if TYPE_CHECKING:", "if True:"), 4),
        (ACCESSOR.replace("class Program", "class Result").replace(", other", ""), 4),
        (ACCESSOR.replace("def plot", "def picture").replace(", other", ""), 4),
        (
            ACCESSOR.replace(", other", "")
            + "\n    def _repr_svg_(self):\n        from cyclotron import plot",
            12,
        ),
    ],
)
def test_an_accessor_covers_its_own_import_only(package, text, line):
    found = faults_with(package, {"compiler/program.py": text})
    assert f"cyclotron/compiler/program.py:{line}: compiler may not import plot (cyclotron.plot)" in found


def test_an_accessor_may_load_pictures_only(package):
    (package / "pyproject.toml").write_text(
        LAYER_TABLE.replace("plot = [", 'kernel = ["language"]\nplot = [')
    )
    found = faults_with(
        package,
        {
            "kernel.py": "",
            "compiler/program.py": ACCESSOR.replace(", other", "") + "        import cyclotron.kernel",
        },
    )
    assert found == ["cyclotron/compiler/program.py:10: compiler may not import kernel (cyclotron.kernel)"]


@pytest.mark.parametrize(
    ("files", "size", "way"),
    [
        (
            {"a": "from cyclotron.support import b", "b": "def f():\n  from . import a"},
            2,
            "support.a -> support.b",
        ),
        ({"a": "from . import a"}, 1, "support.a -> support.a"),
        (
            {
                "a": "from . import b",
                "b": "from . import c",
                "c": "from . import a, d",
                "d": "from . import c",
            },
            4,
            "support.c -> support.d -> support.c",
        ),
    ],
)
def test_modules_that_import_each_other_are_found(package, files, size, way):
    found = faults_with(package, {f"support/{name}.py": text for name, text in files.items()})
    assert len(found) == 1
    assert f"{size} modules import each other, the shortest way round: {way}" in found[0]


def test_the_table_lists_only_what_there_is(package):
    table = LAYER_TABLE.replace("Program.plot", "Program.picture").replace("plot = [", "mpi = []\nplot = [")
    (package / "pyproject.toml").write_text(table)
    found = faults_with(package, {"compiler/program.py": ""})
    assert found == [
        "pyproject.toml: [tool.cyclotron.layers] lists mpi, which does not exist",
        "pyproject.toml: accessors lists compiler.program.Program.picture, which imports nothing",
    ]


def test_the_root_of_the_package_stays_small(package):
    table = LAYER_TABLE + "".join(f"m{i} = []\n" for i in range(10))
    (package / "pyproject.toml").write_text(table)
    found = faults_with(package, {f"m{i}.py": "" for i in range(10)})
    assert found == ["cyclotron: 11 modules in the root of the package, at most 10"]


def test_the_report_counts_what_is_left(package):
    faults_with(
        package,
        {
            "support/a.py": "from cyclotron import plot\nfrom . import b",
            "support/b.py": "import cyclotron.plot\nfrom . import a",
        },
    )
    assert layers.report(package).splitlines() == [
        "2 imports point up",
        "    2  support -> plot",
        "1 circles",
        "    2  support.a support.b",
        "       the shortest way round: support.a -> support.b -> support.a",
        "0 other faults",
        "1 exceptions: compiler.program.Program.plot",
    ]


def test_a_layer_uses_only_layers_listed_before_it():
    with pytest.raises(SystemExit, match="poly"):
        layers.read_layers("cyclotron_layer(recurrence poly)\ncyclotron_layer(poly)\n")
    with pytest.raises(SystemExit, match=r"pyproject\.toml: a uses b, which is not listed before it"):
        layers.read_table("[tool.cyclotron.layers]\na = ['b']\nb = []\n")


def test_nothing_in_this_tree_points_up_or_round():
    assert layers.violations(ROOT) == []
    assert layers.violations_of_package(ROOT) == []
