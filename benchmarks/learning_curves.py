"""Real training on real data: learning rates tried in short runs, then accuracy over rounds with the best.

    python benchmarks/learning_curves.py lenet-5 emnist-digits 64 --samples 2400 --out curves

Random plans of 10 of 100 devices, 5 local epochs, SGD, seed 2022. The data set must be in the store
(`mjfl data get` or `mjfl data import`). Writes one CSV a split: round, accuracy, loss.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from mjfl import app
from mjfl.config import load
from mjfl.results import log

RATES = (0.01, 0.03, 0.1)


def tables(arguments: argparse.Namespace, split: str, rate: float, rounds: int) -> dict[str, Any]:
    iid = {"kind": "iid", "samples": arguments.samples}
    classes = {"kind": "classes", "classes_per_device": 2, "parts_per_class": 20}
    return {
        "name": f"{arguments.model}-{split}",
        "learner": {"kind": "torch", "precision": arguments.precision},
        "scheduler": {"kind": "random"},
        "jobs": [
            {
                "name": "job",
                "model": arguments.model,
                "dataset": arguments.dataset,
                "batch_size": arguments.batch,
                "optimizer": {"kind": "sgd", "learning_rate": rate},
                "partition": iid if split == "iid" else classes,
                "max_rounds": rounds,
            }
        ],
    }


def curve(arguments: argparse.Namespace, split: str, rate: float, rounds: int) -> list[tuple[int, float, float]]:
    """(round, accuracy, loss) of a whole run."""
    with tempfile.TemporaryDirectory() as folder:
        config = load.check(tables(arguments, split, rate, rounds))
        run = app.create(config, Path(folder))
        app.execute(run, config, save_every=1e9)
        finished = [event for event in log.read(run.log) if event["kind"] == "round_finished"]
    return [(e["round"], e["accuracy"], e["loss"]) for e in finished if e["accuracy"] is not None]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("dataset")
    parser.add_argument("batch", type=int)
    parser.add_argument("--samples", type=int, required=True, help="a device, in the IID split")
    parser.add_argument("--trial", type=int, default=30, help="rounds to try a learning rate with")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--out", type=Path, default=Path())
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for split in ("iid", "noniid"):
        best_rate, best = 0.0, 0.0
        for rate in RATES:
            found = curve(arguments, split, rate, arguments.trial)
            last = sum(accuracy for _, accuracy, _ in found[-5:]) / 5
            print(
                f"{split}: rate {rate}: mean accuracy of the last 5 of {arguments.trial} rounds {last:.4f}", flush=True
            )
            if last > best:
                best_rate, best = rate, last
        start = time.perf_counter()
        found = curve(arguments, split, best_rate, arguments.rounds)
        seconds = (time.perf_counter() - start) / arguments.rounds
        path = arguments.out / f"{arguments.model}-{arguments.dataset}-{split}.csv"
        path.write_text("round,accuracy,loss\n" + "".join(f"{r},{a:.4f},{x:.5f}\n" for r, a, x in found))
        shown = ", ".join(f"{r}: {a:.4f}" for r, a, _ in found if r in (1, 5, 10, 20, 50, 100, 150, 200))
        print(f"{split}: rate {best_rate}: accuracy at round {shown}; {seconds:.3f} s a round -> {path}", flush=True)


if __name__ == "__main__":
    main()
