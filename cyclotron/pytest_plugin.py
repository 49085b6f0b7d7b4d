"""The fixture ``cyclotron_check`` of pytest, which finds it where Cyclotron is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cyclotron.runtime.check import Check


@pytest.fixture
def cyclotron_check() -> Callable[..., Check]:
    """Return a function that checks a kernel, or a program, on backends against its own Python body.

    ``cyclotron_check(kernel, *arguments, schedule=..., machine=..., backends=("sim", "local"))``
    compiles and checks; a test fails with the difference. Options are those of `cyclotron.check`.

    Examples
    --------
    In a file of tests::

        def test_matmul(cyclotron_check):
            cyclotron_check(matmul, np.eye(4), np.ones((4, 4)), schedule=cy.schedules.cannon(matmul))
    """

    def check(
        subject: Any, *arguments: Any, schedule: Any = None, machine: Any = None, **options: Any
    ) -> Check:
        import cyclotron as cy

        if not isinstance(subject, cy.Kernel):
            return cy.check(subject, *arguments, **options)
        program = subject.compile(*arguments, schedule=schedule, machine=machine)
        return cy.check(program, **{"backends": ("sim", "local"), **options})

    return check
