"""The loop and the exact scheduler: a smoke study with the score, and device events a second without it.

Prints CPU seconds of this process, one thread.
"""

import time
from typing import Any

from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.engine.loop import Engine


def tables(devices: int, size: int, rounds: int) -> dict[str, Any]:
    return {
        "seed": 2022,
        "fleet": {"devices": devices},
        "defaults": {"devices_per_round": size, "max_rounds": rounds},
        "jobs": [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}],
    }


def timed(devices: int, size: int, rounds: int, *, score: bool) -> float:
    parts = assemble(load.check(tables(devices, size, rounds)))
    engine = Engine(parts.problem, parts.scheduler, parts.backend, parts.learner, time.perf_counter, score=score)
    start = time.process_time()
    for _ in engine.run():
        pass
    return time.process_time() - start


def main() -> None:
    timed(100, 10, 50, score=True)  # warm
    print("exact scheduler, curve learner, 3 jobs x 200 rounds")
    print(f"{'devices':>9} {'a round':>8} {'score':>6} {'CPU s':>8} {'device events/s':>16}")
    for devices, size in ((100, 10), (1000, 100)):
        for score in (True, False):
            seconds = min(timed(devices, size, 200, score=score) for _ in range(3))
            print(f"{devices:>9} {size:>8} {'on' if score else 'off':>6} {seconds:8.3f} {600 * size / seconds:16,.0f}")


if __name__ == "__main__":
    main()
