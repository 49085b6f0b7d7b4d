"""Type checkers know kernels by their arguments and results, and all public names, lazy ones too."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("typed_user_script.py")
WRONG = """
import numpy as np
from typed_user_script import matmul

matmul(np.ones((2, 3)))
matmul("A", np.ones((3, 4)))
number: int = matmul(np.ones((2, 3)), np.ones((3, 4)))
"""


def test_script_runs() -> None:
    """The text that is checked is no dead one."""
    assert runpy.run_path(str(SCRIPT))["result"].cycles > 0


def test_mypy(tmp_path: Path) -> None:
    """Strict mypy has nothing to say of it, and finds three calls that are wrong."""
    api = pytest.importorskip("mypy.api")
    options = ["--strict", "--cache-dir", str(ROOT / ".mypy_cache")]
    text, _, status = api.run([*options, str(SCRIPT)])
    assert status == 0, text
    wrong = SCRIPT.with_name("typed_user_mistakes.py")
    wrong.write_text(WRONG)
    try:
        text, _, _ = api.run([*options, str(wrong), str(SCRIPT)])
    finally:
        wrong.unlink()
    assert [line.rpartition("[")[2] for line in text.splitlines() if "error" in line][:3] == [
        "call-overload]",
        "call-overload]",
        "assignment]",
    ], text


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright(tmp_path: Path) -> None:
    """Neither has strict pyright."""
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "include": ["{SCRIPT}"], "extraPaths": ["{ROOT}"]}}'
    )
    done = subprocess.run(
        ["pyright", "--project", str(tmp_path), "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
