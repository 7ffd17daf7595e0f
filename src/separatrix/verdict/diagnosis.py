"""What is wrong with a run, why, and what to do: in words, each computed from the run itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Context

import numpy as np

from separatrix.data import Dataset
from separatrix.losses import OneVsRest
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.certificate import CERTIFIED, Certificate
from separatrix.verdict.separability import Apart, how_far_apart, separating_directions
from separatrix.verdict.smoothness import local_curvature, smoothness

DIVERGED_TIMES = 10.0  # an objective this many times its start ...
DIVERGED_EPOCHS = 10  # ... this many epochs running, or at the end, has diverged
RISING_SHARE = 0.05  # epochs in which the objective of an oscillating run rises ...
SEVERAL = 2  # ... and no fewer: one rise that is made good again is no oscillation
STILL_FALLING = 1e-3  # relative fall over the last tenth of the epochs
STILL_STEEP = 0.1  # gradient norm at the end, as a share of that after the first epoch
RISEN = 0.01  # relative rise of the validation loss above its lowest
SCALE_RATIO = 1e3  # between the widest and the narrowest feature
CONSTANT = 1e-12  # a deviation below this share of the mean is rounding
RARE_SHARE, RARE_COUNT, RARE_FROM = 0.01, 3, 20  # a class with almost no samples
ROUNDING = 1e-6  # a relative rise below this is rounding, of float32 too
CUT_SHORT = ("epochs", "time_limit", "interrupted")  # ends that say nothing about convergence


@dataclass(frozen=True)
class Pace:
    """How fast a run went: its rate and momentum, and the stable rate times the curvature.

    `formula` is the stable rate in words, lambda_max being the curvature.
    """

    rate: float
    momentum: float
    stable_times: float
    formula: str
    batch_size: int | None = None


@dataclass(frozen=True)
class Diagnosis:
    """One finding: its `kind`, what was seen and why (`message`), and what to do (`remedy`).

    `direction` is the proof of a "separable": weights and biases, shaped like coef_ and intercept_,
    along which no row's loss rises and some fall for ever.
    """

    kind: str
    message: str
    remedy: str
    direction: tuple[Array, Array] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message} {self.remedy}"


@dataclass(frozen=True)
class Trace:
    """What a diagnosis looks at: a run's history, its objective at the start, its end, its pace.

    `descends` is False for a rule that does not follow the objective down.
    """

    history: Mapping[str, Array]
    start: float
    stop_reason: str
    pace: Pace | None
    certificate: Certificate
    descends: bool = True
    kept_epoch: int = 0

    @property
    def objective(self) -> Array:
        """The objective from the start on."""
        return np.concatenate([[self.start], self.history["objective"]])

    def rises(self) -> Array:
        """Epochs, from 1, in which the objective rose by more than rounding."""
        return rises(self.objective) + 1

    def ended_higher(self) -> bool:
        """Whether a run that did not diverge ended above its start."""
        values = self.objective
        return (
            self.descends
            and self.stop_reason != "diverged"
            and bool(values[-1] > (1.0 + ROUNDING) * values[0] > 0.0)
        )

    def still_swings(self) -> bool:
        """Whether an oscillating run has not settled."""
        return self.oscillates() and not settled(self.history["objective"])

    def oscillates(self) -> bool:
        """Whether the objective rose in several epochs, a twentieth of all, or rose to stay.

        A run that never came below its start has another name: it ended higher.
        """
        if not self.descends or self.stop_reason == "diverged" or not len(self.rises()):
            return False
        several = len(self.rises()) >= max(RISING_SHARE * len(self.history["objective"]), SEVERAL)
        return several or (self.rise_lasts() and not self.ended_higher())

    def rise_lasts(self) -> bool:
        """Whether the objective ended above its lowest by more than a converged one still falls."""
        return _ended_above(self.objective)


def rises(objective: Array) -> Array:
    """Positions in a sequence of objectives after which the next is higher by more than rounding.

    >>> rises(np.array([3.0, 2.0, 2.5, 2.4])).tolist()
    [1]
    """
    with np.errstate(invalid="ignore"):
        rose = objective[1:] - objective[:-1] > ROUNDING * np.abs(objective[:-1])
    return np.flatnonzero(rose)


def settled(objective: Array) -> bool:
    """Whether the swings of a run have died out: none in the second half of its epochs (T,).

    >>> settled(np.array([3.0, 4.0, 2.0, 1.0, 0.9, 0.8])), settled(np.array([2.0, 1.0, 2.0, 1.0]))
    (True, False)
    """
    late = objective[max(len(objective) // 2 - 1, 0) :]
    return not len(rises(late)) and not _ended_above(objective)


def _ended_above(objective: Array) -> bool:
    lowest = objective.min()
    return bool(objective[-1] - lowest > STILL_FALLING * abs(lowest))


def diagnose(
    objective: Objective, models: Sequence[Model], traces: list[Trace], *, whole: bool = True
) -> list[list[Diagnosis]]:
    """Diagnose the models of a batch, one by one, sharing the passes over the data between them.

    With `whole` False the rows are only a part of the data, and nothing is said of its classes.
    """
    B = len(traces)
    speed = _Limits(objective, models, traces)
    nothing: list[Diagnosis | None] = [None] * B
    separable = _separable(objective, models) if whole else nothing
    rare = _each(objective.data, B, _rare_class) if whole else nothing
    scales = nothing
    if any(trace.pace is not None for trace in traces) and objective.penalty.factors is None:
        scales = _each(objective.data, B, _scales)
    out = []
    for m, trace in enumerate(traces):
        found = [
            _diverged(trace, speed, m),
            _oscillating(trace, speed, m),
            _ended_higher(trace, speed, m, objective.loss.convex),
            _not_converged(trace, speed, m),
            _overfitting(trace),
            separable[m],
            _zero_optimum(objective, m, B),
            scales[m] if trace.pace is not None else None,
            rare[m],
        ]
        out.append([d for d in found if d is not None])
    return out


class _Limits:
    """The rates that are safe, computed for the runs that need them quoted."""

    def __init__(self, objective: Objective, models: Sequence[Model], traces: list[Trace]) -> None:
        B = len(traces)
        troubled = np.array(
            [t.stop_reason == "diverged" or t.oscillates() or t.ended_higher() for t in traces]
        )
        slow = np.array([_unfinished(t) is not None for t in traces])
        self.L = np.full(B, np.nan)
        self.local = np.full(B, np.nan)
        wanted = np.flatnonzero(troubled | slow)
        if len(wanted):
            L = smoothness(objective.select(wanted), _together(models, wanted))
            if L is not None:
                self.L[wanted] = L
        near = np.flatnonzero(troubled & np.array([t.pace is not None for t in traces]))
        if len(near):
            curvature = local_curvature(objective.select(near), _together(models, near))
            if curvature is not None:
                self.local[near] = curvature

    def words(self, m: int, pace: Pace | None) -> str:
        """The safe rate and the local limit, saying which is which."""
        parts = []
        if self.L[m] > 0.0:
            safe = rounded_down(2.0 / self.L[m])
            parts.append(f"the safe rate 2/L = {safe}, from the data alone")
        if pace is not None and self.local[m] > 0.0:
            limit = pace.stable_times / self.local[m]
            parts.append(
                f"the local limit {pace.formula} = {limit:.2g}, of the Hessian at the weights kept"
            )
        return ", and ".join(parts)

    def exceeded(self, m: int, pace: Pace) -> bool:
        """Whether the rate is above the local limit or, where there is none, above 2/L."""
        limit = pace.stable_times / self.local[m] if self.local[m] > 0.0 else 2.0 / self.L[m]
        return bool(pace.rate > limit)

    def lower(self, m: int, pace: Pace | None) -> str:
        """What to set the rate to; 2/L is no limit for a rule that measures its steps otherwise."""
        if self.L[m] > 0.0 and pace is not None:
            return f"Lower learning_rate to {rounded_down(2.0 / self.L[m])} or less"
        return "Lower learning_rate, or let it decay with schedule='inverse'"


def rounded_down(rate: float) -> str:
    """Two digits of a rate, never above it.

    >>> rounded_down(0.0648)
    '0.064'
    """
    down = Context(prec=2, rounding=ROUND_DOWN).create_decimal_from_float(float(rate))
    return f"{float(down):.2g}"


def _diverged(trace: Trace, speed: _Limits, m: int) -> Diagnosis | None:
    if trace.stop_reason != "diverged":
        return None
    values = trace.objective
    last = values[-1]
    positive = values[values > 0.0]
    sane = values <= DIVERGED_TIMES * (positive[0] if len(positive) else np.inf)
    since = int(np.flatnonzero(sane)[-1]) + 1 if sane.any() else 0
    seen = f"The objective went from {trace.start:.3g} to {last:.3g}, too high since epoch {since}."
    return Diagnosis("diverged", f"{seen} {_rate_words(trace, speed, m)}".strip(),
                     f"{speed.lower(m, trace.pace)}. The last sane weights were kept.")  # fmt: skip


def _oscillating(trace: Trace, speed: _Limits, m: int) -> Diagnosis | None:
    if not trace.oscillates():
        return None
    rose, epochs = trace.rises(), len(trace.history["objective"])
    seen = f"The training objective rose in {len(rose)} of {epochs} epochs, last in {rose[-1]}"
    values = trace.objective
    if trace.rise_lasts() and values.min() > 0.0:
        seen += f", and ended {values[-1] / values.min() - 1.0:.2%} above its lowest"
    seen += "."
    cause, remedy = _rate_words(trace, speed, m), f"{speed.lower(m, trace.pace)}."
    pace = trace.pace
    if pace is not None and not speed.exceeded(m, pace):
        if pace.batch_size is not None:
            cause += " Mini-batches give noisy gradients, which a constant rate never averages out."
            remedy = "Let the rate decay (schedule='inverse'), or use larger batches."
        elif pace.momentum > 0.0:
            cause += f" The rate is below the limit: momentum {pace.momentum:g} overshoots."
            remedy = "Lower the momentum, or wait: such swings die out."
        elif not np.isfinite(speed.L[m]):
            cause += " The loss has kinks, around which a constant rate always jumps."
            remedy = "Let the rate decay: schedule='inverse'."
    return Diagnosis("oscillating", f"{seen} {cause}".strip(), remedy)


def _ended_higher(trace: Trace, speed: _Limits, m: int, convex: bool) -> Diagnosis | None:
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
        f"{seen} {_rate_words(trace, speed, m)}".strip(),
        f"{speed.lower(m, trace.pace)}{'' if convex else ', or use a convex loss'}.",
    )


def _rate_words(trace: Trace, speed: _Limits, m: int) -> str:
    if trace.pace is None:
        return ""
    limits = speed.words(m, trace.pace)
    rate = f"The rate was {trace.pace.rate:.3g}"
    return f"{rate}; {limits}." if limits else f"{rate}."


def _unfinished(trace: Trace) -> str | None:
    """What says that a run ended before it had converged, if anything does."""
    if trace.stop_reason not in CUT_SHORT or not trace.descends or trace.still_swings():
        return None
    gap = trace.certificate.relative_gap
    if gap is not None and gap <= CERTIFIED:
        return None
    values = trace.objective
    window = max(len(values) // 10, 1)
    before, after = values[-1 - window], values[-1]
    fall = (before - after) / abs(before) if before else 0.0
    norms = trace.history["gradient_norm"]
    if fall > STILL_FALLING:
        epochs = "epoch" if window == 1 else f"{window} epochs"
        return (
            f"The objective still fell by {fall:.2%} over the last {epochs}; "
            f"gradient norm {norms[-1]:.2g}."
        )
    if norms[-1] > STILL_STEEP * norms[0] > 0.0:
        return (
            f"The gradient norm is {norms[-1]:.2g}, still {norms[-1] / norms[0]:.0%} of what it "
            "was after the first epoch."
        )
    return None


def _not_converged(trace: Trace, speed: _Limits, m: int) -> Diagnosis | None:
    if not trace.descends:
        return _still_mistaken(trace)
    seen = _unfinished(trace)
    if seen is None:
        return None
    return Diagnosis("not_converged", seen, _go_faster(trace.pace, 2.0 / speed.L[m]))


def _go_faster(pace: Pace | None, safe: float) -> str:
    """What to do about a slow run; `safe` is 2/L, or NaN where there is none."""
    if pace is None:
        return "Train for more epochs, or raise learning_rate."
    if pace.rate >= safe:
        return f"Train for more epochs; learning_rate is already above 2/L = {rounded_down(safe)}."
    limit = ""
    if pace.rate < safe:
        limit = f" (now {pace.rate:.3g}, safe up to 2/L = {rounded_down(safe)})"
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


def _overfitting(trace: Trace) -> Diagnosis | None:
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


def _zero_optimum(objective: Objective, m: int, n_models: int) -> Diagnosis | None:
    loss = objective.loss.base if isinstance(objective.loss, OneVsRest) else objective.loss
    l1, l2 = (strength[m] for strength in objective.strengths(n_models))
    if loss.name != "perceptron" or l1 == l2 == 0.0:
        return None
    return Diagnosis(
        "zero_optimum",
        f"With a penalty (l1={l1:g}, l2={l2:g}) the optimum is W = 0: there the perceptron loss, "
        "which has no margin, is 0 already, and the penalty too. What this fit learnt is what was "
        "not yet shrunk away.",
        "Use loss='hinge', whose margin holds against the penalty, or set l1 and l2 to 0.",
    )


def _each(
    data: Dataset, n_models: int, look: Callable[[Dataset], Diagnosis | None]
) -> list[Diagnosis | None]:
    """What there is to say of every model's rows: said once for all models with the same."""
    first = data.first_alike(n_models)
    said = {m: look(data.select(np.array([m]))) for m in np.unique(first).tolist()}
    return [said[m] for m in first.tolist()]


def _scales(data: Dataset) -> Diagnosis | None:
    spreads = _spreads(data)
    moving = np.flatnonzero(spreads > 0.0)
    if len(moving) < 2:
        return None
    wide, narrow = moving[np.argmax(spreads[moving])], moving[np.argmin(spreads[moving])]
    if spreads[wide] <= SCALE_RATIO * spreads[narrow]:
        return None
    return Diagnosis(
        "scales",
        f"The features are on very different scales: column {wide} has a standard deviation of "
        f"{spreads[wide]:.3g}, column {narrow} one of {spreads[narrow]:.3g}. One learning rate "
        "cannot suit both.",
        "Standardise the features first, for example with scikit-learn's StandardScaler.",
    )


@np.errstate(over="ignore", invalid="ignore")
def _spreads(data: Dataset) -> Array:
    """The weighted standard deviation of every column over all blocks; 0 for a constant one."""
    weights = [block.weights.reshape(len(block.y)) for block in data.blocks()]
    share = np.array([s.sum() for s in weights])
    moments = [block.X.moments(s) for block, s in zip(data.blocks(), weights)]
    means, spreads = (np.stack(part) for part in zip(*moments))
    share = share[:, None] / (share.sum() or 1.0)
    mean = (share * means).sum(axis=0)
    pooled = np.sqrt((share * (spreads**2 + (means - mean) ** 2)).sum(axis=0))
    return np.where(pooled > CONSTANT * np.abs(mean), pooled, 0.0)


def _rare_class(data: Dataset) -> Diagnosis | None:
    counts = data.class_counts()
    total, rarest = int(counts.sum()), int(counts.argmin())
    few = counts[rarest]
    if total < RARE_FROM or few >= max(RARE_COUNT, RARE_SHARE * total):
        return None
    return Diagnosis(
        "rare_class",
        f"Class {data.classes[rarest]!s} has only {few} of {total} training rows.",
        "Give its samples more weight (sample_weight), collect more, or merge it with another.",
    )


def _separable(objective: Objective, models: Sequence[Model]) -> list[Diagnosis | None]:
    out: list[Diagnosis | None] = [None] * len(models)
    l1, l2 = objective.strengths(len(models))
    free = np.flatnonzero((l1 == 0.0) & (l2 == 0.0))
    if len(free):
        found = separating_directions(objective.select(free), _together(models, free))
        for m, direction in zip(free.tolist(), found):
            if direction is not None:
                out[m] = _endless(objective.select(np.array([m])), direction)
    return out


def _together(models: Sequence[Model], numbers: Array) -> Model:
    return Model.stack([models[m] for m in numbers])


def _endless(objective: Objective, direction: Model) -> Diagnosis:
    apart = how_far_apart(objective, direction)
    if apart.complete:
        seen = (
            "A plane separates the classes of the training data: without a penalty the loss falls "
            "for ever while the weights grow, and there is no finite optimum."
        )
    else:
        seen = (
            "Without a penalty the loss has no lowest point: along a direction no row's loss "
            f"rises, and that of {apart.falling:,} of {apart.rows:,} rows falls for ever while the "
            f"weights grow{_why_apart(objective, direction, apart)}."
        )
    return Diagnosis(
        "separable",
        seen,
        "Add a penalty (l2), or stop by the validation set (patience).",
        direction=(np.ascontiguousarray(direction.W[:, 0].T), direction.b[0].copy()),
    )


def _why_apart(objective: Objective, direction: Model, apart: Apart) -> str:
    """Which class is apart from the others, or which single feature tells rows apart."""
    names = [str(objective.data.classes[k]) for k in apart.classes]
    if len(names) == 1:
        return f" (class {names[0]} is apart from the others)"
    if names:
        return f" (classes {', '.join(names)} are apart from all others)"
    used = np.flatnonzero(direction.W.any(axis=(1, 2)))
    return f" (by column {used[0]} alone)" if len(used) == 1 else ""
