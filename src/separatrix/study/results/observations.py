"""Observations about a run, in sentences: whether it converged, and if not, why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.matrix import Array
from separatrix.text import counted, percent
from separatrix.verdict.certificate import SMALL_GAP
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.rate_limits import rounded_down
from separatrix.verdict.trace import STILL_FALLING, oscillation_ended

NOT_CONVERGED_KINDS = (
    "diverged",
    "not_converged",
    "noisy",
    "oscillating",
    "ended_higher",
    "separable",
)
# Diagnoses of the data or the objective: reported once for all runs.
DATA_DIAGNOSES = ("separable", "scales", "rare_class")
SLOWEST_DECAY = -0.05  # slowest decay of the fall, as a power of the epoch, to extrapolate
POINTS = 24
_UNKNOWN = "The number of epochs still needed cannot be estimated"
FEWEST_EPOCHS = 20  # for an extrapolation
LARGEST_RANGE = 3.0  # largest useful ratio of the two extrapolations


class LongerRun(NamedTuple):
    """A run of the same configuration that overfits, and its epoch of the lowest validation loss.

    >>> LongerRun(1000, 120).in_words()
    'With 1,000 epochs this configuration overfits: its validation loss was lowest at epoch 120.'
    """

    epochs: int
    lowest: int

    def in_words(self) -> str:
        return (
            f"With {counted(self.epochs, 'epoch')} this configuration overfits: its validation "
            f"loss was lowest at epoch {self.lowest:,}."
        )


def observe_run(
    diagnoses: Sequence[Diagnosis],
    history: Mapping[str, Array],
    parameters: Mapping[str, Any],
    *,
    stop_reason: str,
    kept_epoch: int,
    relative_gap: float | None,
    safe_rate: float | None,
    needed: tuple[int, int] | None,
    overfits: LongerRun | None = None,
) -> list[str]:
    """Describe a run in sentences: convergence, the epochs still needed, and other problems.

    `safe_rate` is a learning rate that is stable at all weights, and `needed` a range of epochs in
    which the run would converge, if they are known. `overfits` is a run of the same configuration
    that overfits: a shorter one is not to be trained for more epochs.
    """
    found = [d for d in diagnoses if d.kind not in DATA_DIAGNOSES]
    kinds = {d.kind for d in diagnoses}
    out = []
    unconverged = find_unconverged(diagnoses, history["objective"], stop_reason, relative_gap)
    if unconverged in ("", "stopped_early", "separable"):
        sentence = _convergence_sentence(history, stop_reason, kept_epoch, relative_gap)
        if unconverged == "separable":
            sentence = (
                f"{sentence.rstrip('.')}, but it cannot converge: "
                "without a penalty there is no finite optimum."
            )
        out.append(sentence)
    for d in found:
        if d.kind == "not_converged":
            # A run whose validation loss rises gets no advice to train faster or longer.
            faster = None if _is_past_lowest(history["val_loss"]) else safe_rate
            more = _epochs_sentence(len(history["objective"]), needed, parameters, faster)
            if "separable" in kinds:
                more = "Training cannot converge: there is no finite optimum without a penalty."
            elif "overfitting" in kinds:
                more = ""
            elif overfits is not None:
                more = overfits.in_words()
            out.append(f"Not converged: {d.message} {more}".rstrip())
        elif d.kind == "noisy":
            out.append(f"Not converged: {d.message} {d.remedy}")
        elif d.kind == "oscillating":
            out.append(_oscillation(d, history["objective"]))
        elif d.kind == "diverged":
            out.append(f"Diverged: {d.message} {d.remedy}")
        else:
            out.append(d.message)
    return out


def find_unconverged(
    diagnoses: Sequence[Diagnosis],
    objective: Array,
    stop_reason: str = "epochs",
    relative_gap: float | None = None,
) -> str:
    """Return what keeps a run from having converged, "" if it converged.

    It is the kind of a diagnosis, or "stopped_early" if patience ended the run far from the
    optimum. An oscillation that has ended does not count. A run without a finite optimum
    ("separable") has nothing to converge to, even if its objective hardly falls any more.

    >>> swings = [Diagnosis("oscillating", "", "")]
    >>> find_unconverged(swings, np.array([1.0, 2.0, 1.0, 2.0]))
    'oscillating'
    >>> find_unconverged(swings, np.ones(4))
    ''
    >>> find_unconverged([], np.ones(4), "patience")
    'stopped_early'
    """
    kinds = {d.kind for d in diagnoses}
    if "oscillating" in kinds and oscillation_ended(objective):
        kinds.remove("oscillating")
    far = stop_reason == "patience" and not _is_small(relative_gap)
    if far:
        kinds.discard("separable")
    return next((kind for kind in NOT_CONVERGED_KINDS if kind in kinds), "stopped_early" * far)


def _is_small(relative_gap: float | None) -> bool:
    return relative_gap is not None and relative_gap <= SMALL_GAP


def _convergence_sentence(
    history: Mapping[str, Array], stop_reason: str, kept_epoch: int, relative_gap: float | None
) -> str:
    epochs, gap = len(history["objective"]), f"relative duality gap {relative_gap or 0.0:.1e}"
    if stop_reason == "patience":
        near = " They have converged" if _is_small(relative_gap) else ""
        return (
            f"Stopped early after {counted(epochs, 'epoch')}: the validation measure was best at "
            f"epoch {kept_epoch}, whose weights were kept.{near and f'{near}: {gap}.'}"
        )
    if _is_small(relative_gap):
        return f"Converged: {gap}."
    if stop_reason == "no mistakes":
        return f"Converged: no mistake in the last of {counted(epochs, 'epoch')}."
    values, norm = history["objective"], history["gradient_norm"][-1]
    window = max(epochs // 10, 1)
    if epochs <= window:
        return f"Ended after {epochs} epoch, too few to tell whether it converged."
    fall = (values[-1 - window] - values[-1]) / abs(values[-1 - window] or 1.0)
    return (
        f"Settled: the objective fell by {percent(max(fall, 0.0), 2)} over the last "
        f"{'epoch' if window == 1 else f'{window} epochs'} (gradient norm {norm:.2g})."
    )


def _is_past_lowest(val_loss: Array) -> bool:
    """Whether the validation loss was lowest before the last epoch."""
    return bool(np.isfinite(val_loss[-1])) and int(np.nanargmin(val_loss)) + 1 < len(val_loss)


def _oscillation(diagnosis: Diagnosis, objective: Array) -> str:
    if oscillation_ended(objective):
        return (
            f"Oscillated: {diagnosis.message} In the second half of the epochs, no rise was larger "
            f"than {percent(STILL_FALLING)}."
        )
    return f"Oscillates: {diagnosis.message} {diagnosis.remedy}"


def _epochs_sentence(
    made: int,
    needed: tuple[int, int] | None,
    parameters: Mapping[str, Any],
    safe_rate: float | None,
) -> str:
    if needed is not None:
        low, high = (max(epoch - made, 1) for epoch in needed)
        if low == high:
            return f"It needs {counted(low, 'more epoch')}, as a longer run of this study shows."
        short, long = _rounded(low), _rounded(high)
        some = short if short == long else f"{short} to {long}"
        return f"It needs about {some} more epochs, extrapolated from its progress."
    rate = parameters.get("learning_rate")
    if rate is None:  # not gradient descent
        return ""
    shown = rounded_down(safe_rate) if safe_rate else "0"
    if float(shown) > rate:
        return (
            f"{_UNKNOWN}. A learning rate of {shown}, {_digits(float(shown) / rate)} times this "
            "one, is stable at all weights."
        )
    return f"{_UNKNOWN}."


def epochs_needed(objective: Array, longer: Array | None = None) -> tuple[int, int] | None:
    """Return a range of epochs in which a run will have converged; None if it is unknown.

    A run has converged when its objective falls by at most 1 in 1000 over the last tenth of its
    epochs. If the same run was also made `longer`, the epoch is read off it, and both ends of the
    range are equal. Otherwise an exponential and a power of the epoch are fitted to this fall over
    the second half of the run, and the range lies between their extrapolations.

    >>> fall = 1.0 + np.exp(-np.arange(1000) / 100.0)
    >>> epochs_needed(fall[:500], fall)
    (691, 691)
    >>> low, high = epochs_needed(fall[:500])
    >>> 0.9 * low <= 691 <= high
    True
    """
    made = len(objective)
    if made < FEWEST_EPOCHS or not _falls(objective, np.array([made]))[0] > STILL_FALLING:
        return None
    if longer is not None:
        later = np.arange(made, len(longer) + 1)
        # The first epoch after the last one whose fall was too large.
        last = int(later[np.abs(_falls(longer, later)) > STILL_FALLING][-1])
        if last < len(longer):
            return last + 1, last + 1
        objective = longer
    return _extrapolate(objective)


def _extrapolate(objective: Array) -> tuple[int, int] | None:
    T = len(objective)
    at = np.unique(np.linspace(T // 2, T, POINTS).astype(int))
    fall = _falls(objective, at)
    if not (np.isfinite(fall).all() and (fall > 0.0).all()):
        return None
    steps = np.log(STILL_FALLING / fall[-1])
    rate, slope = _slope(at, np.log(fall)), _slope(np.log(at), np.log(fall))
    if rate >= 0.0 or slope >= SLOWEST_DECAY:
        return None
    low, high = sorted((T + steps / rate, T * np.exp(steps / slope)))
    return (int(low), int(np.ceil(high))) if high <= LARGEST_RANGE * low else None


def _falls(objective: Array, at: Array) -> Array:
    """Return the relative fall of the objective over the last tenth of `at` epochs."""
    before, after = objective[at - 1 - (at + 1) // 10], objective[at - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((before - after) / np.abs(before))


def _slope(x: Array, y: Array) -> float:
    return float(np.polyfit(x, y, 1)[0])


def _digits(number: float) -> str:
    """Format a number with two digits and without an exponent.

    >>> _digits(1.234), _digits(357.1)
    ('1.2', '360')
    """
    return f"{float(f'{number:.2g}'):,g}" if number < 1e6 else f"{number:.2g}"


def _rounded(number: int) -> str:
    """Round an estimate to one digit.

    >>> _rounded(1234)
    '1,000'
    """
    return f"{round(number, 1 - len(str(number))):,}"
