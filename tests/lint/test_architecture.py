"""The architecture page shows the layers as the build and the layer check have them."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/checks"))

import layers  # noqa: E402

PAGE = (ROOT / "docs/architecture.md").read_text()


def shown(folder):
    """Return the layers of the page below a folder in their order, each with what it may use."""
    rows = re.findall(rf"^{folder}/(\S+) .*  ?<- (.*)$", PAGE, re.MULTILINE)
    names = [re.sub(r"\.py$", "", path.rstrip("/")).replace("/", ".") for path, _ in rows]
    return dict(zip(names, ([] if used == "-" else used.split() for _, used in rows), strict=True))


def test_the_layers_of_the_core_are_those_of_the_build():
    listed = layers.direct_layers((ROOT / "CMakeLists.txt").read_text())
    assert list(shown("src").items()) == list(listed.items())


def test_the_layers_of_the_package_are_those_of_the_check():
    table = layers.read_table((ROOT / "pyproject.toml").read_text())
    assert list(shown("cyclotron").items()) == list(table.direct.items())


def test_the_accessors_are_those_of_the_check():
    table = layers.read_table((ROOT / "pyproject.toml").read_text())
    named = {".".join(accessor.split(".")[-2:]) for accessor in table.accessors}
    assert set(re.findall(r"`(\w+\.(?:plot|explore))`", PAGE)) == named


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir()))
def test_every_folder_of_the_core_is_shown(folder):
    assert re.search(rf"^src/{folder}/ +\w", PAGE, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|cyclotron)/[\w/]+/?)`", PAGE))))
def test_every_folder_that_the_text_names_is_there(path):
    assert (ROOT / path).is_dir()
