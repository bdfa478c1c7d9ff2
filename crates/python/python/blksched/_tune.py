"""Which knobs are worth changing: Optuna chooses what to try, and `compare --tune`'s rule judges it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Sequence

from ._blksched import Search
from ._errors import Error, InputError
from ._input import Disk, Job, _question
from ._run import Scheduler, spec

_CALL = re.compile(r"^\s*([\w.]+)\(\s*(.+?)(?:\.(read|write|trim|sync|fsync|flush))?\s*\)\s*([<>].*)?$")


def as_goal(said: str) -> str:
    """`p99(app.read)` in the words of `--goal`; a goal in those words is unchanged.

    >>> as_goal("p99(app.read)"), as_goal("app: p99 read"), as_goal("finish(backup) < 2h")
    ('app: p99 read', 'app: p99 read', 'backup: finish < 2h')
    """
    found = _CALL.match(said)
    if not found:
        return said
    figure, job, direction, bound = found.groups()
    return " ".join(part for part in [f"{job}: {figure}", direction, (bound or "").strip()] if part)


def _times(ratio: float) -> str:
    """The number in a sentence: two seeds that differ greatly leave an unbounded interval.

    >>> _times(1.234), _times(1e58), _times(1e-9)
    ('1.23', 'more than 1000', 'less than 0.001')
    """
    if ratio > 1000:
        return "more than 1000"
    return "less than 0.001" if ratio < 0.001 else f"{ratio:.2f}"


@dataclass(frozen=True)
class Tuned:
    """Settings, and their results on seeds that the search has not seen."""

    elevator: str
    #: Raw values by name, as the search has them.
    knobs: dict[str, int]
    #: As one would type them, `slice_idle=0ms`.
    settings: list[str]
    #: How many times better than the untouched scheduler; with several goals the first's.
    ratio: float
    #: The 95 % interval of that.
    interval: tuple[float, float]
    p: float
    #: `compare --tune` would propose it.
    is_better: bool
    forbidden: list[str]
    #: Of several goals, (ratio, interval) each.
    by_goal: list[tuple[float, tuple[float, float]]] = field(default_factory=list)
    #: Of several goals: every settings that none is better than in all of them.
    front: list[Tuned] = field(default_factory=list)
    #: Optuna's study.
    study: Any = field(default=None, repr=False, compare=False)

    @property
    def verdict(self) -> str:
        name = f"{self.elevator} {' '.join(self.settings)}".strip()
        if not self.knobs:
            return f"Nothing that was tried looks better than {self.elevator}'s defaults. Leave them."
        low, high = map(_times, self.interval)
        if self.is_better:
            times = f"{_times(self.ratio)} times better ({low} to {high})"
            return f"Use {name}: {times} on seeds that the search had not seen."
        why = "; ".join(self.forbidden) or "it is not proven better on seeds that the search had not seen"
        return f"Leave {self.elevator}'s defaults: not {name}, {why} ({_times(self.ratio)}, {low} to {high})."


def tune(
    job: Job | str,
    disk: Disk | str,
    elevator: Scheduler,
    *,
    goal: str | Sequence[str] | None = None,
    trials: int = 200,
    seeds: int = 3,
    seed: int = 1,
    time: str | float | None = None,
    host: str | None = None,
    fs: str | None = None,
    sampler: Any = None,
    pruner: Any = None,
) -> Tuned:
    """Search the knobs of a scheduler and of the queue around it. Needs Optuna: `pip install 'blksched[tune]'`.

    Each trial is run with up to `seeds` seeds, each compared with the default settings with the same seed; Optuna's
    pruner may end it early. `sampler` and `pruner` are Optuna's. Several goals give a Pareto front.
    """
    try:
        import optuna
    except ModuleNotFoundError as missing:
        raise Error("bs.tune needs Optuna: pip install 'blksched[tune]'") from missing
    goals = [None] if goal is None else [goal] if isinstance(goal, str) else list(goal)
    if not goals:
        raise InputError("no goal: expected one at least, as in goal=\"p99(app.read)\"")
    name = spec(elevator)
    searches = [_search(job, disk, name, one, time, (host, fs), seed) for one in goals]
    axes = searches[0].knobs()
    sampler = sampler or optuna.samplers.TPESampler(seed=seed, multivariate=True)

    def turned(choices: dict[str, int | None]) -> list[tuple[str, int]]:
        return [(knob, raw) for knob, raw in choices.items() if raw is not None]

    def objective(trial: Any) -> Any:
        # None: the default.
        choices = {knob: trial.suggest_categorical(knob, [None, *values]) for knob, values in axes}
        sums = [0.0] * len(searches)
        for nth in range(seeds):
            for which, search in enumerate(searches):
                score = search.score(turned(choices), nth)
                if score is None:
                    raise optuna.TrialPruned
                sums[which] += score
            if len(searches) == 1:
                trial.report(sums[0] / (nth + 1), nth)
                if trial.should_prune():
                    raise optuna.TrialPruned
        return tuple(total / seeds for total in sums)

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(
            directions=["maximize"] * len(searches),
            sampler=sampler,
            pruner=pruner or optuna.pruners.MedianPruner(n_startup_trials=8),
        )
        study.enqueue_trial({knob: None for knob, _ in axes})
        study.optimize(objective, n_trials=trials)
    finally:
        optuna.logging.set_verbosity(before)
    front = [_checked(name, searches, turned(trial.params), study) for trial in _best(study)]
    if not front:
        return Tuned(name, {}, [], 1.0, (1.0, 1.0), 1.0, False, ["every settings were forbidden"], study=study)
    best = max(front, key=lambda one: (one.is_better, one.ratio))
    return best if len(searches) == 1 else Tuned(**{**vars(best), "front": front})


def _best(study: Any) -> list[Any]:
    """The best trials, each setting once."""
    found: dict[str, Any] = {}
    for trial in study.best_trials:
        found.setdefault(repr(sorted(trial.params.items())), trial)
    return list(found.values())


def _search(
    job: Job | str,
    disk: Disk | str,
    name: str,
    goal: str | None,
    time: Any,
    on: tuple[str | None, str | None],
    seed: int,
) -> Search:
    host, fs = on
    question = _question(job, disk, time=time, seed=seed, host=host, fs=fs)
    return Search(question, name, None if goal is None else as_goal(goal))


def _checked(name: str, searches: list[Search], turned: list[tuple[str, int]], study: Any) -> Tuned:
    if not turned:
        return Tuned(name, {}, [], 1.0, (1.0, 1.0), 1.0, False, [], [(1.0, (1.0, 1.0))] * len(searches), study=study)
    checked = [search.check(turned) for search in searches]
    (ratio, low, high), p, is_better, forbidden = checked[0]
    by_goal = [(one[0][0], (one[0][1], one[0][2])) for one in checked]
    if len(checked) > 1:
        is_better = any(one[2] for one in checked) and not any(one[3] for one in checked)
    if math.isnan(ratio):
        forbidden = [*forbidden, "none of the goal's figures was measured"]
    shown, interval = searches[0].show(turned), (low, high)
    return Tuned(name, dict(turned), shown, ratio, interval, p, is_better, forbidden, by_goal, study=study)
