"""From tasks to results: what may be solved how, and which models share a pass."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from separatrix.arrays import Array
from separatrix.data import Dataset
from separatrix.losses import Loss, OneVsRest
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.parameters import ParameterError
from separatrix.penalty import ElasticNet
from separatrix.solvers import SOLVERS, Newton, Progress, Result, Solver, State, Stop, run
from separatrix.solvers.dual import has_dual_form
from separatrix.solvers.hinge_terms import has_terms

# Solvers that reach an optimum, the most generally useful first.
OPTIMISERS = ("newton", "lbfgs", "interior", "dual", "coordinate")
# What the dual can do in float32: the tolerance, how hard the problem, how large the entries.
SINGLE_TOL, SINGLE_HARDNESS, MODERATE = 1e-6, 1e3, 1e20
DUAL_IS_EASY = 25.0  # C * curvature * mean |x|^2 for each output, up to which dual steps pay
# The same for a hinge, and the most weights of a Hessian that is worth its while above it, and
# where the dual all but stands still.
HINGE_IS_EASY, LARGEST_HESSIAN = 100.0, 2000
HINGE_IS_HOPELESS, VERY_LARGE_HESSIAN = 1e4, 6000


@dataclass(frozen=True)
class Task:
    """One model to train: what, how, when to stop and from where.

    `solver` and `stop` are those of a single model, `why` says in a sentence how the solver was
    chosen; `factors` (d,) and `bias_factor` are those of the penalty; `start` is None for zero
    weights; `state` goes on from an earlier run instead. Weights are computed in the type of X, or,
    where `precise`, in float64 whatever that is: a proof to many digits needs it, and would not be
    one of weights that are rounded afterwards.
    """

    loss: Loss
    n_outputs: int
    solver: Solver
    stop: Stop
    l1: float = 0.0
    l2: float = 0.0
    bias: bool = True
    factors: Array | None = None
    bias_factor: float = 0.0
    precise: bool = False
    start: Model | None = None
    state: State | None = None
    why: str = ""


def train(
    tasks: Sequence[Task],
    data: Dataset,
    validation: Dataset | None = None,
    *,
    on_record: Callable[[Progress], None] | None = None,
    keep_state: bool = False,
    whole: bool = True,
    resume: Mapping[str, Array] | None = None,
) -> list[Result]:
    """Train all tasks over the same rows, as few batches as possible.

    Tasks that can share a pass are one batch. Tasks that differ only in their number of epochs are
    one model, read off several times. `data` may hold weights (n, T), one column a task. `whole` is
    False if the rows are only a part of the data. `resume` is a checkpoint of these very tasks,
    which must be one batch.
    """
    for task in tasks:
        refuse_illegal(task.solver.name, task.loss, task.l1, task.l2)
    batches = share_passes(tasks, any(block.own() for block in data.blocks()))
    if resume is not None and len(batches) != 1:
        raise ValueError(
            f"A checkpoint is of one batch, and these tasks make {len(batches)}. Resume the tasks "
            "of one batch, as share_passes tells them."
        )
    results: list[Result | None] = [None] * len(tasks)
    for runs in batches:
        first = [tasks[same[0]] for same in runs]
        numbers = np.array([same[0] for same in runs])
        epochs = [tuple(sorted({tasks[t].stop.epochs[0][0] for t in same})) for same in runs]
        loss, bias = first[0].loss, first[0].bias
        objective = Objective(data.select(numbers), loss, _penalty(first), bias=bias)
        held_out = None
        if validation is not None:
            held_out = Objective(validation, loss, ElasticNet(0.0, 0.0), bias=bias)
        readings = run(
            first[0].solver.join([task.solver for task in first]),
            objective,
            _starts(first, data),
            Stop.join([task.stop for task in first], epochs),
            validation=held_out,
            on_record=_for_members(on_record, runs),
            state=first[0].state,
            keep_state=keep_state,
            resume=resume,
            whole=whole,
        )
        for same, points, found in zip(runs, epochs, readings):
            for t in same:
                reading = found[points.index(tasks[t].stop.epochs[0][0])]
                results[t] = replace(reading, why=tasks[t].why)
    return [result for result in results if result is not None]


def share_passes(tasks: Sequence[Task], own_rows: bool = False) -> list[list[list[int]]]:
    """Which tasks are trained together: the batches, in each its models, of each its tasks.

    A model stands for all tasks (positions) that differ only in their number of epochs. With
    `own_rows` every task has weights or labels of its own, and is a model of its own.
    """
    batches = []
    for members in _groups([_batch_key(task) for task in tasks]).values():
        keys = [(_run_key(tasks[t]), t if own_rows else 0) for t in members]
        batches.append(list(_groups(keys, names=members).values()))
    return batches


def refuse_illegal(
    solver: str, loss: Loss, l1: float, l2: float, among: Iterable[str] = SOLVERS
) -> None:
    """Raise if a solver cannot take a loss and penalty, naming those `among` some that can."""
    missing = _missing(solver, loss, l1, l2)
    if not missing:
        return
    others = [name for name in among if not _missing(name, loss, l1, l2)]
    raise ParameterError(
        f"Loss '{loss.name}' {_with_penalty(l1, l2)} cannot be used with solver '{solver}': "
        f"{solver} needs {missing[0]}. Solvers that accept it: {', '.join(others) or 'none'}."
    )


def _with_penalty(l1: float, l2: float) -> str:
    """A penalty in words: estimators make l1 and l2 of what their users call C and l1_ratio."""
    kinds = [name for name, strength in (("L1", l1), ("L2", l2)) if strength > 0.0]
    if not kinds:
        return "without a penalty"
    return f"with an {' and an '.join(kinds)} penalty (l1={l1:g}, l2={l2:g})"


def choose_solver(
    loss: Loss,
    n_outputs: int,
    l1: float,
    l2: float,
    data: Dataset,
    factors: Array | None = None,
) -> tuple[str, str]:
    """The solver for a model that is to be brought to its optimum, and why, in one sentence.

    It depends on the model and its data alone, never on the models beside it: each is then solved
    in the same way in every company.

    >>> from separatrix.losses import LOSSES
    >>> data = Dataset.of([[0.0], [1.0]], [0, 1])
    >>> choose_solver(LOSSES["logistic"], 1, 0.0, 0.0, data)[0] in OPTIMISERS
    True
    """
    best, reason = _best_solver(loss, n_outputs, l1, l2, data, factors)
    if not _missing(best, loss, l1, l2):
        return best, f"{best}: {reason}."
    for name in OPTIMISERS:
        if not _missing(name, loss, l1, l2):
            return name, f"{name}: it accepts this loss and penalty."
    raise ParameterError(
        f"No solver brings loss '{loss.name}' {_with_penalty(l1, l2)} to its optimum: a loss "
        "with kinks needs l2 > 0 and l1 = 0. Use a smooth loss, such as 'squared_hinge', or a "
        "finite C without L1."
    )


def make_solver(
    name: str, seed: int = 0, *, single: bool = False, tol: float | None = None
) -> Solver:
    """One of the optimisers; what else is given is for the dual.

    That is the seed, whether to work in float32, and the relative gap that will be asked for.
    """
    kind: Any = SOLVERS[name]
    if name != "dual":
        return kind()
    return kind(seed=seed, single=single) if tol is None else kind(seed, single, tol)


def single_is_enough(
    loss: Loss,
    n_outputs: int,
    l2: float,
    data: Dataset,
    tol: float,
    factors: Array | None = None,
) -> bool:
    """Whether the dual reaches a tolerance in float32, for which it reads half as much memory."""
    return (
        loss.smooth
        and tol >= SINGLE_TOL
        and l2 > 0.0
        and _hardness(loss, n_outputs, l2, data, factors) <= SINGLE_HARDNESS
        and 1.0 / MODERATE < _mean_square(data, factors) < MODERATE
    )


def _best_solver(
    loss: Loss, n_outputs: int, l1: float, l2: float, data: Dataset, factors: Array | None
) -> tuple[str, str]:
    if not loss.compiled:
        return "lbfgs", "it needs no compiled kernel of the loss"
    if l1 > 0.0:
        return "coordinate", "an L1 penalty leaves few weights that are not 0, and it finds them"
    if loss.smooth and l2 == 0.0:
        return "newton", "without a penalty only second derivatives tell the curvature"
    # The outputs of one-vs-rest share nothing: each is a problem of its own.
    outputs = 1 if isinstance(loss, OneVsRest) else n_outputs
    size = (data.n_features + 1) * outputs
    if not loss.smooth and size <= Newton.order:
        return "interior", f"a hinge, and {size} weights are few enough for an explicit Hessian"
    if not loss.smooth and l2 == 0.0:
        return "dual", "the loss has kinks"
    if not loss.smooth:
        # Outputs that are apart have a Hessian each.
        blocks = n_outputs if isinstance(loss, OneVsRest) else 1
        return _for_kinks(size, blocks, _hardness(loss, n_outputs, l2, data, factors), data)
    if size <= Newton.order:
        return "newton", f"{size} weights are few enough for an explicit Hessian"
    if size >= data.n_samples:
        return "dual", f"there are more weights, {size}, than rows, {data.n_samples}"
    hardness, limit = _hardness(loss, n_outputs, l2, data, factors), DUAL_IS_EASY * outputs
    numbers = f"there are {size} weights, and C * curvature * mean |x|^2 is {hardness:.2g}"
    if hardness <= limit:
        return "dual", f"{numbers}, at most {limit:g}, so that the dual problem is easy"
    return "newton", f"{numbers}, above {limit:g}, so that the dual problem is hard"


def _for_kinks(size: int, blocks: int, hardness: float, data: Dataset) -> tuple[str, str]:
    """The solver for a hinge with too many weights for any Hessian to be cheap, and why."""
    numbers = f"a hinge with {size} weights, whose C * mean |x|^2 is {hardness:.2g}"
    largest = VERY_LARGE_HESSIAN if hardness > HINGE_IS_HOPELESS else LARGEST_HESSIAN
    small = size * blocks**0.5 < largest and size < data.n_samples
    if small and hardness > HINGE_IS_EASY:
        return "interior", f"{numbers}, above {HINGE_IS_EASY:g}, so that the dual problem is hard"
    return "dual", "the loss has kinks, and the dual problem has none"


def _hardness(loss: Loss, n_outputs: int, l2: float, data: Dataset, factors: Array | None) -> float:
    """C L |x/f|^2 with C = 1 / (l2 n): how much a row's dual variable depends on the others."""
    curvature = loss.curvature_of(n_outputs) or 1.0
    return curvature * _mean_square(data, factors) / (l2 * data.n_samples)


def _mean_square(data: Dataset, factors: Array | None) -> float:
    """|x/f|^2 of the mean row."""
    return sum(block.X.sum_of_squares(factors) for block in data.blocks()) / data.n_samples


def _missing(solver: str, loss: Loss, l1: float, l2: float) -> list[str]:
    held = {
        "perceptron": loss.name == "perceptron",
        "smooth": loss.smooth,
        "hinge": has_terms(loss),
        "convex": loss.convex,
        "compiled": loss.compiled,
        "dual": has_dual_form(loss),
        "l1=0": l1 == 0.0,
        "l2=0": l2 == 0.0,
        "l2>0": l2 > 0.0,
    }
    words = {
        "perceptron": "the perceptron loss",
        "smooth": "a smooth loss",
        "hinge": "the hinge or the Crammer-Singer loss",
        "convex": "a convex loss",
        "compiled": "a compiled loss, one of LOSSES",
        "dual": "a compiled loss with a dual form",
        "l1=0": "l1 = 0",
        "l2=0": "l2 = 0",
        "l2>0": "l2 > 0",
    }
    needs: frozenset[str] = getattr(SOLVERS[solver], "needs", frozenset())
    return [words[need] for need, holds in held.items() if need in needs and not holds]


def _for_members(
    on_record: Callable[[Progress], None] | None, runs: Iterable[Sequence[int]]
) -> Callable[[Progress], None] | None:
    """The callback, told which tasks each model of its batch is trained for."""
    if on_record is None:
        return None
    members = tuple(tuple(same) for same in runs)
    return lambda progress: on_record(replace(progress, members=members))


def _penalty(tasks: Sequence[Task]) -> ElasticNet:
    given = [task.factors for task in tasks]
    factors = None
    if any(f is not None for f in given):
        d = next(len(f) for f in given if f is not None)
        factors = np.stack([np.ones(d) if f is None else f for f in given], axis=1)
    l1, l2, bias = ([getattr(task, name) for task in tasks] for name in ("l1", "l2", "bias_factor"))
    return ElasticNet(l1, l2, factors, bias)


def _starts(tasks: Sequence[Task], data: Dataset) -> Model:
    """Where the models of a batch start from, mostly zero. One with a state is a batch alone."""
    if tasks[0].state is not None:
        return tasks[0].state.model
    dtype = np.dtype(np.float64) if tasks[0].precise else data.dtype
    out = Model.zeros(data.n_features, len(tasks), tasks[0].n_outputs, dtype)
    for k, task in enumerate(tasks):
        if task.start is not None:
            out.put(np.array([k]), task.start)
    return out


def _batch_key(task: Task) -> Hashable:
    """What all models of a batch have in common."""
    alone = None if task.state is None else id(task)
    return (
        _loss_key(task.loss),
        task.n_outputs,
        task.bias,
        task.precise,
        task.solver.shared_key(),
        task.stop.shared_key(),
        alone,
    )


def _loss_key(loss: Loss) -> Hashable:
    """The loss itself; for one that cannot be hashed, which object it is."""
    if isinstance(loss, OneVsRest):
        return OneVsRest, _loss_key(loss.base)
    try:
        hash(loss)
    except TypeError:
        return id(loss)
    return cast(Hashable, loss)


def _run_key(task: Task) -> Hashable:
    """What one run of a model depends on, besides its batch and its number of epochs."""
    start = None if task.start is None else (task.start.W.tobytes(), task.start.b.tobytes())
    factors = None if task.factors is None else task.factors.tobytes()
    own = (task.l1, task.l2, task.bias_factor)
    return (*own, factors, start, task.solver.own_key(), task.stop.own_key())


def _groups(
    keys: Sequence[Hashable], names: Sequence[int] | None = None
) -> dict[Hashable, list[int]]:
    """The positions (or their names) of equal keys, in the order in which they appear."""
    groups: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position if names is None else names[position])
    return groups
