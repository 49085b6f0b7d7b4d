"""Roles of the parts of the machine in a program: controller, workers, reduction PEs, relays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast, get_args, overload

from cyclotron import _core
from cyclotron.compiler.pe_class import PeClass
from cyclotron.compiler.sections import Section, Sections
from cyclotron.support.errors import ProgramError
from cyclotron.support.tables import Row, Table

_HEADER = ("role", "PEs", "where", "holds", "bytes", "calls")

RoleName = Literal["worker", "reduction", "relay", "executive"]
ControlRoleName = Literal["executive", "response", "merge"]
_OF_FIELD: tuple[RoleName, ...] = ("worker", "reduction", "relay")


class RolePrograms(tuple[PeClass, ...]):
    """The programs of the PEs of one role, which print themselves one after the other."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(str(pe_class) for pe_class in self)


@dataclass(frozen=True)
class Controller:
    """The controller: it decides where loops end, and calls the procedures of the other PEs.

    Attributes
    ----------
    place : tuple of int
        Where it stands: the coordinates of the middle of the grid, from which the PEs are nearest.
    loops : tuple of str
        Its control flow: the loops whose ends depend on data; no other PE decides.
    flags : tuple of str
        Its data: the values by which it decides, as ``name (file.py:12)``.
    sections, calls : int
        What it holds of the program: sections, and the calls in them.
    mean_hops : float
        To a PE that has a program, on average.
    most_hops : int
        To the farthest one.
    """

    place: tuple[int, ...]
    loops: tuple[str, ...]
    flags: tuple[str, ...]
    sections: int
    calls: int
    mean_hops: float
    most_hops: int

    @classmethod
    def of(cls, program: _core.Program) -> Controller | None:
        """Return that of a program; None where nothing depends on data, or the machine has no `Control`.

        Parameters
        ----------
        program : _core.Program
            Compiled or loaded.
        """
        if not program.endings or program.machine.control is None:
            return None
        sections = Sections.of(program)
        return cls(
            tuple(program.control_place),
            tuple(ending["loop"] for ending in program.endings),
            tuple(dict.fromkeys(one.waits_for for one in sections if one.waits_for)),
            len(sections),
            sum(len(section.calls) for section in sections),
            *program.control_distance,
        )

    def _row(self) -> list[str]:
        where = f"{self.place}, {self.mean_hops:.2f} hops away on average, {self.most_hops} at most"
        holds = f"loops over {', '.join(self.loops)}; {', '.join(self.flags)}; {self.sections} sections"
        return ["controller", "", where, holds, "", f"makes {self.calls}"]


@dataclass(frozen=True)
class Role:
    """The PEs of one class, and what they are for.

    Attributes
    ----------
    name : {"worker", "reduction", "relay", "executive"}
        Workers hold data of the program, or compute. Reduction PEs only join what they are sent into sums,
        products, maxima and the like, and relays pass it on: they hold no data of the program. The executive
        computes and holds global data (`Control.global_data`).
    pe_class : int
        The class.
    region : str
        Where its PEs are, as constraints on their coordinates.
    pes : int
        How many there are.
    tensors : tuple of str
        Inputs and outputs of which they hold elements.
    memory_bytes : int
        Of each.
    calls : tuple of (int, int)
        Section and number of each call that they take part in. The others are defined for them as doing
        nothing.
    """

    name: RoleName
    pe_class: int
    region: str
    pes: int
    tensors: tuple[str, ...]
    memory_bytes: int
    calls: tuple[tuple[int, int], ...]

    def _row(self, calls: int) -> list[str]:
        part = f"{len(self.calls)} of {calls}"
        holds = ", ".join(self.tensors)
        return [self.name, str(self.pes), self.region, holds, str(self.memory_bytes), part]


@dataclass(frozen=True, repr=False)
class Roles(Table):
    """A table of who does what: iterable, the roles of the PE classes; a table as text.

    Attributes
    ----------
    kernel_name : str
        Of the program.
    controller : Controller or None
        None where nothing depends on data, or where the PEs decide for themselves.
    roles : tuple of Role
        One a PE class.
    sections : tuple of Section
        What the controller sends, and the PEs take part in.

    Notes
    -----
    A number leads to the role of that PE class, and the name of a role to the programs of its PEs: those of
    workers, reduction PEs and relays, and the executive's, the response PEs' and the merge PE's of the
    controller (`Program.control_system`).
    """

    kernel_name: str
    controller: Controller | None
    roles: tuple[Role, ...]
    sections: tuple[Section, ...]
    core: _core.Program = field(compare=False)

    @classmethod
    def of(cls, program: _core.Program) -> Roles:
        """Return those of a program.

        Parameters
        ----------
        program : _core.Program
            Compiled or loaded.
        """
        sections = tuple(Sections.of(program))
        roles = tuple(
            Role(
                name=cast(RoleName, found.role),
                pe_class=number,
                region=found.region,
                pes=count,
                tensors=tuple(found.tensors),
                memory_bytes=found.memory_bytes,
                calls=tuple(
                    (s, c)
                    for s, section in enumerate(sections)
                    for c, call in enumerate(section.calls)
                    if number in call.classes
                ),
            )
            for number, (found, count) in enumerate(zip(program.classes, program.pe_counts(), strict=True))
        )
        return cls(program.kernel, Controller.of(program), roles, sections, program)

    def __len__(self) -> int:
        return len(self.roles)

    def __iter__(self) -> Iterator[Role]:
        return iter(self.roles)

    @overload
    def __getitem__(self, role: int) -> Role: ...
    @overload
    def __getitem__(self, role: RoleName | ControlRoleName) -> RolePrograms: ...
    def __getitem__(self, role: int | RoleName | ControlRoleName) -> Role | RolePrograms:
        if not isinstance(role, str):
            return self.roles[role]
        own = _programs(self.core, [one.pe_class for one in self.roles if one.name == role])
        if role in _OF_FIELD:
            return own
        if role not in get_args(ControlRoleName):
            known = ", ".join(map(repr, (*_OF_FIELD, *get_args(ControlRoleName))))
            raise ProgramError(
                f"no PE has the role {role!r}",
                code="CYC403",
                help=f"the roles are {known}, or give a PE class",
            )
        if self.controller is None:
            return RolePrograms()
        control = self.core.control_system()
        numbers = [n for n, one in enumerate(control.classes) if one.name.split()[0] == role]
        return RolePrograms((*_programs(control, numbers), *own))

    def count(self, name: RoleName) -> int:
        """Return how many PEs have a role.

        Parameters
        ----------
        name : {"worker", "reduction", "relay", "executive"}
            The role.
        """
        return sum(role.pes for role in self.roles if role.name == name)

    def _table(self) -> tuple[Row, list[list[str]]]:
        calls = sum(len(section.calls) for section in self.sections)
        controller = [self.controller._row()] if self.controller is not None else []
        return _HEADER, controller + [role._row(calls) for role in self.roles]

    @property
    def caption(self) -> str:
        """The title of the table, in a line."""
        names = zip(_OF_FIELD, ("worker", "reduction PE", "relay"), strict=True)
        counts = [(self.count(name), text) for name, text in names]
        parts = [f"{count} {text}{'' if count == 1 else 's'}" for count, text in counts if count]
        head = "a controller" if self.controller is not None else "no controller"
        return f"{self.kernel_name}: {', '.join([head, *parts])}"


def _programs(program: _core.Program, numbers: list[int]) -> RolePrograms:
    counts = program.pe_counts()
    found = [(program.classes[number], counts[number]) for number in numbers]
    return RolePrograms(PeClass(one.name, one.region, count, one.text) for one, count in found)
