"""Schedules: which indices are space, which are time, and how each tensor moves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cyclotron import _core
from cyclotron.schedule.fields import Fields
from cyclotron.schedule.parts import (
    AXIS,
    FORM,
    READER,
    Algorithm,
    Fold,
    Indices,
    Movement,
    MovementKind,
    Reassociation,
    Reduction,
    block,
    check_name,
    check_reassociations,
    check_reductions,
    cyclic,
    read_fold,
    read_indices,
    read_panels,
    read_place,
    reductions_by,
    refuse_repeated,
    wrong_type,
)
from cyclotron.schedule.text import as_code, as_html, entries, read_entries
from cyclotron.support import records
from cyclotron.support.errors import ScheduleError
from cyclotron.support.files import write_file

__all__ = ["Fold", "Movement", "MovementKind", "Reassociation", "Reduction", "Schedule", "block", "cyclic"]


@dataclasses.dataclass(frozen=True, repr=False)
class Schedule(Fields):
    """A plan of where and when the points of a kernel run, and how its tensors move.

    A value: each method returns a new schedule, equal schedules hash alike, and `repr` is the code that
    rebuilds one. Names are those of the kernel; whether it has them is checked when it is compiled. Indices
    that `space` and `time` do not determine are appended to time, in an order and direction that is legal.

    Parameters
    ----------
    space_indices, time_indices : tuple of str
        See `space` and `time`.
    movements : tuple of Movement
        At most one a tensor, kept in the order of their names.
    folds : tuple of (str, Fold)
        See `fold`; at most one a grid dimension, kept in the order of their names.
    rotations : tuple of (str, tuple of str)
        See `rotate`; at most one an index, kept in the order of their names.
    reassociations : tuple of Reassociation
        See `reassociate`; at most one an index, kept in the order of their names.
    places : tuple of (str, tuple of str)
        See `place`; at most one a tensor, kept in the order of their names.
    panel_counts : tuple of (str, int)
        See `panels`; at most one an index, kept in the order of their names.
    inward_indices : tuple of str
        See `inwards`; kept in the order of their names.
    descending_indices : tuple of str
        See `descending`; kept in the order of their names.
    stage_indices : tuple of str
        See `stages`.
    reductions : tuple of Reduction
        See `reduce`.
    is_serpentine : bool
        See `serpentine`.

    Examples
    --------
    >>> import cyclotron as cy
    >>> cy.Schedule().space("i", "j").time("k").stream("A", along="j").stream("B", along="i")
    cy.Schedule().space("i", "j").time("k").stream("A", along="j").stream("B", along="i")
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "space_indices", read_indices("space", self.space_indices, FORM))
        object.__setattr__(self, "time_indices", read_indices("time", self.time_indices, FORM))
        both = [index for index in self.space_indices if index in self.time_indices]
        if both:
            raise ScheduleError(
                f"index `{both[0]}` is in space ({', '.join(self.space_indices)}) "
                f"and in time ({', '.join(self.time_indices)})",
                code="CYC302",
                help="name each index once; to exchange indices, clear one first with .time() or .space()",
            )
        for movement in self.movements:
            if not isinstance(movement, Movement):
                raise wrong_type("a movement", movement, "a Movement")
        refuse_repeated(
            [movement.tensor for movement in self.movements],
            lambda name, times: f"tensor `{name}` has {times} movements",
            help="give each tensor one movement",
        )
        object.__setattr__(self, "movements", tuple(sorted(self.movements)))
        object.__setattr__(self, "folds", tuple(sorted(map(read_fold, self.folds))))
        rotations = (
            (check_name("an index", name), read_indices("rotate", by)) for name, by in self.rotations
        )
        object.__setattr__(self, "rotations", tuple(sorted(rotations)))
        object.__setattr__(self, "reassociations", check_reassociations(self.reassociations))
        places = ((check_name("a tensor", name), read_place(at)) for name, at in self.places)
        object.__setattr__(self, "places", tuple(sorted(places)))
        object.__setattr__(self, "panel_counts", tuple(sorted(map(read_panels, self.panel_counts))))
        inwards = read_indices("inwards", self.inward_indices)
        object.__setattr__(self, "inward_indices", tuple(sorted(inwards)))
        descending = read_indices("descending", self.descending_indices)
        refuse_repeated(
            [*inwards, *descending],
            lambda name, _: f"`{name}` is reduced inwards and descending",
            help="name it in one of them; the terms beyond the middle are in descending order inwards, too",
        )
        object.__setattr__(self, "descending_indices", tuple(sorted(descending)))
        object.__setattr__(self, "stage_indices", read_indices("stages", self.stage_indices))
        if not isinstance(self.is_serpentine, bool):
            raise wrong_type("serpentine", self.is_serpentine, "True or False")
        object.__setattr__(self, "reductions", check_reductions(self.reductions))

    def space(self, *indices: str) -> Schedule:
        """Return this schedule with the given indices as grid dimensions, in order.

        Parameters
        ----------
        *indices : str
            Index names, or affine forms of them (``"-i"``, ``"i-k"``), or ``"0"`` for a dimension that is one
            PE wide; they replace those given before, none clears them.

        Raises
        ------
        ScheduleError
            If an index is repeated or is already time.
        """
        return dataclasses.replace(self, space_indices=indices)

    def time(self, *indices: str) -> Schedule:
        """Return this schedule with the given indices as time, the outermost loop first.

        Parameters
        ----------
        *indices : str
            Index names, or affine forms of them (``"-i"`` runs backwards, ``"i+j+k"``); they replace those
            given before, none clears them.

        Raises
        ------
        ScheduleError
            If an index is repeated or is already space.
        """
        return dataclasses.replace(self, time_indices=indices)

    def stream(self, tensor: str, along: Indices = None) -> Schedule:
        """Return this schedule with `tensor` passed from neighbour to neighbour.

        Parameters
        ----------
        tensor : str
            Name of the tensor; this replaces an earlier movement of it.
        along : str or iterable of str, optional
            Space indices to move along, in this order, ``"-i"`` towards smaller ones; by default the compiler
            chooses. An index that the operand varies with will do where a step of time makes up for it:
            ``stream("x", along="-k")`` hands ``x[i + k]`` to the PE of the tap before, for the next output.
        """
        return self._move(tensor, "stream", along)

    def broadcast(self, tensor: str, along: Indices = None) -> Schedule:
        """Return this schedule with `tensor` sent from its source to all points of a line at once.

        Parameters
        ----------
        tensor : str
            Name of the tensor; this replaces an earlier movement of it.
        along : str or iterable of str, optional
            Space indices to broadcast along; by default the compiler chooses.
        """
        return self._move(tensor, "broadcast", along)

    def prefetch(self, tensor: str, along: Indices = None) -> Schedule:
        """Return this schedule with `tensor` loaded before the time loop and kept.

        Parameters
        ----------
        tensor : str
            Name of an input; this replaces an earlier movement of it.
        along : str or iterable of str, optional
            Space indices along which the load is distributed; by default the compiler chooses.
        """
        return self._move(tensor, "prefetch", along)

    def fold(self, folds: Mapping[str, Fold | int] | None = None, **more: Fold | int) -> Schedule:
        """Return this schedule with grid dimensions shared out over fewer PEs.

        A PE then runs the points of several virtual PEs, one after the other within each step, and what those
        would have sent to each other stays in its memory. Without a fold, a dimension larger than the
        machine's grid is folded in blocks.

        Parameters
        ----------
        folds : mapping from str to Fold or int, optional
            By grid dimension as `space` names it; a number means `block` of it. None given clears all.
        **more : Fold or int
            The same for dimensions that are plain indices: ``fold(i=cy.cyclic(4), j=2)``.

        Raises
        ------
        ScheduleError
            If the number of PEs is not at least 1; when compiled, if the dimension is not in space.
        """
        if folds is not None and not isinstance(folds, Mapping):
            raise wrong_type("fold", folds, "grid dimensions with their folds, e.g. `fold(i=2)`")
        given = {**(folds or {}), **more}
        if not given:
            return dataclasses.replace(self, folds=())
        new = {name: block(value) if isinstance(value, int) else value for name, value in given.items()}
        return dataclasses.replace(self, folds=tuple({**dict(self.folds), **new}.items()))

    def rotate(self, index: str, by: Indices = None) -> Schedule:
        """Return this schedule with the order of a reduction index turned by the PE's coordinates.

        In PE (i, j) the index starts at (i + j) modulo its extent and wraps round, and the operands that vary
        with it travel round the rings of a torus: Cannon's algorithm. All PEs then work from the first step
        on. Each PE adds in its own order.

        Parameters
        ----------
        index : str
            The reduction index; it is time.
        by : str or iterable of str, optional
            Space indices of the same extent; none takes the rotation back.
        """
        others = tuple(item for item in self.rotations if item[0] != index)
        new = read_indices("rotate", by)
        return dataclasses.replace(self, rotations=(*others, (index, new)) if new else others)

    def reassociate(self, index: str, parts: int | None = None, into: str | None = None) -> Schedule:
        """Return this schedule with every reduction over `index` done in blocks, then over the blocks.

        ``sum(f(k) for k in range(n))`` becomes ``sum(sum(f(k) for k in block l) for l in range(parts))``: a
        parallel reduction where ``l`` is space. The order of floating-point operations is then this one. The
        blocks are contiguous, of ceil(n / parts) values, the same in the whole kernel; the last may be
        shorter, and none lies beyond the values that there are.

        Parameters
        ----------
        index : str
            The reduction index; or the `into` of another reassociation, for a tree of sums.
        parts : int, optional
            Blocks at most; without, the reassociation is taken back.
        into : str
            A new index, which numbers the blocks and goes to space or time like any other.

        Raises
        ------
        ScheduleError
            If there is not at least 1 part; when compiled, if no reduction has the index, or the new name is
            taken.
        """
        others = tuple(item for item in self.reassociations if item.index != index)
        new = () if parts is None and into is None else (Reassociation(index, parts, into),)  # type: ignore[arg-type]
        return dataclasses.replace(self, reassociations=others + new)

    def inwards(self, *indices: str) -> Schedule:
        """Return this schedule with reductions over the given indices done from both ends to the middle.

        ``sum(f(j) for j in range(n))`` becomes ``sum(f(j) for j in range(m)) + sum(f(j) for j in range(n - 1,
        m - 1, -1))``, with the middle of all values of ``j`` in the kernel: on a grid two chains of PEs work
        at once, and the total is made where it has the least way to all of them. The order of floating-point
        operations is then this one.

        Parameters
        ----------
        *indices : str
            Reduction indices that are space; they replace those given before, none takes them back.

        Raises
        ------
        ScheduleError
            If an index is repeated; when compiled, if it is not space, no reduction has it, or a maximum or
            minimum is over values on both sides of the middle at some points only.
        """
        return dataclasses.replace(self, inward_indices=indices)

    def descending(self, *indices: str) -> Schedule:
        """Return this schedule with reductions over the given indices done from the last term to the first.

        ``sum(f(j) for j in range(n))`` becomes ``sum(f(j) for j in range(n - 1, -1, -1))``: on a grid the sum
        travels the other way and is complete at its first term, which is the better end where that is where
        it is needed. The order of floating-point operations is then this one.

        Parameters
        ----------
        *indices : str
            Reduction indices, in space or time; they replace those given before, none takes them back.

        Raises
        ------
        ScheduleError
            If an index is repeated; when compiled, if no reduction has it.
        """
        return dataclasses.replace(self, descending_indices=indices)

    def stages(self, *indices: str) -> Schedule:
        """Return this schedule with reductions over several indices done over these in the given order.

        ``sum(sum(f(i, j) for j in range(m)) for i in range(n))``, as ``cy.sum`` of a matrix is, adds up rows
        first; with ``stages("i", "j")`` it adds up columns, then their sums, over the same PEs. The order of
        floating-point operations is then this one. `inwards` has each stage go to the middle of the grid.

        Parameters
        ----------
        *indices : str
            Reduction indices, that of the first stage first; they replace those given before, none takes them
            back. Reductions over one of them, or of several kinds, stay as they are.

        Raises
        ------
        ScheduleError
            If an index is repeated; when compiled, if no reductions over two of them are directly nested, or
            the range of a later stage depends on the index of an earlier one.
        """
        return dataclasses.replace(self, stage_indices=indices)

    def reduce(self, index: str, algorithm: Algorithm = "tree", radix: int = 2) -> Schedule:
        """Return this schedule with the reductions over an index in space done by another algorithm.

        A chain joins the terms of a line of PEs in turn. Each level of a tree joins the results of `radix`
        blocks next to each other, first of terms, or where a PE has several of PEs, which join their own
        before; two phases are two levels, for up to 4096 PEs. The result of a block is made at its last term,
        and the first one may be shorter. A tree as wide as the grid is a chain of what PEs join first.

        Parameters
        ----------
        index : str
            A reduction index that is space.
        algorithm : {"tree", "two_phase", "chain"}
            A chain takes the others back.
        radix : int, optional
            Of a tree, at least 2.

        Raises
        ------
        ScheduleError
            If there is none such; when compiled, if the index is not space, or its range varies.
        """
        others = tuple(item for item in self.reductions if item.index != index)
        return dataclasses.replace(self, reductions=others + reductions_by(index, algorithm, radix))

    def serpentine(self, winds: bool = True) -> Schedule:
        """Return this schedule with its one grid dimension laid on all rows of the machine's grid.

        The line of PEs goes through the rows back and forth, so that neighbours on it are neighbours in the
        grid, and a program of one dimension uses all PEs of a machine of two. Without it, the line is one row
        or column.

        Parameters
        ----------
        winds : bool, optional
            False takes it back.

        Raises
        ------
        ScheduleError
            When compiled, if space has not one dimension or the machine's grid not two, its topology is
            custom, or something is broadcast along the line (CYC321).

        Examples
        --------
        >>> cy.Schedule().space("i").serpentine()  # on cy.Machine(grid=(8, 8)): a line of 64 PEs
        cy.Schedule().space("i").serpentine()
        """
        return dataclasses.replace(self, is_serpentine=winds)

    @property
    def reorders_reductions(self) -> bool:
        """Tell whether `reassociate`, `stages`, `inwards`, `descending` or `reduce` change the equations."""
        orders = (self.stage_indices, self.inward_indices, self.descending_indices)
        return any((self.reassociations, *orders, self.reductions))

    def place(self, tensor: str, *at: str | int) -> Schedule:
        """Return this schedule with the elements of an input living in given PEs before the run.

        They are loaded there once and stay; from there they go to the PEs that use them, both ways where
        needed, as `stream` or `broadcast` says. Without a place the PEs at the grid's edge feed them in.

        Parameters
        ----------
        tensor : str
            An input of which the kernel reads single elements, in one way: ``A[i, k]``.
        *at : str or int
            For each grid dimension an index of its subscripts, or a number: ``place("A", "i", "k")`` puts
            ``A[i, k]`` in PE (i, k). None takes the place back.
        """
        others = tuple(item for item in self.places if item[0] != tensor)
        new = read_place(at)
        return dataclasses.replace(self, places=(*others, (tensor, new)) if new else others)

    def panels(self, index: str, count: int | None = None) -> Schedule:
        """Return this schedule with a time index cut into panels.

        The inputs that travel and vary with the index come panel by panel: those of one panel all reach a PE
        before it computes with the first of them. One panel moves everything first, with the memory that
        takes; as many as the index has values is the same as none.

        Parameters
        ----------
        index : str
            A time index, for example the reduction of a product.
        count : int, optional
            Panels, at least 1, all of one width except for the last; none takes them back.
        """
        others = tuple(item for item in self.panel_counts if item[0] != index)
        new = others if count is None else (*others, (index, count))
        return dataclasses.replace(self, panel_counts=new)

    def movement(self, tensor: str) -> Movement | None:
        """Return how a tensor moves, or None where that is left to the compiler.

        Parameters
        ----------
        tensor : str
            By its name in the kernel.
        """
        return next((movement for movement in self.movements if movement.tensor == tensor), None)

    def explain(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        """Return in words what this schedule does with a kernel; see `Program.explain`.

        Parameters
        ----------
        kernel : Kernel
            What it is for.
        *args : ndarray, Blocked or Spec
            One for each parameter; only shapes, dtypes and tiles matter.
        **kwargs : ndarray, Blocked, Spec or Machine
            As `*args`, by name, and ``machine``.

        Returns
        -------
        Explanation
            Prints as sentences; ``plot()`` draws the array with an arrow for each operand.
        """
        if not hasattr(kernel, "compile"):
            raise wrong_type("explain", kernel, "a kernel, and its arguments")
        return kernel.compile(*args, schedule=self, **kwargs).explain()

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and dicts, as `from_dict` and TOML files have them.

        Returns
        -------
        dict
            ``space`` and ``time`` (lists of str), for each kind of movement a dict from tensor to list of
            str, ``fold``, a dict from dimension to ``{"block": parts}`` or ``{"cyclic": parts}``, ``rotate``,
            a dict from index to list of str, ``reassociate``, one to ``{"parts": parts, "into": index}``,
            ``place``, a dict from tensor to list of str,
            ``panels``, a dict from index to int, ``inwards`` and ``stages``, lists of str, ``reduce``, a dict
            from index to ``{"tree": radix}`` or ``"two_phase"``.
        """
        return entries(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schedule:
        """Return the schedule that `to_dict` describes.

        Parameters
        ----------
        data : mapping
            ``{"space": ["i", "j"], "time": ["k"], "stream": {"A": "j"}, "prefetch": ["W"]}``; every key may
            be left out. A movement is a mapping from tensor to the index or indices to move along, or a list
            of tensors.

        Raises
        ------
        ScheduleError
            If a key or type is not one of these.
        """
        return cls(**read_entries(data))

    @classmethod
    def load(cls, path: str | Path) -> Schedule:
        """Return the schedule in a TOML file; see `from_dict` for its keys.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        ScheduleError
            If it cannot be read, is not TOML or not a schedule.
        """
        return cls.from_dict(records.load_toml(path, READER, kind="Schedule"))

    def save(self, path: str | Path) -> None:
        """Write the schedule to a TOML file that `load` reads.

        Parameters
        ----------
        path : str or Path
            The file; replaced if it exists.
        """
        write_file(path, records.to_toml(entries(self), depth=1))

    def to_core(self) -> _core.Schedule:
        """Return the schedule as the C++ core has it."""
        core: _core.Schedule = records.to_core(self)
        return core

    @classmethod
    def from_core(cls, core: _core.Schedule) -> Schedule:
        """Return the schedule that the C++ core reports; the inverse of `to_core`.

        Parameters
        ----------
        core : _core.Schedule
        """
        return cls(**records.fields_of_core(cls, core))

    def __repr__(self) -> str:
        return as_code(self)

    def __str__(self) -> str:
        return _core.schedule_text(self.to_core())

    def _repr_html_(self) -> str:
        return as_html(str(self))

    def _move(self, tensor: str, kind: MovementKind, along: Indices) -> Schedule:
        new = Movement(tensor, kind, read_indices(f"{kind} of `{tensor}`", along, AXIS))
        return dataclasses.replace(
            self, movements=(*(old for old in self.movements if old.tensor != new.tensor), new)
        )
