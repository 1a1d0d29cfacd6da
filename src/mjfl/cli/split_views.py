"""What `mjfl data show` prints and draws: devices x classes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from mjfl.domain.arrays import Ints
from mjfl.errors import ConfigError
from mjfl.learning.federation import Federated


def show(name: str, federated: Federated, rows: int, console: Console) -> None:
    """One job's split as a table devices x classes."""
    split, dataset = federated
    counts = split.table(dataset.train_labels, dataset.classes)
    kinds = (counts > 0).sum(axis=1)
    sizes = f"{_range(split.sizes)} images of {_range(kinds)} classes"
    console.print(f"{name}: {dataset.name}, {split.devices} devices with {sizes}", soft_wrap=True)
    table = Table(box=None)
    for column in ("device", "images", *map(str, range(dataset.classes))):
        table.add_column(column, justify="right")
    for k in range(min(rows, split.devices)):
        table.add_row(str(k), str(split.sizes[k]), *(str(count) if count else "" for count in counts[k]))
    console.print(table)
    if rows < split.devices:
        console.print(f"and {split.devices - rows} more devices; --rows {split.devices} shows them", soft_wrap=True)


def _range(numbers: Ints) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def draw(splits: Mapping[str, Federated], path: Path) -> None:
    """A heat map devices x classes for each job, one below the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.6 * len(splits)), layout="constrained")
    panels = figure.subplots(len(splits), squeeze=False)[:, 0]
    for panel, (name, (split, dataset)) in zip(panels, splits.items(), strict=True):
        counts = split.table(dataset.train_labels, dataset.classes)
        held = np.ma.masked_equal(counts.T, 0)  # white where there is nothing
        image = panel.imshow(held, aspect="auto", interpolation="nearest", cmap="viridis_r", vmin=0)
        panel.set(title=f"{name} ({dataset.name})", xlabel="device", ylabel="class")
        figure.colorbar(image, ax=panel, label="images")
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be drawn: {error}", source=str(path)) from None


def as_json(federated: Federated) -> dict[str, Any]:
    """One job's split for other programs."""
    split, dataset = federated
    counts = split.table(dataset.train_labels, dataset.classes)
    return {"dataset": dataset.name, "samples": split.sizes.tolist(), "classes": counts.tolist()}
