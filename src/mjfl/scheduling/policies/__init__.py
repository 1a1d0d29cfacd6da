"""Trained policies: the one that is shipped, those in the cache, and new ones.

The shipped policy is `default.safetensors`, made by `mjfl train-policy CONFIG --out FILE` with default options; any
config gives the same file. The cache is the folder MJFL_CACHE, else ~/.cache/mjfl; it may be deleted at any time.
"""

import os
from contextlib import suppress
from pathlib import Path

from mjfl.errors import ConfigError
from mjfl.scheduling.policy import Policy, load
from mjfl.scheduling.recipe import Recipe
from mjfl.scheduling.training import Training

SHIPPED = Path(__file__).with_name("default.safetensors")


def obtain(recipe: Recipe) -> Policy:
    """The policy of a recipe: shipped, cached, or trained now and then cached."""
    for path in (SHIPPED, cached(recipe)):
        with suppress(ConfigError):  # a file that is not there or damaged is one to be made again
            policy = load(path)
            if policy.about.get("recipe") == recipe.as_json():
                return policy
    training = Training(recipe)
    for _ in training:
        pass
    keep(training.policy, recipe)
    return training.policy


def cached(recipe: Recipe) -> Path:
    """Where the cache has the policy of a recipe."""
    folder = os.environ.get("MJFL_CACHE") or Path.home() / ".cache" / "mjfl"
    return Path(folder) / f"rlds-{recipe.key()}.safetensors"


def keep(policy: Policy, recipe: Recipe) -> None:
    """Put it into the cache; without a place to write, it is trained again next time."""
    with suppress(OSError):
        policy.save(cached(recipe))
