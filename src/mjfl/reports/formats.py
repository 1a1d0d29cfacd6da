"""Numbers and times as people read them."""

import math
from collections.abc import Mapping

from mjfl.results.statistics import Estimate, Reached


def seconds(value: float | None) -> str:
    """Seconds, minutes, hours or days, with three digits or so."""
    if value is None or not math.isfinite(value):
        return "–"
    size, unit = unit_of(value)
    return f"{number(value / size)} {unit}"


def unit_of(value: float) -> tuple[int, str]:
    """Seconds in the unit that suits this time, and its name."""
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (172_800, "h", 3600)):
        if value < limit:
            return size, unit
    return 86_400, "d"


def number(value: float | None) -> str:
    """Three significant digits; no exponent where a person would not write one."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.1 or value == 0:
        return f"{value:.2f}"
    return f"{value:.3f}" if size >= 0.001 else f"{value:.1e}"


def accuracy(value: float | None) -> str:
    """Three decimals: targets are said in as many."""
    return "–" if value is None else f"{value:.3f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %" if value >= 0.0995 or value == 0 else f"{100 * value:.1f} %"


def estimate(value: Estimate) -> str:
    """Mean and half width, with the same number of decimals."""
    mean = number(value.mean)
    if value.half_width is None:
        return mean
    decimals = len(mean.partition(".")[2]) if "e" not in mean else 3
    return f"{mean} ± {value.half_width:,.{decimals}f}"


def reached(value: Reached, like: float | None = None) -> str:
    """Median time with the range, in the unit that suits it or the time `like`, and how many of the runs got there."""
    if not value.reached:
        return f"not reached (0/{value.runs})"
    share = "" if value.reached == value.runs else f" ({value.reached}/{value.runs})"
    if not math.isfinite(value.median):
        return f"not reached{share}"
    size, unit = unit_of(value.median if like is None else like)
    if value.runs == 1:
        return f"{number(value.median / size)} {unit}"
    last = number(value.last / size) if math.isfinite(value.last) else "never"
    return f"{number(value.median / size)} ({number(value.first / size)} to {last}) {unit}{share}"


def target(value: Mapping[str, float] | None) -> str:
    """The target of a job, as in the config."""
    if not value:
        return "–"
    (metric, aim), *_ = value.items()
    return f"{metric} {'≤' if metric == 'loss' else '≥'} {aim:g}"
