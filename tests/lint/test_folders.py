"""The folders inside a layer keep their order, on a small made-up tree and in this one."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("folders", ROOT / "tools/checks/folders.py")
folders = importlib.util.module_from_spec(spec)
spec.loader.exec_module(folders)

LISTED = """\
cyclotron_folder(runtime engine/kernels)
cyclotron_folder(runtime engine engine/kernels)
cyclotron_folder(runtime local engine)
"""


@pytest.mark.parametrize(
    ("file", "include", "complaint"),
    [
        ("engine/code.cpp", "code.hpp", None),
        ("engine/vectorize/body.cpp", "../code.hpp", None),
        ("engine/code.cpp", "kernels/kernels.hpp", None),
        ("local/run.cpp", "../engine/kernels/kernels.hpp", None),
        ("run.cpp", "local/run.hpp", None),
        ("local/run.cpp", "../../bindings/arrays.hpp", None),
        ("engine/kernels/blas.cpp", "../code.hpp", "engine/kernels may not include engine"),
        ("engine/code.cpp", "../local/run.hpp", "engine may not include local"),
        ("local/run.cpp", "../run.hpp", "local may not include ../run.hpp"),
        ("mpi/run.cpp", "run.hpp", "src/runtime/mpi/run.cpp: not in a folder"),
    ],
)
def test_an_include_against_the_order_of_folders_is_found(tmp_path, file, include, complaint):
    (tmp_path / "CMakeLists.txt").write_text(LISTED)
    path = tmp_path / "src/runtime" / file
    path.parent.mkdir(parents=True)
    path.write_text(f'#include "{include}"\n')
    found = folders.violations(tmp_path)
    assert len(found) == (complaint is not None)
    assert complaint is None or complaint in found[0]


def test_a_folder_uses_only_folders_listed_before_it():
    with pytest.raises(SystemExit, match="engine uses local, which is not listed before it"):
        folders.read_folders("cyclotron_folder(runtime engine local)\ncyclotron_folder(runtime local)\n")


def test_this_tree_keeps_the_order():
    assert folders.violations(ROOT) == []
