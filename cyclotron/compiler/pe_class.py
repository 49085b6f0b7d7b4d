"""The programs of the PEs, as values that print themselves."""

from __future__ import annotations

import html
from dataclasses import dataclass

from cyclotron.support.latex import aligned, to_latex


@dataclass(frozen=True)
class PeClass:
    """The PEs that run one program.

    Attributes
    ----------
    name : str
        E.g. ``class 4``.
    region : str
        Their grid coordinates, as constraints.
    pe_count : int
        How many there are.
    text : str
        The program, in the paper's notation. A name that several slots have has the line of its statement
        (`u@36`), and the slots of operands of one statement have letters (`u.a`).

    Examples
    --------
    >>> @cy.kernel
    ... def double(x):
    ...     return 2 * x
    >>> program = double.compile(np.ones(8), schedule=cy.Schedule().space("i"))
    >>> [(pe_class.region, pe_class.pe_count) for pe_class in program.classes]
    [('0 <= i <= 7', 8)]
    """

    name: str
    region: str
    pe_count: int
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.name}: {self.region}, {self.pe_count} PEs>"

    def _repr_html_(self) -> str:
        # As in Fig. 14: what comes from memory is blue, what goes there is green.
        colors = {"load": "#2850c8", "store": "#149646"}
        lines = []
        for line in self.text.rstrip("\n").split("\n"):
            color = colors.get(line.rsplit("   ", 1)[-1])
            text = html.escape(line)
            lines.append(f'<span style="color:{color}">{text}</span>' if color else text)
        return "<pre>" + "\n".join(lines) + "</pre>"

    def _repr_latex_(self) -> str:
        rows = []
        for line in self.text.rstrip("\n").split("\n")[1:]:
            indent = (len(line) - len(line.lstrip())) // 2 - 1
            statement = line.strip().rsplit("   ", 1)[0]
            rows.append((r"\quad " * max(indent, 0) + to_latex(statement),))
        return aligned([(rf"\mathbf{{Cell}}\ {to_latex(self.region)}",), *rows])
