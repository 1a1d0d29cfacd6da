"""Trained policies: the one that is shipped, those in the cache, and new ones.

The shipped policy is `default.safetensors`, made by `mjfl train-policy --any --out default.safetensors`. The cache is
the folder MJFL_CACHE, else ~/.cache/mjfl; it may be deleted at any time. Its names hold a digest of everything that a
training depends on, its code included: other code, another policy.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO

from mjfl.errors import ConfigError
from mjfl.scheduling.base import Step
from mjfl.scheduling.policy import Policy, load
from mjfl.scheduling.recipe import Recipe
from mjfl.scheduling.training import Training

SHIPPED = Path(__file__).with_name("default.safetensors")
_LOOK_AGAIN_SECONDS = 0.2
_made_here: dict[str, Policy] = {}  # by recipe: trained by this process, which found no place to keep them


def obtain(recipe: Recipe) -> Policy:
    """The policy of a recipe: shipped, cached, or trained now and then cached."""
    for _ in groundwork(recipe):
        pass
    policy = _ready(recipe)
    assert policy is not None
    return policy


def groundwork(recipe: Recipe) -> Iterator[Step]:
    """Train the policy of a recipe unless it is there; of several processes that want the same one, one trains it."""
    if _ready(recipe) is not None:
        return
    with _lock_file(cached(recipe)) as lock:
        while lock is not None and not _taken(lock):
            yield Step(0, recipe.updates, "another process trains the policy")
            time.sleep(_LOOK_AGAIN_SECONDS)
        if _ready(recipe) is not None:
            return
        training = Training(recipe)
        for update in training:
            yield Step(update, recipe.updates, f"training a policy{_score(training)}")
        _keep(training.policy, recipe)


def cached(recipe: Recipe) -> Path:
    """Where the cache has the policy of a recipe."""
    folder = os.environ.get("MJFL_CACHE") or Path.home() / ".cache" / "mjfl"
    digest = hashlib.blake2b(f"{recipe.key()} {_code()}".encode(), digest_size=12)
    return Path(folder) / f"rlds-{digest.hexdigest()}.safetensors"


@cache
def _code() -> str:
    """What turns a recipe into a policy: the sources, and the versions of what it computes with."""
    package = Path(__file__).parents[2]
    digest = hashlib.blake2b(f"{version('torch')} {version('numpy')}".encode())
    for path in sorted([*package.glob("domain/*.py"), *package.glob("scheduling/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _ready(recipe: Recipe) -> Policy | None:
    """The policy, if it does not need to be trained; a damaged file is one to be made again."""
    for path in (SHIPPED, cached(recipe)):
        with suppress(ConfigError):
            policy = load(path)
            if policy.about.get("recipe") == recipe.as_json():
                return policy
    return _made_here.get(recipe.key())


def _keep(policy: Policy, recipe: Recipe) -> None:
    try:
        policy.save(cached(recipe))
    except OSError:
        _made_here[recipe.key()] = policy


def _score(training: Training) -> str:
    return f", score {training.curve[-1][1]:.3f} in validation" if training.curve else ""


@contextmanager
def _lock_file(path: Path) -> Iterator[IO[str] | None]:
    """Nothing where no file can be made: then each process trains for itself."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.with_suffix(".lock").open("w")
    except OSError:
        yield None
        return
    with file:
        yield file


def _taken(file: IO[str]) -> bool:
    """Whether it is our turn; a process that ends, however it ends, gives its turn back."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
