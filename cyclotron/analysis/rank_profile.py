"""An account of the time of MPI ranks, their speed, and the words that they moved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.support.errors import ExecutionError
from cyclotron.support.tables import Table

if TYPE_CHECKING:
    from cyclotron.compiler.program import Program

# In the order of the core's numbers.
KINDS = ("compute", "load", "store", "send", "receive", "wait", "exchange")
EVENT = np.dtype(
    [
        ("rank", "u4"),
        ("kind", "U8"),
        ("name", "U"),
        ("pe", "u4"),
        ("peer", "i4"),
        ("source", "u4"),
        ("words", "i8"),
        ("start", "f8"),
        ("end", "f8"),
    ]
)
_MOST_COLUMNS = 8
# Of these each pair of numbers that is multiplied counts 2.
_PRODUCTS = ("matmul", "syrk", "solve_triangular", "inv_triangular", "cholesky", "lu", "ldl")
_SYMMETRIC = ("syrk", "cholesky", "ldl")


class Profile(Table, list[dict[str, Any]]):
    """For each rank, by name, where its time went; it prints as a table.

    Times are seconds of wall time, and add up to ``seconds`` but for what instructions themselves take.

    ``seconds`` : from the first instruction of any rank to the last.
    ``processor_seconds`` : of a core, meanwhile.
    ``compute``, ``gflops`` : on tiles, by operator: seconds, and 1e9 flops a second.
    ``load_store`` : copying tiles from and to arrays.
    ``send`` : copying tiles into messages, or once to memory that is lent, by channel; lending takes no time.
    ``exchange`` : passing messages to MPI and taking them from it, between instructions.
    ``wait`` : nothing could go on until a message came, by the channel of that message.
    ``fetch`` : the same before the first instruction, for tiles of distributed inputs, by their names.
    ``give`` : sending such tiles to others, as ``send`` does those of channels.
    ``finish`` : after the last instruction, for the other ranks.
    ``words_sent``, ``words_received`` (by channel), ``words_fetched`` (by input), ``words_given`` (the
    same, to others), ``words_loaded``, ``words_stored`` : elements, of tiles that pass between ranks, or from
    and to tensors.
    ``words_moved`` : all that it sent and received.
    ``words_bound`` : at least so many words move, whatever the schedule: see `words_bound`. 0 for programs of
    several products, which may multiply what they make themselves.
    ``flops`` : by operator; ``lent_bytes``, ``sent_bytes``, ``messages`` : what the transport counted.

    Attributes
    ----------
    events : ndarray
        What each rank did when, if events were asked for: `rank`; `kind`: compute, load, store, send,
        receive, wait or exchange; `name`: operator, tensor or channel; `pe`: linear index; `peer`, of a send
        the rank it goes to; `source`, of a message the number of its link or sender; `words`; `start` and
        `end`, in seconds.
    events_dropped : int
        Beyond the limit.
    """

    _what = "profile of "

    def __init__(
        self, ranks: Iterable[dict[str, Any]], program: Program, events: NDArray[Any], events_dropped: int
    ) -> None:
        super().__init__(ranks)
        self.events = events
        self.events_dropped = events_dropped
        self._kernel = program.kernel_name
        self._networks = {c["name"] for c in program.channels if c["kind"] == "network"}

    def kept_events(self) -> NDArray[Any]:
        """Return `events`.

        Raises
        ------
        ExecutionError
            If there are none (CYC717).
        """
        if len(self.events):
            return self.events
        raise ExecutionError(
            f"the ranks of `{self._kernel}` kept no events",
            code="CYC717",
            help='run again with event_limit: cy.run(..., backend="mpi", event_limit=100_000)',
        )

    def _times(self) -> Iterator[tuple[str, str, list[float], str]]:
        """Times of each rank by what took them, and how fast it computed."""

        def by_name(cause: str, key: str) -> Iterator[tuple[str, str, list[float], str]]:
            for name in dict.fromkeys(name for rank in self for name in rank[key]):
                yield cause, name, [rank[key].get(name, 0.0) for rank in self], ""

        for cause, name, seconds, _ in by_name("computes", "compute"):
            flops = sum(rank["flops"].get(name, 0) for rank in self)
            yield cause, name, seconds, f"{1e-9 * flops / sum(seconds):.1f}" if flops else ""
        yield "loads and stores", "", [rank["load_store"] for rank in self], ""
        for key, doing in (
            ("send", ("sends on", "broadcasts on")),
            ("wait", ("waits for", "waits for a broadcast")),
        ):
            for _, name, seconds, _ in by_name("", key):
                yield doing[name in self._networks], name, seconds, ""
        yield from by_name("gives tiles of", "give")
        yield from by_name("waits for tiles of", "fetch")
        yield "passes messages", "", [rank["exchange"] for rank in self], ""
        yield "runs instructions", "", [_rest(rank) for rank in self], ""
        yield "has finished", "", [rank["finish"] for rank in self], ""

    def _table(self) -> tuple[list[str], list[list[str]]]:
        everything = sum(rank["seconds"] for rank in self) or 1.0
        rows = [
            [cause, of, *_columns(seconds, _milliseconds), f"{sum(seconds) / everything:.1%}", rate]
            for cause, of, seconds, rate in self._times()
            if sum(seconds) > 0
        ]
        rows.append(
            ["all", "", *_columns([r["seconds"] for r in self], _milliseconds), "100.0%", self._rate()]
        )
        for what, key in (("words moved", "words_moved"), ("at least", "words_bound")):
            if any(rank[key] for rank in self):
                rows.append([what, "", *_columns([rank[key] for rank in self], "{:,.0f}".format), "", ""])
        return ["ms", "of", *_titles(len(self)), "share", "GFLOP/s"], rows

    def _rate(self) -> str:
        """Of a rank, on the average."""
        seconds = sum(rank["seconds"] for rank in self)
        flops = sum(sum(rank["flops"].values()) for rank in self)
        return f"{1e-9 * flops / seconds:.1f}" if flops else ""

    @property
    def caption(self) -> str:
        """The kernel, the number of ranks, and the time of the run."""
        if not self:
            return "no ranks"
        ranks = "1 rank" if len(self) == 1 else f"{len(self)} ranks"
        return f"{self._kernel} on {ranks}: {_milliseconds(max(rank['seconds'] for rank in self))} ms"


def words_bound(rank: Mapping[str, Any]) -> float:
    """Return how many words a rank sends and receives, at least, for what it multiplied.

    A rank that multiplies G pairs of elements of two matrices for a third needs at least 3 G^(2/3) elements
    of the three (Loomis and Whitney 1949; Irony, Toledo and Tiskin 2004), or 1.5 * 2^(1/3) G^(2/3) where the
    first two may be one matrix. What it does not load from its own tiles comes from other ranks, and what it
    does not store goes there. However large its memory is: `bench/scaling.py` has the bound for a small one.

    Parameters
    ----------
    rank : mapping
        Of a `Profile`.

    Returns
    -------
    float
        0 where it needs no other rank, or multiplied no tiles.
    """
    flops = _of_products(rank)
    symmetric = any(name.startswith(_SYMMETRIC) for name in flops)
    needed = (1.5 * 2 ** (1 / 3) if symmetric else 3.0) * (sum(flops.values()) / 2) ** (2 / 3)
    own = rank["words_loaded"] - sum(rank["words_fetched"].values()) + rank["words_stored"]
    return max(0.0, float(math.floor(needed - own)))


def profile_of(accounts: Sequence[Mapping[str, Any]], program: Program) -> Profile:
    """Return what the accounts of the ranks tell, by the names of channels and tensors.

    Parameters
    ----------
    accounts : sequence of mapping
        As ``cyclotron._mpi.run`` returns them.
    program : Program
        Which ran.
    """
    events = np.concatenate([_named(account["events"], program) for account in accounts])
    dropped = sum(account["events_dropped"] for account in accounts)
    ranks = [_rank(account, program) for account in accounts]
    bounded = _is_one_product(ranks, program)
    for rank in ranks:
        rank["words_bound"] = words_bound(rank) if bounded else 0.0
    return Profile(ranks, program, events, dropped)


def _is_one_product(ranks: Sequence[Mapping[str, Any]], program: Program) -> bool:
    """Tell if the ranks multiply no more pairs than one product of two inputs, or of one with itself, has."""
    sizes: dict[str, list[int]] = {"input": [], "output": []}
    for tensor in program.tensors:
        role = "output" if tensor["role"] == "output" else "input"
        sizes[role].append(math.prod(tensor["shape"]))
    if len(sizes["output"]) != 1 or not sizes["input"]:
        return False
    largest = sorted(sizes["input"], reverse=True)[:2]
    pairs = sum(sum(_of_products(rank).values()) for rank in ranks) / 2
    return pairs <= math.sqrt(math.prod([largest[0], largest[-1], *sizes["output"]]))


def _of_products(rank: Mapping[str, Any]) -> dict[str, int]:
    return {name: flops for name, flops in rank["flops"].items() if name.startswith(_PRODUCTS)}


def _rank(account: Mapping[str, Any], program: Program) -> dict[str, Any]:
    def named(of: str, table: Sequence[Mapping[str, Any]], key: str, unit: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for entry, amounts in zip(table, account[of], strict=True):
            if amount := amounts[key]:
                size = np.dtype(entry["dtype"]).itemsize if unit else 1
                found[entry["name"]] = found.get(entry["name"], 0) + (amount // size if unit else amount)
        return found

    kept = ("seconds", "processor_seconds", "compute", "flops", "load_store", "exchange", "finish")
    rank: dict[str, Any] = {name: account[name] for name in kept}
    rank["gflops"] = {
        name: 1e-9 * flops / account["compute"][name]
        for name, flops in account["flops"].items()
        if account["compute"].get(name)
    }
    for name in ("send", "wait"):
        rank[name] = named("channels", program.channels, name)
    rank["give"] = named("tensors", program.tensors, "send")
    rank["fetch"] = named("tensors", program.tensors, "wait")
    for name, of, table, key in (
        ("words_sent", "channels", program.channels, "sent_bytes"),
        ("words_received", "channels", program.channels, "received_bytes"),
        ("words_given", "tensors", program.tensors, "sent_bytes"),
        ("words_fetched", "tensors", program.tensors, "received_bytes"),
    ):
        rank[name] = named(of, table, key, unit=True)
    for name in ("words_loaded", "words_stored", "lent_bytes", "sent_bytes", "messages"):
        rank[name] = account[name]
    between = ("words_sent", "words_received", "words_given", "words_fetched")
    rank["words_moved"] = sum(sum(rank[name].values()) for name in between)
    return rank


def _named(events: NDArray[Any], program: Program) -> NDArray[Any]:
    """Events with names for numbers and words for bytes."""
    carried = [*program.channels, *program.tensors]  # what messages carry, by number
    operators = [operator.name for operator in _core.operators()]
    longest = max(map(len, (*operators, *(entry["name"] for entry in carried))))
    width = {"name": f"U{longest}"}
    named = np.zeros(len(events), [(name, width.get(name, EVENT[name])) for name in EVENT.names or ()])
    if not len(events):
        return named
    for field in ("rank", "pe", "peer", "source", "start", "end"):
        named[field] = events[field]
    named["kind"] = np.array(KINDS)[events["kind"]]
    for kinds, names in (
        (("compute",), operators),
        (("load", "store"), [tensor["name"] for tensor in program.tensors]),
        (("send", "receive", "wait"), [entry["name"] for entry in carried]),
    ):
        some = np.isin(named["kind"], kinds)
        if some.any():
            named["name"][some] = np.array(names)[events["what"][some]]
    messages = np.isin(named["kind"], ("send", "receive"))
    sizes = np.array([np.dtype(entry["dtype"]).itemsize for entry in carried] or [1])
    named["words"][messages] = events["bytes"][messages] // sizes[events["what"][messages]]
    return named


def _rest(rank: Mapping[str, Any]) -> float:
    told = rank["load_store"] + rank["exchange"] + rank["finish"]
    told += sum(sum(rank[key].values()) for key in ("compute", "send", "wait", "give", "fetch"))
    return float(max(0.0, rank["seconds"] - told))


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.2f}"


def _titles(ranks: int) -> list[str]:
    if ranks > _MOST_COLUMNS:
        return ["least", "mean", "most"]
    return [f"rank {number}" for number in range(ranks)]


def _columns(amounts: Sequence[float], show: Callable[[float], str]) -> list[str]:
    """One for each title."""
    if len(amounts) > _MOST_COLUMNS:
        amounts = [min(amounts), sum(amounts) / len(amounts), max(amounts)]
    return [show(amount) for amount in amounts]
