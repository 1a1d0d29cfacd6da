"""The devices of a round spread over processes, one thread each: the same numbers as one after another."""

from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mjfl.domain.arrays import Ints
from mjfl.domain.job import Progress
from mjfl.errors import RunFailed
from mjfl.learning.training.flat import FlatModel
from mjfl.learning.training.sequential import Sequential
from mjfl.learning.training.step import Precision
from mjfl.learning.training.task import Task
from mjfl.learning.training.trainer import LocalUpdate
from mjfl.processes import Workers, prepare_worker, started_deaf

Answer = tuple[npt.NDArray[np.floating], int, float]

_KILLED = "a training process was killed; resume the run to go on"
_CPU = torch.device("cpu")
_here: list[Sequential] = []  # a worker's own trainer


class Pooled:
    """Rounds of several jobs are worked on at the same time; evaluation happens in this process."""

    def __init__(self, tasks: Sequence[Task], precision: Precision, processes: int) -> None:
        torch.set_num_threads(1)
        self._own = Sequential(tasks, _CPU, precision)
        self._pool = ProcessPoolExecutor(processes, Workers(), initializer=_begin, initargs=(tasks, precision))

    def initial(self, job: int) -> Tensor:
        return self._own.initial(job)

    def layout(self, job: int) -> FlatModel:
        return self._own.layout(job)

    def train(self, job: int, round: int, devices: Ints, weights: Tensor) -> "PooledRound":
        given = weights.numpy()
        try:
            with started_deaf():
                return PooledRound([self._pool.submit(_work, job, round, k, given) for k in devices.tolist()])
        except BrokenProcessPool:
            raise RunFailed(_KILLED) from None

    def score(self, job: int, weights: Tensor) -> Progress:
        return self._own.score(job, weights)


@dataclass(frozen=True)
class PooledRound:
    answers: Sequence[Future[Answer]]

    def updates(self, slots: Sequence[int]) -> list[LocalUpdate]:
        try:
            arrived = [self.answers[slot].result() for slot in slots]
        except BrokenProcessPool:
            raise RunFailed(_KILLED) from None
        return [LocalUpdate(torch.from_numpy(vector), samples, loss) for vector, samples, loss in arrived]


def _begin(tasks: Sequence[Task], precision: Precision) -> None:
    prepare_worker()
    torch.set_num_threads(1)
    _here.append(Sequential(tasks, _CPU, precision))


def _work(job: int, round: int, device: int, weights: npt.NDArray[np.floating]) -> Answer:
    begun = _here[0].train(job, round, np.array([device]), torch.from_numpy(weights.copy()))
    (update,) = begun.updates([0])
    return update.vector.numpy(), update.samples, update.loss
