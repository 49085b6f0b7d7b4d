"""The checks of the sources find what they are for, on small made-up trees, and nothing in this one."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools/checks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


layers, sizes, error_codes = load("layers"), load("sizes"), load("error_codes")


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


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("arrays/a.py", "from cyclotron.language.expressions.affine import Affine", None),
        ("arrays/a.py", "from cyclotron.language.text import syntax", "arrays may not import text"),
        ("expressions/a.py", "import cyclotron.language.arrays.whole", "expressions may not import arrays"),
        ("expressions/a.py", "def f():\n    from cyclotron.language.arrays import whole", None),
        ("words/a.py", "", "cyclotron/language/words: not in the list"),
    ],
)
def test_an_import_that_points_up_in_the_language_is_found(tmp_path, file, text, complaint):
    path = tmp_path / "cyclotron/language" / file
    path.parent.mkdir(parents=True)
    (path.parent / "__init__.py").touch()
    path.write_text(text)
    found = layers.violations_of_language(tmp_path)
    assert bool(found) == bool(complaint)
    assert not complaint or complaint in found[0]


def test_a_layer_uses_only_layers_listed_before_it():
    with pytest.raises(SystemExit, match="poly"):
        layers.read_layers("cyclotron_layer(recurrence poly)\ncyclotron_layer(poly)\n")


def test_long_files_are_found(tmp_path):
    for path, lines in {"cyclotron/a.py": 501, "cyclotron/b.py": 500, "src/bindings/c.cpp": 151}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("\n" * lines)
    found = sizes.violations(tmp_path, ["cyclotron/a.py", "cyclotron/b.py", "src/bindings/c.cpp", "gone.py"])
    assert [line.split(":")[0] for line in found] == ["cyclotron/a.py", "src/bindings/c.cpp"]


def test_codes_without_a_text_are_found(tmp_path):
    nines = "CYC9"  # not a code of ours, and none of this file
    for path, text in {
        "src/a.cpp": f'throw Error({{.code = "{nines}98"}}); // see {nines}97',
        "cyclotron/b.py": f"raise Error(code='{nines}96')",
        "tests/golden/errors/b.txt": f"a message [{nines}96]\n     = help: a help\n",
        "tests/golden/refusals/c.txt": f"a message [{nines}96]\n" + "line\n" * 15,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert sorted(error_codes.raised(tmp_path)) == [f"{nines}96", f"{nines}98"]
    assert [fault.split(": ") for fault in error_codes.faults(tmp_path)] == [
        ["src/a.cpp", f"{nines}98 is in no text of tests/golden/errors and tests/golden/refusals"],
        ["tests/golden/refusals/c.txt", "16 lines, more than 15"],
        ["tests/golden/refusals/c.txt", "does not say what to do"],
    ]


def test_this_tree_has_no_include_that_points_up():
    assert layers.violations(ROOT) + layers.violations_of_language(ROOT) == []


@pytest.mark.parametrize("script", ["tools/bootstrap", "tools/format", "tools/lint", ".ci/run"])
def test_scripts_parse(script):
    subprocess.run(["bash", "-n", ROOT / script], check=True)
