"""Learning rates up to which gradient descent is stable, for the runs that went wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Context

import numpy as np

from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.text import counted
from separatrix.verdict.smoothness import local_curvature, smoothness
from separatrix.verdict.trace import ROUNDING, StepSize, Trace, find_unfinished


class RateLimits:
    """The stable learning rates of the runs that need them in a diagnosis.

    Attributes
    ----------
    L : (B,) smoothness constants: rates below 2/L are stable at all weights; NaN if unknown
    l1 : (B,) the strength of the L1 penalty
    l2 : (B,) the curvature of the penalty, which limits the rate if that of the loss is unknown
    at_start, at_kept : (B,) the largest eigenvalues of the Hessian at the starting and at the kept
        weights, which are the last sane ones of a run that diverged; NaN if unknown
    """

    def __init__(
        self,
        objective: Objective,
        start: Callable[[Array], Model] | None,
        models: Sequence[Model],
        traces: list[Trace],
    ) -> None:
        B = len(traces)
        troubled = np.array(
            [t.stop_reason == "diverged" or t.oscillates() or t.ended_higher() for t in traces]
        )
        slow = np.array([find_unfinished(t) is not None for t in traces])
        self.L, self.at_start, self.at_kept = (np.full(B, np.nan) for _ in range(3))
        self.l1, self.l2 = objective.strengths(B)
        wanted = np.flatnonzero(troubled | slow)
        if len(wanted):
            L = smoothness(objective.select(wanted), _stack(models, wanted))
            if L is not None:
                self.L[wanted] = L
        near = np.flatnonzero(troubled & np.array([t.step_size is not None for t in traces]))
        if len(near):
            own = objective.select(near)
            first = local_curvature(own, _stack(models, near) if start is None else start(near))
            last = local_curvature(own, _stack(models, near))
            if first is not None and last is not None:
                self.at_start[near], self.at_kept[near] = first, last

    def describe(self, m: int, trace: Trace) -> str:
        """Compare the learning rate of a run with its limits, and say which of them applies."""
        step = trace.step_size
        if step is None:
            return ""
        words = [self._local_words(m, step, trace)]
        if self.L[m] > 0.0:
            formula = "2/L" if step.stable_times >= 2.0 else f"{step.formula} / L"
            start = "With steps on all rows, a rate" if trace.is_noisy() else "A rate"
            words.append(
                f"{start} of {rounded_down(step.safe_rate(self.L[m]))} is stable at all weights "
                f"({formula}, where L bounds the curvature of the objective)."
            )
        return " ".join(words)

    def _local_words(self, m: int, step: StepSize, trace: Trace) -> str:
        curvature = self._local(m, step, trace)
        if not curvature > 0.0:
            if not self._is_above_penalty(m, step):
                kinks = trace.stop_reason == "diverged" and np.isnan(self.L[m])
                unknown = "; for a loss with kinks, no stable rate is known" if kinks else ""
                return f"The learning rate was {rate_words(step.rate)}{unknown}."
            limit = step.stable_times / self.l2[m]
            return (
                f"The learning rate {rate_words(step.rate)} is above {limit:.2g}, the stability "
                f"limit of the L2 penalty alone ({step.formula} / l2)."
            )
        limit, kept = step.stable_times / curvature, _place_kept(trace)
        at_kept = curvature == self.at_kept[m]
        blew_up_elsewhere = trace.stop_reason == "diverged" and not at_kept
        side = "above" if step.rate > limit else "below"
        words = (
            f"The learning rate {rate_words(step.rate)} is {side} {limit:.2g}, the stability limit "
            f"at {kept if at_kept else 'the starting weights'} ({step.formula} / the largest "
            "curvature there, which is how fast the slope changes)."
        )
        if blew_up_elsewhere:
            flat = f" The objective is flatter at {kept}"
            if self.at_kept[m] > 0.0:
                flat += f", where the limit is {step.stable_times / self.at_kept[m]:.2g}"
            words += f"{flat}{self._leaving_words(m, step, trace)}."
        if trace.is_noisy() and (step.rate <= limit or blew_up_elsewhere):
            words += (
                " Limits hold for steps on all rows; a batch of "
                f"{counted(step.batch_size or 1, 'row')} can be more curved, and its limit lower."
            )
        return words

    def _leaving_words(self, m: int, step: StepSize, trace: Trace) -> str:
        """Say that a run diverged although its rate is below the limit at the kept weights.

        A step of plain gradient descent from w with gradient g has the length rate |g|. Along it,
        P(w - rate g) = P(w) - rate |g|^2 + curvature (rate |g|)^2 / 2, which is above P(w) if the
        rate is above 2 / curvature. The curvature is a weighted mean of those along the step.
        """
        leaves = ", but that holds near these weights only"
        at = trace.kept_epoch
        if not 0 < at < len(trace.history["objective"]):
            return ""
        before, after = trace.history["objective"][at - 1 : at + 1]
        norm = float(trace.history["gradient_norm"][at - 1])
        length = step.rate * norm
        if not step.is_plain() or self.l1[m] > 0.0 or not length > 0.0:
            return f"{leaves}, and the steps left them"
        mean = 2.0 * (after - before + length * norm) / length**2
        if not step.stable_times / step.rate < mean < np.inf or mean > self.L[m] * (1.0 + ROUNDING):
            return f"{leaves}, and the steps left them"
        return (
            f"{leaves}. The next step left them: along it the mean curvature is {mean:.2g}, for "
            f"which the limit is {step.stable_times / mean:.2g}, and the objective rose from "
            f"{before:.3g} to {after:.3g}"
        )

    def _local(self, m: int, step: StepSize, trace: Trace) -> float:
        """The curvature that explains a run: the larger one of the start and of the kept weights.

        A run that diverged is explained by the place where it did, unless that is too flat: steps
        that were too large elsewhere may lead to a flat place.
        """
        kept = float(self.at_kept[m])
        if trace.stop_reason == "diverged" and kept * step.rate > step.stable_times:
            return kept
        return float(np.fmax(self.at_start[m], kept))

    def exceeded(self, m: int, trace: Trace) -> bool:
        """Whether the rate is above the local limit or, if there is none, above 2/L."""
        step = trace.step_size
        if step is None:
            return True
        local = self._local(m, step, trace)
        limit = step.stable_times / local if local > 0.0 else step.safe_rate(self.L[m])
        return bool(step.rate > limit)

    def _is_above_penalty(self, m: int, step: StepSize) -> bool:
        """Whether steps overshoot in the penalty alone, so that the weights grow."""
        return bool(step.rate * self.l2[m] > step.stable_times)

    def lower(self, m: int, step_size: StepSize | None) -> str:
        """What to set the learning rate to; 2/L is no limit for adam, which scales its steps."""
        if step_size is None or not self.L[m] > 0.0:
            limit = ""
            if step_size is not None and self._is_above_penalty(m, step_size):
                limit = f" below {rounded_down(step_size.stable_times / self.l2[m])}"
            return f"Lower the learning rate{limit}, or let it decay (schedule 'inverse')"
        safe = step_size.safe_rate(self.L[m])
        if step_size.batch_size is None:
            return f"Lower the learning rate to {rounded_down(safe)} or less"
        if step_size.rate > safe:
            return f"Lower the learning rate below {rounded_down(safe)}, or use larger batches"
        less = ", less momentum" if step_size.momentum > 0.0 else ""
        return f"Use larger batches{less} or a learning rate below {rate_words(step_size.rate)}"


def _place_kept(trace: Trace) -> str:
    if not trace.kept_epoch:
        return "the starting weights"
    if trace.stop_reason == "diverged":
        return f"the weights of epoch {trace.kept_epoch}, the last before it diverged"
    return "the kept weights"


def _stack(models: Sequence[Model], which: Array) -> Model:
    return Model.stack([models[m] for m in which.tolist()])


def rate_words(rate: float) -> str:
    """Format a rate with three digits; large ones are written out.

    >>> rate_words(0.33378), rate_words(1000.0)
    ('0.334', '1000')
    """
    return f"{float(f'{rate:.3g}'):g}"


def rounded_down(rate: float) -> str:
    """Format a rate with two digits, rounded down.

    >>> rounded_down(0.0648)
    '0.064'
    """
    down = Context(prec=2, rounding=ROUND_DOWN).create_decimal_from_float(float(rate))
    return f"{float(down):.2g}"
