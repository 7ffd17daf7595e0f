"""Check a run for divergence, oscillation, too few epochs and overfitting."""

from __future__ import annotations

import math

import numpy as np

from separatrix.data import Dataset
from separatrix.text import number, percent
from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.rate_limits import RateLimits, rate_words, rounded_down
from separatrix.verdict.trace import (
    CUT_SHORT,
    DIVERGED_TIMES,
    NO_MISTAKES,
    StepSize,
    Trace,
    find_unfinished,
)

RISEN = 0.01  # a rise of the validation loss that counts, relative to its lowest value ...
FALLEN = 0.005  # a fall of the training loss that counts
RISEN_OF_START = 0.01  # ... and to the start: a rise from 1e-5 to 2e-5 is no overfitting
RISEN_IN_ALL = math.log(20.0)  # ... and over all rows: few rows are no evidence for a small rise


def check_diverged(trace: Trace, limits: RateLimits, m: int) -> Diagnosis | None:
    if trace.stop_reason != "diverged":
        return None
    values = trace.objective
    last = values[-1]
    positive = values[values > 0.0]
    sane = values <= DIVERGED_TIMES * (positive[0] if len(positive) else np.inf)
    since = int(np.flatnonzero(sane)[-1]) + 1 if sane.any() else 0
    above = int(np.flatnonzero(~sane)[0])
    rises = trace.rises()
    first = f"first rise in epoch {rises[0]}, " if len(rises) and rises[0] < above else ""
    # Longer runs of the same configuration agree on the first such epoch.
    when = (
        f"diverging since epoch {since}"
        if above == since
        else f"above {DIVERGED_TIMES:g} times its start for the first time in epoch {above}, and "
        f"from epoch {since} to its end"
    )
    seen = f"The objective rose from {number(trace.start, 3)} to {number(last, 3)} ({first}{when})."
    return Diagnosis(
        "diverged",
        f"{seen} {limits.describe(m, trace)}".strip(),
        f"{limits.lower(m, trace.step_size)}. {_kept_words(trace, above == since)}",
    )


def _kept_words(trace: Trace, once: bool) -> str:
    if not trace.kept_epoch:
        return "The starting weights were kept."
    when = "before the divergence" if once else "the last not far above the start"
    return f"The weights of epoch {trace.kept_epoch}, {when}, were kept."


def check_oscillating(trace: Trace, limits: RateLimits, m: int) -> Diagnosis | None:
    if not trace.oscillates():
        return None
    step_size = trace.step_size
    exceeded = limits.exceeded(m, trace)
    if trace.is_noisy() and not exceeded:
        return _noisy_steps(trace)
    rose, epochs = trace.rises(), len(trace.history["objective"])
    seen = (
        f"The training objective rose in {len(rose)} of {epochs} epochs (last in epoch {rose[-1]})"
    )
    values = trace.objective
    if trace.rise_lasts() and values.min() > 0.0:
        seen += f" and ended at {number(values[-1])}, above its lowest value {number(values.min())}"
    seen += "."
    cause, remedy = limits.describe(m, trace), f"{limits.lower(m, step_size)}."
    if step_size is not None and not exceeded:
        if not np.isfinite(limits.L[m]):
            cause += " The loss has kinks, and a constant rate keeps jumping across them."
            remedy = "Let the learning rate decay (schedule 'inverse')."
        elif step_size.momentum > 0.0:
            cause += f" Momentum {step_size.momentum:g} makes the steps overshoot."
            early = trace.stop_reason == "patience"  # more epochs would not be made
            longer = "" if early else ", or train longer: such oscillations die out"
            remedy = f"Lower the momentum{longer}."
    return Diagnosis("oscillating", f"{seen} {cause}".strip(), remedy)


def _noisy_steps(trace: Trace) -> Diagnosis | None:
    """Mini-batch noise is no oscillation; it counts if it keeps the run from converging."""
    if not (trace.still_swings() and trace.rise_lasts()) or find_unfinished(trace) is not None:
        return None
    values = trace.objective
    return Diagnosis(
        "noisy",
        "The gradients of mini-batches are noisy, and a constant rate does not average the noise "
        f"out. The objective ended at {number(values[-1])}, above its lowest value "
        f"{number(values.min())}.",
        "Let the learning rate decay (schedule 'inverse'), or use larger batches.",
    )


def check_ended_higher(trace: Trace, limits: RateLimits, m: int, convex: bool) -> Diagnosis | None:
    if not trace.ended_higher() or trace.oscillates():
        return None
    values = trace.objective
    ended, began = number(values[-1], 3), number(values[0], 3)
    seen = f"The objective ended at {ended}, above its starting value {began}."
    if not convex:
        seen += (
            " The loss is not convex: its gradient vanishes where the sigmoid saturates, and a "
            "step that lands there cannot return."
        )
    return Diagnosis(
        "ended_higher",
        f"{seen} {limits.describe(m, trace)}".strip(),
        f"{limits.lower(m, trace.step_size)}{'' if convex else ', or use a convex loss'}.",
    )


def check_not_converged(
    trace: Trace, limits: RateLimits, m: int, data: Dataset
) -> Diagnosis | None:
    if trace.done_reason == NO_MISTAKES:
        return _still_mistaken(trace, data, m)
    seen = find_unfinished(trace)
    if seen is None:
        return None
    return Diagnosis("not_converged", seen, _go_faster(trace.step_size, limits.L[m]))


def check_overfitting(trace: Trace) -> Diagnosis | None:
    val, train = trace.history["val_loss"], trace.history["train_loss"]
    measured = np.flatnonzero(np.isfinite(val))
    if len(measured) < 3 or trace.stop_reason == "diverged":
        return None
    lowest = measured[np.argmin(val[measured])]
    last = measured[-1]
    if trace.kept_epoch == lowest + 1:
        return None  # the weights of that epoch were kept
    if trace.still_swings() and not trace.is_noisy():
        return None  # the losses rise and fall with the weights, in training too
    # The minimum of the last epochs, so that one upswing of an oscillation does not count.
    late = measured[-max(len(measured) // 10, 2) :]
    rise = val[late].min() - val[lowest]
    start = max(val[measured[0]], trace.start)
    counts = rise > RISEN * val[lowest] and rise > RISEN_OF_START * start
    counts = counts and rise * trace.val_rows > RISEN_IN_ALL
    # The training loss of mini-batches is noisy: one low epoch is no fall.
    ended = train[late].max() if trace.is_noisy() else train[last]
    if not (counts and ended < (1.0 - FALLEN) * train[lowest]):
        return None
    return Diagnosis(
        "overfitting",
        f"Overfitting since epoch {lowest + 1}: the validation loss rose from {val[lowest]:.3g} to "
        f"{val[last]:.3g} while the training loss fell from {train[lowest]:.3g} to "
        f"{train[last]:.3g}.",
        f"Stop there (patience, or epochs={lowest + 1}), raise l2, or use more data.",
    )


def _go_faster(step_size: StepSize | None, L: float) -> str:
    """The remedy for a slow run; L is NaN if the loss has kinks."""
    if step_size is None:
        return "Train for more epochs, or raise the learning rate."
    safe, limit = step_size.safe_rate(L), ""
    if step_size.rate >= safe:
        return (
            "Train for more epochs. The learning rate is already above "
            f"{rounded_down(safe)}, which is stable at all weights."
        )
    if step_size.rate < safe and step_size.batch_size is None:
        now = rate_words(step_size.rate)
        limit = f" (now {now}; up to {rounded_down(safe)} is stable at all weights)"
    return f"Train for more epochs, or raise the learning rate{limit} or the momentum."


def _still_mistaken(trace: Trace, data: Dataset, m: int) -> Diagnosis | None:
    if trace.stop_reason not in CUT_SHORT or not trace.has_epochs():
        return None
    right, vary = trace.history["train_accuracy"][-1], data.weights_vary()
    counted = ", counted with their weights," if vary[m if len(vary) > 1 else 0] else ""
    return Diagnosis(
        "not_converged",
        f"Every epoch made mistakes. After the last one, {percent(right)} of the training rows"
        f"{counted} are classified correctly. The perceptron rule converges only if the classes "
        "are linearly separable.",
        "Train for more epochs, or use a model for overlapping classes, such as logistic "
        "regression.",
    )
