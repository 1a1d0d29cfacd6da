"""Numbers and times as people read them."""

import math
from collections.abc import Mapping

from mjfl.results.statistics import Estimate, Reached


def seconds(value: float | None) -> str:
    """Seconds, minutes, hours or days, with three digits or so."""
    if value is None or not math.isfinite(value):
        return "–"
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (172_800, "h", 3600)):
        if value < limit:
            return f"{number(value / size)} {unit}"
    return f"{number(value / 86_400)} d"


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
    if size >= 0.001 or value == 0:
        return f"{value:.2f}" if size >= 0.1 or value == 0 else f"{value:.4f}"
    return f"{value:.1e}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %" if value >= 0.0995 or value == 0 else f"{100 * value:.1f} %"


def estimate(value: Estimate) -> str:
    """Mean and half width, both with the digits that the half width deserves."""
    if value.half_width is None:
        return number(value.mean)
    return f"{number(value.mean)} ± {number(value.half_width)}"


def reached(value: Reached) -> str:
    """Median time, and how many of the runs got there."""
    if not value.reached:
        return f"not reached (0/{value.runs})"
    median = seconds(value.median) if math.isfinite(value.median) else "not reached"
    share = "" if value.reached == value.runs else f" ({value.reached}/{value.runs})"
    if value.runs == 1 or not math.isfinite(value.median):
        return f"{median}{share}"
    last = seconds(value.last) if math.isfinite(value.last) else "never"
    return f"{median} [{seconds(value.first)}, {last}]{share}"


def target(value: Mapping[str, float] | None) -> str:
    """The target of a job, as in the config."""
    if not value:
        return "–"
    (metric, aim), *_ = value.items()
    return f"{metric} {'≤' if metric == 'loss' else '≥'} {aim:g}"
