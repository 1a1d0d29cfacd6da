"""RLDS (Zhou et al., 2022): a policy network scores the devices, a converter turns the scores into a plan.

The printed form (`faithful`) learns next to nothing: its baseline follows the rewards of past rounds, which drift more
than plans differ. The default reads the skyband in units of cost, is trained beforehand on virtual fleets with the rank
of a plan among the plans of its state as the reward (`mjfl train-policy`), and then stays as it is. What it has learned
carries over to other devices, fleet sizes, plan sizes and weights.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mjfl.domain.arrays import Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.errors import ConfigError
from mjfl.scheduling.base import Remark, Scheduler, Step

if TYPE_CHECKING:
    from mjfl.scheduling.recipe import Recipe


class Form(Protocol):
    """The printed form, a policy that stays as it is, or one that goes on learning."""

    def choose(self, now: Situation) -> Ints: ...

    def learn(self, outcome: Outcome) -> str:
        """What there is to tell of it, if anything."""

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


@dataclass
class Rlds(Scheduler):
    faithful: bool = False  # as printed: Algorithms 2 and 3
    policy: str = "shipped"  # or "alike": trained on virtual fleets like this one; or a file of `mjfl train-policy`
    exploration: float = 0.0  # chance that a plan is drawn from the policy, instead of its likeliest
    online: bool = False  # go on learning from real rounds
    learning_rate: float = 1e-4  # of `online`

    def __post_init__(self) -> None:
        self.require(exploration=(0, 1))
        if not 0 < self.learning_rate <= 1:
            problem = f"is {self.learning_rate}; a number above 0, at most 1, is needed"
            raise ConfigError(problem, path="scheduler.learning_rate")
        if self.faithful and (self.online or self.policy != "shipped" or self.exploration):
            problem = "is true; the printed form trains its own policy and knows no policy, exploration or online"
            raise ConfigError(problem, path="scheduler.faithful")
        if self.files():
            if not self.policy.endswith(".safetensors"):
                problem = (
                    f'is {self.policy!r}; "shipped", "alike" or a .safetensors file of `mjfl train-policy` is needed'
                )
                raise ConfigError(problem, path="scheduler.policy")
            from mjfl.scheduling.policy import load  # torch is slow to import: only where it is needed

            load(Path(self.policy))

    def files(self) -> Sequence[str]:
        return () if self.policy in ("shipped", "alike") else (self.policy,)

    def groundwork(self, problem: Problem) -> Iterable[Step]:
        """Train the policy, if it is neither shipped nor in the cache."""
        if self.faithful or self.files():
            return ()
        from mjfl.scheduling import policies

        return policies.groundwork(self._recipe(problem))

    def prepare(self, problem: Problem) -> None:
        self._form = self._made(problem)
        self._said: list[Remark] = []

    def _made(self, problem: Problem) -> Form:
        from mjfl.scheduling.online_policy import Frozen, Online
        from mjfl.scheduling.printed_policy import Printed

        if self.faithful:
            return Printed(problem)
        from mjfl.scheduling import policies
        from mjfl.scheduling.policy import load

        policy = load(Path(self.policy)) if self.files() else policies.obtain(self._recipe(problem))
        if self.online:
            return Online(policy, problem, self.exploration, self.learning_rate)
        return Frozen(policy, self.exploration)

    def _recipe(self, problem: Problem) -> "Recipe":
        from mjfl.scheduling.recipe import Recipe, alike

        return Recipe() if self.policy == "shipped" else alike(problem)

    def select(self, now: Situation) -> Ints:
        return self._form.choose(now)

    def observe(self, outcome: Outcome) -> None:
        said = self._form.learn(outcome)
        if said:
            self._said.append(Remark("policy", said))

    def remarks(self) -> Sequence[Remark]:
        said, self._said = self._said, []
        return said

    def state(self) -> dict[str, Any]:
        return self._form.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._form.restore(state)
