"""A million devices, 3 jobs, 100 devices a round, 100 rounds each, the exact scheduler, score and log on.

Prints wall and CPU seconds and the peak memory of this process.
"""

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from mjfl import app
from mjfl.config import load
from mjfl.results import log, metrics


def tables() -> dict[str, Any]:
    return {
        "name": "million",
        "fleet": {"devices": 1_000_000},
        "defaults": {"devices_per_round": 100, "max_rounds": 100},
        "jobs": [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}],
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = load.check(tables())
        wall, cpu = time.perf_counter(), time.process_time()
        run = app.create(config, Path(folder))
        app.execute(run, config)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        result = metrics.summary(log.read(run.log))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{result.rounds} rounds, {result.device_events} device events, score {result.score}")
    print(f"wall {wall:.1f} s, CPU {cpu:.1f} s, peak {peak:.2f} GiB, {result.mean_decision_ms:.1f} ms a decision")


if __name__ == "__main__":
    main()
