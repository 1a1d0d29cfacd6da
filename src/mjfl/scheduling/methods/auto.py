"""Auto: BODS or RLDS for every job, whichever does better in a rehearsal (the paper's appendix, 'Design Details').

The paper chooses by 'small tests (a few epochs)'. Here both decide in short simulated runs, before the first decision,
and the better one in the exact score is kept for good; where they are about equal that is RLDS, which decides faster.
With `weights = "tuned"` short runs choose the fairness weight first; the score in the log goes by the given one.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.cost import CostModel, JobWeights
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.errors import ConfigError
from mjfl.scheduling import catalog
from mjfl.scheduling.assumed_data import Assumed
from mjfl.scheduling.base import Remark, Scheduler, Step
from mjfl.scheduling.miniature import Miniature, alike, believed, miniature
from mjfl.scheduling.rehearsal import Rehearsal
from mjfl.scheduling.short_runs import LEADS, Tried, try_leads, weights_of

_KINDS = ("rlds", "bods")  # the first is taken unless the second is better by more than ...
_ABOUT_EQUAL = 0.01  # of the score
_MOST_BEFORE = 100  # rounds that lie before those that are judged


@dataclass
class Choice:
    """What the rehearsal has led to."""

    kinds: list[str]  # by job
    fairness: list[float] | None  # by job, where the weights were tuned
    remarks: Sequence[Remark] = ()


@dataclass
class Auto(Scheduler):
    rounds: int = 40  # of every job that are judged in a rehearsal
    weights: Literal["given", "tuned"] = "given"
    data: Literal["unknown", "independent", "correlated"] = "unknown"  # of speed: what tuning assumes of the classes
    bods: dict[str, Any] | None = None  # options of the two
    rlds: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.require(rounds=(1, 1000))
        for name, allowed in (("weights", ("given", "tuned")), ("data", ("unknown", *get_args(Assumed)))):
            if getattr(self, name) not in allowed:
                problem = f"is {getattr(self, name)!r}; one of {', '.join(allowed)} is needed"
                raise ConfigError(problem, path=f"scheduler.{name}")
        if self.weights == "tuned" and any((options or {}).get("faithful") for options in (self.bods, self.rlds)):
            problem = "is 'tuned'; the printed forms learn from costs with the given weights"
            raise ConfigError(problem, path="scheduler.weights")
        self._asked = {kind: self._new(kind) for kind in _KINDS}
        self._beforehand: tuple[Problem, Choice] | None = None

    def _new(self, kind: str) -> Scheduler:
        try:
            return catalog.make(kind, getattr(self, kind) or {})
        except ConfigError as error:
            path = error.path.replace("scheduler.", f"scheduler.{kind}.", 1)
            raise ConfigError(error.problem, path=path) from None

    def files(self) -> Sequence[str]:
        return [file for asked in self._asked.values() for file in asked.files()]

    def groundwork(self, problem: Problem) -> Iterable[Step]:
        """A run that is resumed rehearses again, and goes on with what it had chosen."""
        for asked in self._asked.values():
            yield from asked.groundwork(problem)
        if not alike(problem.times[0], problem.jobs[0]):  # or it is better to wait until something is known
            self._beforehand = problem, (yield from self._steps(problem, estimated=False))

    def prepare(self, problem: Problem) -> None:
        self._problem = problem
        self._choice: Choice | None = None
        self._said: list[Remark] = []
        for asked in self._asked.values():
            asked.prepare(problem)

    def select(self, now: Situation) -> Ints:
        if self._choice is None:
            self._choice = self._chosen(now)
        return self._asked[self._choice.kinds[now.job.index]].select(self._weighed(now, self._choice))

    def observe(self, outcome: Outcome) -> None:
        if self._choice is not None:
            self._asked[self._choice.kinds[outcome.plan.job]].observe(outcome)

    def remarks(self) -> Sequence[Remark]:
        said, self._said = self._said, []
        return [*said, *(remark for asked in self._asked.values() for remark in asked.remarks())]

    def state(self) -> dict[str, Any]:
        if self._choice is None:
            return {}
        asked = {kind: asked.state() for kind, asked in self._asked.items()}
        return {"kinds": self._choice.kinds, "fairness": self._choice.fairness, "asked": asked}

    def restore(self, state: dict[str, Any]) -> None:
        if not state:
            return
        self._choice = Choice(state["kinds"], state["fairness"])
        for kind, asked in self._asked.items():
            asked.restore(state["asked"][kind])

    def _chosen(self, now: Situation) -> Choice:
        seen = believed(self._problem, now)
        if self._beforehand is not None and self._beforehand[0] is seen:
            choice = self._beforehand[1]
        else:
            choice = _last(self._steps(seen, estimated=seen is not self._problem))
        self._said += choice.remarks
        return choice

    def _weighed(self, now: Situation, choice: Choice) -> Situation:
        """The decision with the tuned weight, if there is one."""
        if choice.fairness is None:
            return now
        weights, own = list(now.costs.model.weights), now.job.index
        weights[own] = replace(weights[own], fairness_weight=choice.fairness[own])
        return replace(now, costs=replace(now.costs, model=replace(now.costs.model, weights=weights)))

    def _steps(self, problem: Problem, *, estimated: bool) -> Generator[Step, None, Choice]:
        """The rehearsal. `estimated`: the times are not known but estimated, and so they shall be there."""
        small, fairness = miniature(problem), None
        remarks: list[Remark] = []
        total = len(_KINDS) + 1
        if self.weights == "tuned":
            yield Step(0, total, "short runs under several weights")
            small, fairness, remarks = self._tuned(problem, small)
        scores = {}
        before = min(_MOST_BEFORE, max(job.max_rounds for job in problem.jobs) // 2) if small.known else 0
        for done, kind in enumerate(_KINDS, 1):
            yield Step(done, total, f"rehearsing {kind}")
            rehearsal = Rehearsal(small.problem, self._new(kind), self.rounds, before, estimated)
            scores[kind] = rehearsal.result().scores.tolist()
        yield Step(total, total, "rehearsed")
        first, second = _KINDS
        better = [b > a + _ABOUT_EQUAL for a, b in zip(scores[first], scores[second], strict=True)]
        kinds = [second if better[place] else first for place in small.stands_for]
        return Choice(kinds, fairness, remarks + self._verdicts(problem, small, scores))

    def _tuned(self, problem: Problem, small: Miniature) -> tuple[Miniature, list[float] | None, list[Remark]]:
        """The stand-in with other weights, and the real jobs' fairness weights."""
        why_not = _untunable(problem.cost)
        if why_not:
            return small, None, [Remark("weights", f"they stay as given: {why_not}")]
        assumed = get_args(Assumed) if self.data == "unknown" else (self.data,)
        tried = try_leads(small.problem, assumed)
        weights = [_weights(small.problem, job, each) for job, each in enumerate(tried)]
        fairness = [_weights(problem, job, tried[place]).fairness_weight for job, place in enumerate(small.stands_for)]
        cost = replace(small.problem.cost, weights=weights)
        remarks = [
            _on_weights(problem, real, fairness[real], tried[place]) for place, real in enumerate(small.originals)
        ]
        return replace(small, problem=replace(small.problem, cost=cost)), fairness, remarks

    def _verdicts(self, problem: Problem, small: Miniature, scores: Mapping[str, list[float]]) -> list[Remark]:
        first, second = _KINDS
        where = small.about(problem)
        remarks = []
        for place, real in enumerate(small.originals):
            name, a, b = problem.jobs[real].name, scores[first][place], scores[second][place]
            taken, other = (second, first) if b > a + _ABOUT_EQUAL else (first, second)
            best, least = scores[taken][place], scores[other][place]
            why = f"{other} {least:.3f}" + (", which is about the same; it decides faster" if best < least else "")
            others = small.stands_for.count(place) - 1
            also = f" (and {others} jobs like it)" if others else ""
            text = f"{name}{also}: {taken}, score {best:.3f} in {self.rounds} rehearsed rounds{where}; {why}"
            facts = {"job": name, "chosen": taken, "scores": {first: a, second: b}, "rounds": self.rounds}
            remarks.append(Remark("choice", text, facts))
        return remarks


def _untunable(cost: CostModel) -> str:
    if cost.form == "product":
        return "in a product of time and unfairness they decide nothing"
    if any(weights.time_weight == 0 or weights.fairness_weight == 0 for weights in cost.weights):
        return "time or fairness is not to count at all"
    return ""


def _weights(problem: Problem, job: int, tried: Tried) -> JobWeights:
    return problem.cost.weights[job] if tried.lead is None else weights_of(problem, job, tried.lead)


def _on_weights(problem: Problem, job: int, fairness: float, tried: Tried) -> Remark:
    name, given = problem.jobs[job].name, problem.cost.weights[job].fairness_weight
    seconds = {case: [float(s) if np.isfinite(s) else None for s in values] for case, values in tried.seconds.items()}
    facts = {"job": name, "lead": tried.lead, "fairness_weight": fairness, "given": given, "leads": list(LEADS)}
    if tried.lead is None:
        return Remark("weights", f"{name}: they stay as given; its rounds are too few to learn in", facts)
    text = f"{name}: fast devices may get {tried.lead:g} rounds ahead, fairness weight {fairness:.3g} for {given:.3g}; "
    soonest = [f"{LEADS[int(seconds.argmin())]:g} if the data are {case}" for case, seconds in tried.seconds.items()]
    if len(soonest) > 1:
        text += f"in short runs the best lead is {' and '.join(soonest)}; this loses at most {min(tried.losses):.0%}"
    else:
        text += f"of the leads {', '.join(f'{lead:g}' for lead in LEADS)} it learns soonest in short runs"
    return Remark("weights", text, {**facts, "seconds": seconds})


def _last(steps: Generator[Step, None, Choice]) -> Choice:
    """What a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            choice: Choice = end.value
            return choice
