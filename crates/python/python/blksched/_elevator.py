"""A scheduler of your own, in Python; and a world that asks for each decision, for learning agents."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Union

from ._blksched import Request, laws as _laws, register
from ._errors import InputError

if TYPE_CHECKING:
    from ._input import Disk, Job
    from ._run import Result


@dataclass(frozen=True)
class Idle:
    """Leave the disk idle until then, although requests are queued."""

    until_ns: int


class Elevator:
    """A scheduler. An object of the class is created for every run; it is told of requests and chooses the next one.

    >>> class Nearest(Elevator):
    ...     def __init__(self):
    ...         self.queued, self.arm = {}, 0
    ...     def insert(self, now, rq):
    ...         self.queued[rq.id] = rq
    ...     def dispatch(self, now):
    ...         rq = min(self.queued.values(), key=lambda rq: abs(rq.sector - self.arm))
    ...         self.arm = rq.sector + rq.sectors
    ...         return self.queued.pop(rq.id)
    >>> laws(Nearest)
    """

    def insert(self, now: int, rq: Request) -> None:
        """A request is queued."""
        raise NotImplementedError(f"{type(self).__name__} has no insert")

    def dispatch(self, now: int) -> Union[Request, Idle, None]:
        """The next request for the disk; called only while something is queued. None: wait for a completion.

        Merged requests are tracked for you: if you return one that is gone, dispatch is called again.
        """
        raise NotImplementedError(f"{type(self).__name__} has no dispatch")

    def complete(self, now: int, rq: Request) -> None:
        """The disk is done with it."""

    def requeue(self, now: int, rq: Request) -> None:
        """The disk returned it without trying it: it goes first when it can go again."""
        self.insert(now, rq)


def named(elevator: str | type[Elevator]) -> str:
    """The elevator's name in the program; a class is registered."""
    if isinstance(elevator, str):
        return elevator
    if not (isinstance(elevator, type) and issubclass(elevator, Elevator)):
        raise InputError(f"{elevator!r} is not a scheduler: expected a name or a class below bs.Elevator")
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in elevator.__name__).lower() + "-py"
    register(name, elevator)
    return name


def laws(elevator: type[Elevator]) -> None:
    """Check a scheduler against the laws for all: each request issued once, none lost, repeatable.

    Raises `LawBroken` with the law and the seed of the script that shows it.
    """
    _laws(named(elevator))


@dataclass
class Observation:
    """The state for a decision."""

    now_ns: int
    #: In order of arrival.
    queued: list[Request]
    #: The sector after the last one requested.
    position: int
    in_flight: int
    #: Since the last decision: request, and ns from its queueing to its completion.
    completed: list[tuple[Request, int]] = field(default_factory=list)


class World:
    """A simulation that asks its caller for every decision.

    `reset()` begins and gives the first `Observation`, `step(rq)` decides (a request of `queued`, or None: wait) and
    gives the next one, or None when the run is over; then `result` has the result.
    """

    def __init__(
        self, job: Job | str, disk: Disk | str, *, seed: int = 1, time: str | float = "5s"
    ) -> None:
        self._arguments: dict[str, Any] = {"job": job, "disk": disk, "seed": seed, "time": time}
        self._thread: threading.Thread | None = None
        self._asked: SimpleQueue[Any] = SimpleQueue()
        self._decided: SimpleQueue[Any] = SimpleQueue()
        self.result: Result | None = None

    def reset(self, seed: int | None = None) -> Observation | None:
        """Begin, with another seed if one is given."""
        self.close()
        if seed is not None:
            self._arguments["seed"] = seed
        self._asked, self._decided = SimpleQueue(), SimpleQueue()
        self.result = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self._next()

    def step(self, rq: Request | None) -> Observation | None:
        """Decide."""
        if self._thread is None:
            raise InputError("the run is over, or has not begun: call reset()")
        self._decided.put(rq)
        return self._next()

    def close(self) -> None:
        """End it early."""
        if self._thread is not None:
            self._decided.put(_Over())
            self._thread.join()
            self._thread = None

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> Observation | None:
        asked = self._asked.get()
        if isinstance(asked, Observation):
            return asked
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if isinstance(asked, BaseException):
            raise asked
        self.result = asked
        return None

    def _run(self) -> None:
        from ._run import simulate

        try:
            outcome: Any = simulate(elevator=_stepped(self._asked, self._decided), **self._arguments)
        except BaseException as error:  # raised in the thread that steps
            outcome = error
        self._asked.put(outcome)


class _Over(Exception):
    """The thread that steps has left."""


def _stepped(asked: SimpleQueue[Any], decided: SimpleQueue[Any]) -> type[Elevator]:
    class Stepped(Elevator):
        def __init__(self) -> None:
            self.queued: dict[int, Request] = {}
            self.completed: list[tuple[Request, int]] = []
            self.position = self.in_flight = 0
            self.named: set[int] = set()

        def insert(self, now: int, rq: Request) -> None:
            self.queued[rq.id] = rq

        def dispatch(self, now: int) -> Union[Request, None]:
            seen = Observation(now, list(self.queued.values()), self.position, self.in_flight, self.completed)
            self.completed = []
            asked.put(seen)
            rq = decided.get()
            if isinstance(rq, _Over):
                raise rq
            if rq is None:
                if self.in_flight == 0:
                    raise InputError("step(None) with nothing in the disk: nobody would ever ask again")
                return None
            if self.queued.pop(rq.id, None) is None:
                raise InputError(f"request {rq.id} is not queued")
            self.position = rq.sector + rq.sectors
            self.in_flight += 1
            return rq  # type: ignore[no-any-return]

        def complete(self, now: int, rq: Request) -> None:
            self.in_flight -= 1
            self.completed.append((rq, now - rq.queued_ns))

    Stepped.__name__ = f"Stepped{threading.get_ident()}"
    return Stepped
