"""What is seen of one run, in sentences: each is computed from the run, none is invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.arrays import Array
from separatrix.certificate import CERTIFIED
from separatrix.diagnose import STILL_FALLING, Diagnosis, rounded_down, settled
from separatrix.study.words import counted

UNSETTLED = ("diverged", "not_converged", "oscillating", "ended_higher")
# Said of the data or the objective, once for all runs, and not of how a run went.
OF_THE_DATA = ("separable", "scales", "rare_class")
SLOWING = -0.05  # the power of the epoch by which the fall must shrink for its end to be told
POINTS = 24
_UNTOLD = "How many more epochs it needs cannot be told from its fall so far"
FAR = 100.0  # times the epochs made, beyond which nothing is foretold


def observations(
    diagnoses: Sequence[Diagnosis],
    history: Mapping[str, Array],
    parameters: Mapping[str, Any],
    *,
    stop_reason: str,
    kept_epoch: int,
    relative_gap: float | None,
    smoothness: float | None,
    needed: int | None,
) -> list[str]:
    """Sentences about how a run went: converged or not and why, what more it needs, overfitting.

    `needed` is the epoch at which it would be called converged, if that can be told.
    """
    found = [d for d in diagnoses if d.kind not in OF_THE_DATA]
    out = []
    if not unsettled(diagnoses, history["objective"]):
        out.append(_settled(history, stop_reason, kept_epoch, relative_gap))
    for d in found:
        if d.kind == "not_converged":
            more = _more(len(history["objective"]), needed, parameters, smoothness)
            if any(other.kind == "separable" for other in diagnoses):
                more = "It never will: a plane separates the classes, and there is no optimum."
            out.append(f"Not converged: {d.message} {more}".rstrip())
        elif d.kind == "oscillating":
            out.append(f"{_oscillates(parameters, smoothness)}: {d.message}")
        elif d.kind == "diverged":
            out.append(f"Diverged: {d.message}")
        else:
            out.append(d.message)
    return out


def unsettled(diagnoses: Sequence[Diagnosis], objective: Array) -> str:
    """Why a run has not converged, by its diagnosis; "" if it has: swings may have died out.

    >>> swings = [Diagnosis("oscillating", "", "")]
    >>> unsettled(swings, np.array([1.0, 2.0, 1.0, 2.0])), unsettled(swings, np.ones(4))
    ('oscillating', '')
    """
    kinds = {d.kind for d in diagnoses}
    if "oscillating" in kinds and settled(objective):
        kinds.remove("oscillating")
    return next((kind for kind in UNSETTLED if kind in kinds), "")


def _settled(
    history: Mapping[str, Array], stop_reason: str, kept_epoch: int, relative_gap: float | None
) -> str:
    epochs = len(history["objective"])
    if stop_reason == "patience":
        return (
            f"Stopped by patience after {counted(epochs, 'epoch')}: the validation measure was "
            f"best at epoch {kept_epoch}, whose weights were kept."
        )
    if relative_gap is not None and relative_gap <= CERTIFIED:
        return f"Converged: proven to be within {relative_gap:.1e} of the optimum, relatively."
    if stop_reason == "no mistakes":
        return (
            f"Converged: a whole epoch without a mistake, the last of {counted(epochs, 'epoch')}."
        )
    values, norm = history["objective"], history["gradient_norm"][-1]
    window = max(epochs // 10, 1)
    if epochs <= window:
        return f"Ended after {epochs} epoch: too few to tell whether it converged."
    fall = (values[-1 - window] - values[-1]) / abs(values[-1 - window] or 1.0)
    return (
        f"Converged: the objective fell by {max(fall, 0.0):.2%} over the last "
        f"{'epoch' if window == 1 else f'{window} epochs'}; gradient norm {norm:.2g}."
    )


def _oscillates(parameters: Mapping[str, Any], smoothness: float | None) -> str:
    """With momentum the limit is another one, which the diagnosis quotes."""
    rate, plain = parameters.get("learning_rate"), parameters.get("rule") == "plain"
    if rate is None or not smoothness or parameters.get("rule") == "adam":
        return "Oscillates"
    if rate > 2.0 / smoothness and (plain or not parameters.get("momentum")):
        stable = rounded_down(2.0 / smoothness)
        return f"Oscillates because the rate {rate:g} exceeds the stable 2/L = {stable}"
    return "Oscillates"


def _more(
    made: int, needed: int | None, parameters: Mapping[str, Any], smoothness: float | None
) -> str:
    if needed is not None:
        more = _rounded(needed - made)
        return f"It needs about {more} more epoch{'' if more == '1' else 's'}."
    rate = parameters.get("learning_rate")
    if rate is None:  # no descent, whose fall might tell
        return ""
    if smoothness and rate < 2.0 / smoothness:
        times = 2.0 / smoothness / rate
        return (
            f"{_UNTOLD}; the stable rate 2/L = {rounded_down(2 / smoothness)} is {_digits(times)} "
            "times this one."
        )
    return f"{_UNTOLD}."


def epochs_needed(objective: Array) -> int | None:
    """The epoch at which a run would be called converged, by the law of its own second half.

    A run has converged when its objective falls by no more than 1 in 1000 over the last tenth of
    its epochs. That fall, seen at many epochs of the second half, follows a power of the epoch or
    an exponential: the one that fits better is followed to its end. None where it does not slow.

    >>> epochs_needed(1.0 + np.exp(-np.arange(500) / 100.0)) in range(690, 760)  # it is 690
    True
    """
    T = len(objective)
    if T < 20:
        return None
    at = np.unique(np.linspace(T // 2, T, POINTS).astype(int))
    before, after = objective[at - 1 - at // 10], objective[at - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = (before - after) / np.abs(before)
    if not (np.isfinite(fall).all() and (fall > 0.0).all()):
        return None
    if fall[-1] <= STILL_FALLING:
        return None
    laws = [_law(np.log(at), np.log(fall)), _law(at.astype(float), np.log(fall))]
    (slope, misfit), (rate, other) = laws
    steps = np.log(STILL_FALLING / fall[-1])
    if other < misfit and rate < 0.0:
        needed = T + steps / rate
    elif slope < SLOWING:
        needed = T * np.exp(steps / slope)
    else:
        return None
    return int(np.ceil(needed)) if needed <= FAR * T else None


def _law(x: Array, y: Array) -> tuple[float, float]:
    """The slope of the line through points, and the sum of its squared misfits."""
    line = np.polyfit(x, y, 1)
    return float(line[0]), float(np.square(y - np.polyval(line, x)).sum())


def _digits(number: float) -> str:
    """Two digits of a number, without an exponent.

    >>> _digits(1.234), _digits(357.1)
    ('1.2', '360')
    """
    return f"{float(f'{number:.2g}'):,g}" if number < 1e6 else f"{number:.2g}"


def _rounded(number: int) -> str:
    """Two digits are more than an estimate has.

    >>> _rounded(1234)
    '1,200'
    """
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"
