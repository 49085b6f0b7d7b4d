"""Ready-made machines: the ideal array, and models of real ones with the sources of their numbers.

A model is what a simulation needs and no more: each docstring says where its numbers come from, which of
them are assumptions, and what it leaves out. ``dataclasses.replace`` changes one.

Examples
--------
>>> cy.machines.tpu_v1().grid
(256, 256)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

from cyclotron.machine.link_map import LinkMap
from cyclotron.machine.machine import Machine, Topology
from cyclotron.machine.memory import Dram, Memory
from cyclotron.machine.parts import MOST, PE, UNBOUNDED, Control, Link, Unit, integer, positive, unfit

__all__ = [
    "cluster",
    "dram",
    "gemmini_16",
    "scale_sim",
    "spyre_ring",
    "tpu_v1",
    "tree",
    "unit",
    "wormhole",
    "wse2",
]


# Bytes a nanosecond, banks, bytes of a row; nanoseconds: tREFI, tCL, tRCD, tRP, tRAS, tWR, tWTR, tRFC.
_DRAM = {
    "DDR4": (19.2, 16, 8192, 7800, 13.33, 13.33, 13.33, 32.5, 15.83, 7.5, 350),
    "GDDR6": (28.0, 16, 2048, 1900, 13.68, 14.82, 14.82, 30.21, 14.82, 6.27, 119.7),
    "HBM2": (32.0, 16, 1024, 3900, 14, 14, 14, 34, 16, 8, 260),
    "LPDDR4": (6.4, 8, 2048, 3904, 21.88, 18.13, 16.88, 42.5, 17.5, 10, 180),
}


def __dir__() -> list[str]:
    return __all__


def unit(*grid: int, topology: Topology = "mesh", memory: int = 2**30) -> Machine:
    """Return the ideal array of the systolic-array literature: every operation and every hop takes one cycle.

    A link delivers one message of any size a cycle and never fills up, a free place is seen at once, and
    memory is ample, so a program's cycles are those of its schedule alone: an output-stationary product of
    n×n matrices on n×n PEs takes 3n - 2 cycles (H. T. Kung and C. E. Leiserson, "Systolic arrays (for VLSI)",
    1979).

    Parameters
    ----------
    *grid : int
        PEs along each dimension; none: as large as the program needs.
    topology : {"mesh", "torus", "hexagonal", "ring"}
        As of `Machine`.
    memory : int
        Bytes of memory of each PE.

    Returns
    -------
    Machine
        The array.

    Raises
    ------
    ShapeError
        If a size is no positive number (CYC401, CYC402).

    Examples
    --------
    >>> cy.machines.unit(4, 4).link.latency
    1
    """
    link = Link(latency=1, response_latency=0, words_per_cycle=2**30, depth=2**20)
    return Machine(
        grid=grid or None,
        topology=topology,
        link=link,
        broadcast=link,
        pe=PE(memory=memory, flops_per_cycle=2**30),
    )


def tree(leaves: int, *, link: Link | None = None, pe: PE | None = None) -> Machine:
    """Return a binary tree of PEs that reduces towards its root, which is PE 0.

    The PEs are numbered as in a binary heap: each one has a link from PE 2p + 1 and one from PE 2p + 2. A
    recurrence like ``S[p] = S[2 * p + 1] + S[2 * p + 2]`` with p on the grid sums n leaves in log2(n) hops.

    Parameters
    ----------
    leaves : int
        PEs without one below them; the tree has ``2 * leaves - 1``.
    link, pe : Link, PE, optional
        As of `Machine`.

    Returns
    -------
    Machine
        The tree.

    Raises
    ------
    ShapeError
        If the number of leaves is below 1 or no integer.

    Examples
    --------
    >>> cy.machines.tree(8).pe_count
    15
    """
    count = 2 * integer("leaves", leaves, 1, MOST) - 1
    up = tuple(LinkMap(f"(p) -> ((p - 1) // 2) if p > 0 and p % 2 == {side}") for side in (1, 0))
    return Machine(grid=(count,), topology=up, link=link or Link(), pe=pe or PE())


def tpu_v1() -> Machine:
    """Return the matrix unit of Google's first TPU: 256×256 cells of one multiply-add a cycle, at 700 MHz.

    N. P. Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017, section
    2: weights stay in the cells, inputs come from the left, partial sums leave at the bottom; a cell
    multiplies integers of 8 bits, with or without sign, and products are added up in 32 bits. Programs for it
    declare that: ``cy.matmul(A, B, dtype="int32")``. Its schedule is `schedules.weight_stationary`: n×k
    weights and a k×m input take n + 2k + m - 3 cycles.

    Returns
    -------
    Machine
        A mesh of 256×256 cells.

    Notes
    -----
    The memory of a cell, 1 KiB, is an assumption: room for the operands as programs lay them out, where the
    chip has two 8-bit weights. Left out: the unified buffer, the accumulators, the weight FIFO and DRAM
    (operands are there at the edges in time), operands of 16 bits, for which the chip takes two or four
    cycles, and that a multiply-add and its hop are one stage of the chip: here a partial sum takes two cycles
    a cell. Links are not shared: inputs, weights and sums have wires of
    their own.

    Examples
    --------
    >>> cy.machines.tpu_v1().pe_count
    65536
    """
    return _systolic_array(256, Unit(dtypes=("int8", "uint8"), accumulator="int32"), clock=700e6)


def gemmini_16(dtype: str = "int8") -> Machine:
    """Return the spatial array of Gemmini's usual instance: 16×16 PEs of one multiply-add a cycle.

    H. Genc et al., "Gemmini: Enabling Systematic Deep-Learning Architecture Evaluation via Full-Stack
    Integration", DAC 2021, section III: the fully pipelined array, with a register between any two PEs,
    which runs both `schedules.weight_stationary` and `schedules.output_stationary`. The usual instance
    multiplies int8 and adds up in int32, which programs for it declare: ``cy.matmul(A, B, dtype="int32")``.

    Parameters
    ----------
    dtype : str
        Of the operands, which is a parameter of the generator; sums are of int32 for int8, else of the same.

    Returns
    -------
    Machine
        A mesh of 16×16 PEs.

    Raises
    ------
    ShapeError
        If there is no such dtype (CYC402).

    Notes
    -----
    The memory of a PE, 1 KiB, is an assumption: room for the operands as programs lay them out. There is no
    clock, which depends on the process. Left out: scratchpad, accumulator, DMA and the host's instructions
    (operands are there at the edges in time), and that a multiply-add and its hop are one stage: here a
    partial sum takes two cycles a PE. Links are not shared: inputs, weights and sums have wires of their own.

    Examples
    --------
    >>> cy.machines.gemmini_16().grid
    (16, 16)
    """
    accumulator = "int32" if isinstance(dtype, str) and dtype == "int8" else None
    return _systolic_array(16, Unit(dtypes=(dtype,), accumulator=accumulator))


def scale_sim(rows: int, columns: int, dataflow: Literal["os", "ws", "is"] = "os") -> Machine:
    """Return the array that SCALE-Sim assumes: multiply-adds in lockstep, one register between any two.

    A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN Accelerators using
    SCALE-Sim", ISPASS 2020, section II, and the tool's version 3: operands move by one PE a cycle, and where
    partial sums move (``"ws"``, ``"is"``), a multiply-add and the hop of its sum down the column are one
    cycle together. `cyclotron.scale_sim` runs products on it.

    Parameters
    ----------
    rows, columns : int
        PEs along each dimension.
    dataflow : {"os", "ws", "is"}
        What stays in the array: the result, the filters, or the inputs.

    Returns
    -------
    Machine
        A mesh.

    Raises
    ------
    ShapeError
        If a size is no positive number (CYC401, CYC402).

    Notes
    -----
    Links down the columns have latency 0 in ``"ws"`` and ``"is"``: what they carry leaves the register that
    its operator has just written. Memory is ample. Left out: SCALE-Sim's buffers and their bandwidth.

    Examples
    --------
    >>> cy.machines.scale_sim(16, 8).grid
    (16, 8)
    """
    link = Link(latency=1, response_latency=0, words_per_cycle=1, depth=1)
    down = Link(latency=0, response_latency=0, words_per_cycle=1, depth=1)
    links: dict[tuple[int, ...], Link] = {} if dataflow == "os" else {(1, 0): down}
    return Machine(grid=(rows, columns), link=link, broadcast=link, links=links, pe=PE(memory=2**20))


def wormhole() -> Machine:
    """Return one socket of Tenstorrent's Wormhole n300d: 8×8 Tensix cores on a torus, at 1 GHz.

    "TL: Automatic End-to-End Compiler of Tile-Based Languages for Spatial Dataflow Architectures": 64 cores
    at 1 GHz, 1024 FP16 operations a cycle in each, 12 GB of DRAM of 288 GB/s (section 3.1), 1.5 MB of
    scratchpad a core, rings along rows and columns, channels to DRAM that four adjacent cores along an edge
    share (section 2.4, listing 6).

    Returns
    -------
    Machine
        A torus of 8×8 cores.

    Notes
    -----
    Assumptions, since the paper measures these and does not print them: the shape of the matrix unit, 8×8×8,
    of which only the rate is known; 32 lanes of the vector unit; 16 elements of FP16 (32 bytes) a cycle and
    one cycle a hop on the network; 100 cycles until data come from DRAM. The two channels that meet at a
    corner are one port here, of the bandwidth of both, 36 elements of FP16 a cycle. Messages of all tensors
    share the links of the one network (``shared_links``), over which words of other cores come from DRAM
    and go there (``io="ports"``). Left out: the second network, and the time that cores take to issue.

    Examples
    --------
    >>> cy.machines.wormhole().grid
    (8, 8)
    """
    link = Link(words_per_cycle=16)
    edges = ("0, :", "-1, :", ":, 0", ":, -1")
    dram = Memory(bandwidth=36, latency=100, depth=4, serves=edges, shared_by=(4, 4), size=12 * 10**9)
    pe = PE(memory=1536 * 1024, matrix=Unit((8, 8, 8)), vector=Unit((32,)))
    return Machine(
        grid=(8, 8),
        topology="torus",
        link=link,
        broadcast=link,
        pe=pe,
        memories={"dram": dram},
        clock=1e9,
        shared_links=True,
        io="ports",
    )


def wse2(rows: int, columns: int, *, channels: int | None = 24, hosts: int = 0) -> Machine:
    """Return a rectangle of PEs of Cerebras' second Wafer-Scale Engine.

    D. Van Essendelft et al., "A System Level Compiler for Massively-Parallel, Spatial, Dataflow
    Architectures" (MACH): 48 KB for program and variables (section 5.5), that is the arrays that the PEs hold
    from start to end, values of the program, its code and queues; one operand a cycle to or from the
    network, and one or two cycles a hop (figure 1), of which this takes one; 24 channels (section 4); 50 to
    60 cycles to set up an operation (section 4.1), of which this takes 55 for each call (`Control`). The
    about 10 cycles until a section leaves the controller come out of the programs of its PEs.

    Parameters
    ----------
    rows, columns : int
        PEs along each dimension.
    channels : int, optional
        As of `PE`: where a program has more kinds of message, they take turns, as the paper's operations do.
        None: each kind has a channel of its own; conjugate gradients use 36.
    hosts : int
        Computers beside the wafer that load and save what the program's calls load and store, each for as
        many columns: a memory ``hosts``, with 25 words a cycle for each of them. That is 100 GB/s of float32
        at 1 GHz, so that 12 take the terabyte a second of section 8.4; both rates, and the 1,000 cycles of
        latency, are assumptions. Fewer rows than 25 have as many words. 0: arrays stay in the PEs' memories.

    Returns
    -------
    Machine
        A mesh.

    Raises
    ------
    ShapeError
        If a size is no positive number (CYC401, CYC402).

    Notes
    -----
    One multiply-add a cycle is an assumption, after the three reads and one write a cycle of figure 1. There
    is no clock, which the paper does not give. A channel counts once in a PE that receives from one neighbour
    and sends to another on it, as if switching its route cost nothing. Left out: that the channels of a link
    share its word a cycle (``dataclasses.replace(machine, shared_links=True)``), routers that pass messages
    on without the PE, and the banks of the memory, from which its streams of elements reach that rate: with
    ``cy.PE(banks=8)`` an accumulator in the memory would take two cycles, one to read and one to write it.

    Examples
    --------
    >>> cy.machines.wse2(10, 20).grid
    (10, 20)
    >>> cy.machines.wse2(50, 24, hosts=12).memories["hosts"].shared_by
    (2, 2)
    """
    pe = PE(memory=48 * 1024, flops_per_cycle=2, channels=channels, holds=("code", "queues", "tensors"))
    machine = Machine(grid=(rows, columns), pe=pe, control=Control(latency=0, hop=1, setup=55))
    if integer("hosts", hosts, 0, MOST) == 0:
        return machine
    lanes = (-(-rows // 25), -(-columns // hosts))
    return replace(machine, memories={"hosts": Memory(latency=1000, shared_by=lanes)})


def dram(kind: str, clock: float, *, element_bytes: int = 4, **changes: Any) -> Memory:
    """Return DRAM of a usual kind, one channel a port, in cycles of the machine.

    Rates and times are those of DDR4-2400 of 64 bits (8 Gb, x8) and of HBM2 of 128 bits at 2 Gb/s a pin in
    DRAMsim3's files, of LPDDR4-3200 of 16 bits in Ramulator, and of GDDR6 of 16 bits at 14 Gb/s in Ramulator
    2. They are rounded to whole cycles such that none is too fast, and at least one element a cycle.

    Parameters
    ----------
    kind : {"DDR4", "GDDR6", "HBM2", "LPDDR4"}
        Of the channel.
    clock : float
        Cycles a second of the machine, in Hz.
    element_bytes : int
        Bytes of an element of the tensors.
    **changes
        Other fields of `Memory`: ``serves=":, 0"``, ``shared_by=(4, 1)``, ``depth=8``.

    Returns
    -------
    Memory
        With `Dram`.

    Raises
    ------
    ShapeError
        If there is no such kind, or a number is out of range.

    Notes
    -----
    Left out: limits on rows that open shortly after each other (tRRD, tFAW), groups of banks (tCCD_L), and
    controllers that take requests out of turn.

    Examples
    --------
    >>> cy.machines.dram("HBM2", 1e9).bandwidth, cy.machines.dram("DDR4", 1e9).dram.activate
    (8, 14)
    """
    if kind not in _DRAM:
        raise unfit(f"there is no DRAM {kind!r}", f"it is one of: {', '.join(_DRAM)}", code="CYC402")
    rate, banks, row, interval, *times = _DRAM[kind]
    cycles = positive("clock", clock) * 1e-9
    latency, opens, closes, stays, recovers, turns, refresh = (math.ceil(one * cycles) for one in times)
    banked = Dram(
        int(banks), int(row), opens, closes, stays, recovers, turns, int(interval * cycles), refresh
    )
    bandwidth = max(1, int(rate / cycles / positive("element_bytes", element_bytes)))
    return Memory(bandwidth, latency, dram=banked, **changes)


def spyre_ring(cores: int = 32) -> Machine:
    """Return cores on a ring, as of IBM's Spyre accelerator.

    "TL: Automatic End-to-End Compiler of Tile-Based Languages for Spatial Dataflow Architectures", section
    2.4, listing 8 and figure 4: cores in one dimension on three rings.

    Parameters
    ----------
    cores : int
        Along the ring.

    Returns
    -------
    Machine
        A ring.

    Raises
    ------
    ShapeError
        If a size is no positive number (CYC401, CYC402).

    Notes
    -----
    The numbers are not the paper's: 32 cores are IBM's, 2 MiB of memory a core, one multiply-add and one
    element a cycle, one cycle a hop are assumptions, to be replaced by measured ones. The three rings carry
    a tensor each; that more tensors share them is left out, and so are the memories outside the cores.

    Examples
    --------
    >>> cy.machines.spyre_ring().grid
    (32,)
    """
    return Machine(grid=(cores,), topology="ring", pe=PE(memory=2 * 1024**2))


def cluster(
    *nodes: int,
    flops_per_second: float,
    bytes_per_second: float,
    latency_seconds: float,
    memory: int,
    topology: Topology = "torus",
    element_bytes: int = 8,
) -> Machine:
    """Return computers on a network, by the two numbers of its links: latency and bandwidth.

    A message of n bytes takes ``latency_seconds + n / bytes_per_second`` (R. W. Hockney, "The communication
    challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20, 1994). A cycle is the time of
    one element on a link, and `Result.simulated_seconds` the time; latency and rate are rounded to whole
    cycles and flops, and are at least 1. Any number of messages may be under way. Left out: congestion, and
    what sending and receiving cost the computer.

    Parameters
    ----------
    *nodes : int
        Computers along each dimension.
    flops_per_second : float
        Of one computer, above 0.
    bytes_per_second : float
        Of one link, above 0.
    latency_seconds : float
        Of one link, above 0.
    memory : int
        Bytes of a computer.
    topology : {"mesh", "torus", "hexagonal", "ring"}
        As of `Machine`.
    element_bytes : int
        Bytes of an element of the tensors.

    Returns
    -------
    Machine
        A grid of computers, whose clock is one element of a link a cycle.

    Raises
    ------
    ShapeError
        If a number is out of range.

    Examples
    --------
    >>> machine = cy.machines.cluster(4, 4, flops_per_second=1e12, bytes_per_second=1e10,
    ...                               latency_seconds=1e-6, memory=2**34)
    >>> machine.grid
    (4, 4)
    """
    clock = positive("bytes_per_second", bytes_per_second) / positive("element_bytes", element_bytes)
    link = Link(
        latency=max(1, round(positive("latency_seconds", latency_seconds) * clock)),
        response_latency=0,
        depth=UNBOUNDED,
    )
    rate = max(1, round(positive("flops_per_second", flops_per_second) / clock))
    pe = PE(memory=memory, flops_per_cycle=rate)
    return Machine(grid=nodes, topology=topology, link=link, broadcast=link, pe=pe, clock=clock)


def _systolic_array(side: int, cell: Unit, clock: float | None = None) -> Machine:
    """Return a square of multiply-add cells in lockstep: one register in each link."""
    link = Link(latency=1, response_latency=0, words_per_cycle=1, depth=1)
    pe = PE(memory=1024, flops_per_cycle=2, scalar=cell)
    return Machine(grid=(side, side), link=link, broadcast=link, pe=pe, clock=clock)
