"""What can be wrong with a run: divergence, oscillation, too few epochs, overfitting."""

from __future__ import annotations

import numpy as np

from separatrix.verdict.diagnosis import Diagnosis
from separatrix.verdict.rate_limits import RateLimits, rounded_down
from separatrix.verdict.trace import CUT_SHORT, DIVERGED_TIMES, StepSize, Trace, find_unfinished

RISEN = 0.01  # relative rise of the validation loss above its lowest


def check_diverged(trace: Trace, limits: RateLimits, m: int) -> Diagnosis | None:
    if trace.stop_reason != "diverged":
        return None
    values = trace.objective
    last = values[-1]
    positive = values[values > 0.0]
    sane = values <= DIVERGED_TIMES * (positive[0] if len(positive) else np.inf)
    since = int(np.flatnonzero(sane)[-1]) + 1 if sane.any() else 0
    seen = f"The objective went from {trace.start:.3g} to {last:.3g}, too high since epoch {since}."
    return Diagnosis(
        "diverged",
        f"{seen} {_rate_words(trace, limits, m)}".strip(),
        f"{limits.lower(m, trace.step_size)}. The last sane weights were kept.",
    )


def check_oscillating(trace: Trace, limits: RateLimits, m: int) -> Diagnosis | None:
    if not trace.oscillates():
        return None
    rose, epochs = trace.rises(), len(trace.history["objective"])
    seen = f"The training objective rose in {len(rose)} of {epochs} epochs, last in {rose[-1]}"
    values = trace.objective
    if trace.rise_lasts() and values.min() > 0.0:
        seen += f", and ended {values[-1] / values.min() - 1.0:.2%} above its lowest"
    seen += "."
    cause, remedy = _rate_words(trace, limits, m), f"{limits.lower(m, trace.step_size)}."
    step_size = trace.step_size
    if step_size is not None and not limits.exceeded(m, step_size):
        if step_size.batch_size is not None:
            cause += " Mini-batches give noisy gradients, which a constant rate never averages out."
            remedy = "Let the rate decay (schedule='inverse'), or use larger batches."
        elif step_size.momentum > 0.0:
            cause += f" The rate is below the limit: momentum {step_size.momentum:g} overshoots."
            remedy = "Lower the momentum, or wait: such swings die out."
        elif not np.isfinite(limits.L[m]):
            cause += " The loss has kinks, around which a constant rate always jumps."
            remedy = "Let the rate decay: schedule='inverse'."
    return Diagnosis("oscillating", f"{seen} {cause}".strip(), remedy)


def check_ended_higher(trace: Trace, limits: RateLimits, m: int, convex: bool) -> Diagnosis | None:
    if not trace.ended_higher() or trace.oscillates():
        return None
    values = trace.objective
    seen = f"The objective ended at {values[-1]:.3g}, above its start, {values[0]:.3g}."
    if not convex:
        seen += (
            " The loss is not convex: where the sigmoid saturates its gradient vanishes, and a "
            "step that lands there does not come back."
        )
    return Diagnosis(
        "ended_higher",
        f"{seen} {_rate_words(trace, limits, m)}".strip(),
        f"{limits.lower(m, trace.step_size)}{'' if convex else ', or use a convex loss'}.",
    )


def check_not_converged(trace: Trace, limits: RateLimits, m: int) -> Diagnosis | None:
    if not trace.descends:
        return _still_mistaken(trace)
    seen = find_unfinished(trace)
    if seen is None:
        return None
    return Diagnosis("not_converged", seen, _go_faster(trace.step_size, 2.0 / limits.L[m]))


def check_overfitting(trace: Trace) -> Diagnosis | None:
    val, train = trace.history["val_loss"], trace.history["train_loss"]
    measured = np.flatnonzero(np.isfinite(val))
    if len(measured) < 3 or trace.stop_reason == "diverged":
        return None
    lowest = measured[np.argmin(val[measured])]
    last = measured[-1]
    if trace.kept_epoch == lowest + 1:
        return None  # its weights were kept: nothing is left to do
    # The lowest of the last few, so that the upswing of an oscillation is not taken for a rise.
    late = val[measured[-max(len(measured) // 10, 2) :]].min()
    if not (late > (1.0 + RISEN) * val[lowest] and train[last] < train[lowest]):
        return None
    return Diagnosis(
        "overfitting",
        f"Overfitting since epoch {lowest + 1}: the validation loss rose from {val[lowest]:.3g} to "
        f"{val[last]:.3g} while the training loss fell from {train[lowest]:.3g} to "
        f"{train[last]:.3g}.",
        f"Stop there (patience, or epochs={lowest + 1}), raise l2, or use more data.",
    )


def _rate_words(trace: Trace, limits: RateLimits, m: int) -> str:
    if trace.step_size is None:
        return ""
    words = limits.words(m, trace.step_size)
    rate = f"The rate was {trace.step_size.rate:.3g}"
    return f"{rate}; {words}." if words else f"{rate}."


def _go_faster(step_size: StepSize | None, safe: float) -> str:
    """What to do about a slow run; `safe` is 2/L, or NaN where there is none."""
    if step_size is None:
        return "Train for more epochs, or raise learning_rate."
    if step_size.rate >= safe:
        return f"Train for more epochs; learning_rate is already above 2/L = {rounded_down(safe)}."
    limit = ""
    if step_size.rate < safe:
        limit = f" (now {step_size.rate:.3g}, safe up to 2/L = {rounded_down(safe)})"
    return f"Train for more epochs, or raise learning_rate{limit} or momentum."


def _still_mistaken(trace: Trace) -> Diagnosis | None:
    if trace.stop_reason not in CUT_SHORT:
        return None
    right = trace.history["train_accuracy"][-1]
    return Diagnosis(
        "not_converged",
        f"Every epoch made mistakes; after the last, {right:.1%} of the training rows are right. "
        "The perceptron's rule ends only if a plane separates the classes.",
        "Train for more epochs, or use another model, such as logistic regression, which needs no "
        "such plane.",
    )
