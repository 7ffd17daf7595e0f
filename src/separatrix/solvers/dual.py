"""Stochastic dual coordinate ascent for many models together, with shrinking and any kind of bias.

With C_i = s_i / (S l2), the duals U and the weights W that they determine are

    max over U   -sum_i C_i conjugate(U_i) - |f W|^2 / 2,    f^2 W = -sum_i C_i x_i U_i

A visit to row i maximises this over U_i while all other duals stay fixed. It costs one product of
the row with W and one update of W, for all models of a batch together. Logistic models that make
slow progress, for example with weak penalties, also take Newton steps on the duals of all rows
together. The duals give a lower bound on the objective, and so the duality gap.

See S. Shalev-Shwartz and T. Zhang, Stochastic dual coordinate ascent methods for regularized loss
minimization, JMLR 2013.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

import separatrix._core as _core
from separatrix.data import Block, Dataset
from separatrix.loss_sums import loss_gradient
from separatrix.losses import Loss
from separatrix.losses.cross_entropy import MANY_CLASSES
from separatrix.matrix import Array, Matrix, per_model
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.recentring import Recentring
from separatrix.solver_state import State
from separatrix.solvers.dual_hardness import hardness, mean_square
from separatrix.solvers.optimiser import PATIENCE, Optimiser
from separatrix.solvers.protocol import NO_L1, ROWS_IN_MEMORY, SOME_L2, Need, epoch_order
from separatrix.verdict.certificate import balanced

STEP_REDUCTION = 0.1  # a step ends when the estimated gap has fallen to this fraction
# A step also ends when the estimated gap is below this fraction of the goal, at which the goal is
# likely to be proven. SURE is relative to the objective at the start of the step. The other two are
# for cross-entropies and relative to the loss at its end; SURE_AND_SETTLED is for a settled bias.
SURE, SURE_OF_LOSS, SURE_AND_SETTLED = 0.3, 1.2, 4.0
ENTRIES_PER_STEP = 2e6  # entries of X read in the time that one step should take
ENTRIES_PER_VISIT = 16  # entries of X read in the time that visiting a row adds
STALLED = "stalled"  # stop reason of a run whose gap stopped shrinking
MOST_STEPS = 4  # largest number of steps, as a multiple of the patience
PROGRESS = 0.5  # an estimated gap counts as progress below this fraction of the best one
# Limits of float32: the tolerance, the hardness of the problem, the squared norms of the rows.
SINGLE_TOL, SINGLE_HARDNESS, MODERATE = 1e-6, 1e3, 1e20
# Steps without progress after which the solver gives up if another one can continue; the shorter
# patience is for problems on which it probably stalls.
SHORT_PATIENCE, SHORTEST_PATIENCE = 8, 5

_Copy: TypeAlias = _core.WorkingCopyF32 | _core.WorkingCopyF64


def has_dual_form(loss: Loss) -> bool:
    """Return whether compiled code can maximise the dual problem over the duals of one row.

    >>> from separatrix.losses import LOSSES
    >>> [name for name, loss in LOSSES.items() if not has_dual_form(loss)]
    ['squared', 'sigmoid_mse']
    """
    # Asked for one output and for several.
    return loss.compiled and any(_core.dual_form(loss.native_code, outputs) for outputs in (1, 2))


DUAL_FORM = Need(
    "a compiled loss with a dual form", lambda loss, l1, l2, one_block: has_dual_form(loss)
)


@dataclass(frozen=True)
class Dual(Optimiser):
    """The `dual` solver.

    A step visits the rows for at most `epochs` epochs. It ends when an estimate of the gap,
    collected on the way, has fallen to a tenth; the first step when it is below `goal`.

    Parameters
    ----------
    seed : random seed for the order in which rows are visited
    single : whether to work in float32. The weights are computed from the duals in float64 after
        each step, so smooth losses still reach a relative gap of 1e-9, losses with kinks 1e-6.
    goal : the relative gap that the first step aims at
    epochs : largest number of epochs in a step; for a hinge, which skips finished rows, the same
        number of visits to rows
    patience : steps without progress after which a model is given up; it makes at most four times
        as many steps in all
    """

    seed: int = 0
    single: bool = False
    goal: float = 1e-3
    epochs: int = 20
    patience: int = PATIENCE
    _copies: dict[Hashable, tuple[Matrix, _Copy]] = field(
        default_factory=dict, repr=False, compare=False
    )

    name = "dual"
    needs = (DUAL_FORM, NO_L1, SOME_L2, ROWS_IN_MEMORY)
    done_reason = STALLED
    descends = False

    @classmethod
    def for_task(
        cls,
        seed: int = 0,
        *,
        tol: float | None = None,
        single: bool = False,
        patience: int = PATIENCE,
    ) -> Dual:
        goal = cls.goal if tol is None else tol
        return cls(seed=seed, single=single, goal=goal, patience=patience)

    @classmethod
    def single_is_enough(
        cls,
        loss: Loss,
        n_outputs: int,
        l2: float,
        data: Dataset,
        tol: float,
        factors: Array | None = None,
    ) -> bool:
        """Return whether float32, which reads half as much memory, reaches the tolerance."""
        square = mean_square(data, factors)
        return (
            loss.smooth
            and tol >= SINGLE_TOL
            and l2 > 0.0
            and hardness(loss, n_outputs, l2, data, square) <= SINGLE_HARDNESS
            and 1.0 / MODERATE < square < MODERATE
        )

    def start(self, objective: Objective, model: Model) -> State:
        """Return the first state: duals of 0 for zero weights, otherwise the gradient of the loss.

        The weights stay as given until the first step replaces them by the weights of the duals.
        """
        # Made before X is used: the working copy makes other copies of X unnecessary.
        self._copy(objective, model.n_models, self._kind(model))
        found = objective.evaluate(model, gradient=False)
        # Weights with a penalty of 0 are zero, or so small that their squares underflow.
        blank = (found.penalty == 0.0) & (_is_free(objective, model) | ~model.b.any(axis=1))
        U = np.zeros((objective.data.n_samples, *model.b.shape))
        some = np.flatnonzero(~blank)
        if len(some):
            part, theirs = objective.select(some), model.select(some)
            U[:, some] = _duals_at(part, theirs)
        unknown = Model(np.zeros((0, *model.b.shape)), np.full(model.b.shape, np.nan))
        B = model.n_models
        memory = {"blank": blank, "best": np.full(B, np.inf), "waited": np.zeros(B, int)}
        return State(model, (unknown,), found, np.zeros(B, bool), duals=(U,), memory=memory)

    def step(self, objective: Objective, state: State) -> State:
        """Visit the rows until the estimated gap has fallen."""
        model, (last,) = state.model, state.slots
        blank = state.epoch == 0 and bool(state.memory["blank"].all())
        recentring = _recentring(objective, model.n_models)
        model = recentring.apply(model)
        if state.epoch == 0 and not blank:
            model, _ = _of_duals(objective, model, state.duals[0])
        B, K = model.b.shape
        kind = self._kind(model)
        form = _form(objective.loss, K)
        block = objective.data.only_block()
        _, l2 = objective.strengths(B)
        share = _sure(form) * self.goal
        aim = share * state.found.value[:, None]
        limit = np.minimum(aim, _known(STEP_REDUCTION * last.b))
        estimate = np.zeros((B, K))
        # float32 weights only serve to find the duals; better ones are computed from the duals.
        W = None if blank and kind == np.float32 else model.W.astype(kind)
        b, duals = model.b.astype(np.float64), state.duals[0]
        draw = np.random.default_rng((self.seed, state.epoch + 1))
        problem = _core.DualProblem(
            loss=objective.loss.native_code,
            margin=objective.loss.margin,
            y=block.y,
            s=block.s,
            strength=objective.scale(B) / l2,
            bias_square=_bias_square(objective, model),
            weight_column=block.weight_column,
        )
        options = _core.DualOptions(
            seed=int(draw.integers(2**63)),
            max_epochs=self._most_epochs(block, kind),
            first_step=state.epoch == 0,
            from_zero=blank,
            limit=_per_unit(limit / l2[:, None], form),
            loss_share=share,
        )
        copy, inverse_squares = self._copy(objective, B, kind), _steps(objective, model, kind)
        copy.step(problem, options, inverse_squares, W, b, duals, estimate)
        pull = None
        made = model.W if W is None or kind == np.float32 else W
        model = Model(made, b.astype(model.b.dtype))
        # With many classes the duals are balanced for the lower bound only: balancing shrinks
        # them, and the weights of the shrunk duals are worse.
        many = form.entropy and form.shift_invariant and K >= MANY_CLASSES
        if kind == np.float32 and form.entropy and not many:
            if form.coupled:  # the duals of single outputs are already balanced
                duals = balanced(objective, duals)
            model, pull = _of_duals(objective, model, duals)
        elif kind == np.float32:  # the duals of a hinge must stay at their bounds
            model, _ = _of_duals(objective, model, duals)
        model = recentring.undo(model)
        last = Model(last.W, _of_units(estimate, form) * l2[:, None])
        # Coupled outputs share one estimate.
        gap, memory = last.b.max(axis=1) if form.coupled else last.b.sum(axis=1), state.memory
        better = gap < PROGRESS * memory["best"]
        waited = np.where(better, 0, memory["waited"] + 1)
        best = np.where(better, gap, memory["best"])
        return replace(
            state,
            done=(waited >= self.patience) | (state.steps + 1 >= MOST_STEPS * self.patience),
            memory=memory | {"best": best, "waited": waited},
            model=model,
            slots=(last,),
            found=objective.evaluate(model),
            epoch=state.epoch + 1,
            steps=state.steps + 1,
            duals=(duals,),
            pull=pull,
        )

    def _kind(self, model: Model) -> np.dtype[Any]:
        """Return the type in which the solver computes."""
        return np.dtype(np.float32) if self.single else model.W.dtype

    def _most_epochs(self, block: Block, kind: np.dtype[Any]) -> int:
        """Allow more epochs for a small X, but not in float32, whose errors add up in a step."""
        work = max(1, block.X.n_entries) + ENTRIES_PER_VISIT * len(block.y)
        return max(self.epochs, round(ENTRIES_PER_STEP / work) if kind == np.float64 else 0)

    def _copy(self, objective: Objective, n_models: int, kind: Any) -> _Copy:
        """Return the working copy of X, recentred; made once for a data set and a type."""
        X = objective.data.only_block("Solver 'dual'").X
        recentring = _recentring(objective, n_models)
        key = np.dtype(kind).char, recentring.has_effect, id(X)
        if key not in self._copies:
            order = epoch_order(self.seed, 0, 0, X.shape[0])
            make = _core.WorkingCopyF32 if kind == np.float32 else _core.WorkingCopyF64
            self._copies.clear()
            moved = recentring.has_effect
            origin = np.ascontiguousarray(recentring.origin, np.float64) if moved else None
            copy = make([X.native], order, origin)
            X.lend(copy)
            self._copies[key] = X, copy
        return self._copies[key][1]

    def shared_key(self) -> Hashable:
        return (self.name, self.seed, self.single, self.goal, self.epochs, self.patience)


def _form(loss: Loss, n_outputs: int) -> _core.DualForm:
    form = _core.dual_form(loss.native_code, n_outputs)
    assert form is not None
    return form


def _sure(form: _core.DualForm) -> float:
    """Return the fraction of the goal at which a step ends."""
    if not form.entropy:
        return SURE
    return SURE_OF_LOSS if form.coupled else SURE_AND_SETTLED


def _per_unit(a: Array, form: _core.DualForm) -> Array:
    """Reduce (B, K) to one number for each model if the outputs are coupled."""
    return np.ascontiguousarray(a.min(axis=1) if form.coupled else a)


def _of_units(a: Array, form: _core.DualForm) -> Array:
    """Expand again: the reverse of `_per_unit`, for (B, K) whose first entries were filled."""
    if not form.coupled:
        return a
    B, K = a.shape
    return np.repeat(a.ravel()[:B], K).reshape(B, K)


def _known(a: Array) -> Array:
    return np.where(np.isnan(a), np.inf, a)


def _is_free(objective: Objective, model: Model) -> Array:
    return objective.bias & (objective.bias_curvature(model.n_models) == 0.0)


def _bias_square(objective: Objective, model: Model) -> Array:
    """Return the squared value of the bias as a feature: inf if unpenalised, 0 without a bias."""
    curvature = objective.bias_curvature(model.n_models)
    _, l2 = objective.strengths(model.n_models)
    penalised = np.divide(l2, curvature, out=np.zeros_like(l2), where=curvature > 0.0)
    return np.where(_is_free(objective, model), np.inf, penalised)


def _steps(objective: Objective, model: Model, kind: Any) -> Array | None:
    """Return 1 / f^2 for every weight, (d, B K), or None without factors."""
    f = objective.penalty.factors
    if f is None:
        return None
    wide = f[:, None, None] if f.ndim == 1 else f[:, :, None]
    return np.ascontiguousarray(
        np.broadcast_to(1.0 / wide**2, model.W.shape).reshape(len(f), model.b.size), kind
    )


def _duals_at(objective: Objective, model: Model) -> Array:
    """Return the gradient of the loss at the scores of a model; 0 in rows without weight."""
    block = objective.data.only_block()
    U = loss_gradient(block, objective.loss, model).astype(np.float64)
    return np.where(per_model(block.weights)[:, :, None] > 0.0, U, 0.0)


def _recentring(objective: Objective, n_models: int) -> Recentring:
    """Return the recentring of the working copy: to the origin if no bias is penalised or fixed."""
    recentring = objective.recentring(n_models)
    if recentring.free.all():
        return recentring
    return Recentring.at_zero(objective.data.n_features, n_models)


def _of_duals(objective: Objective, model: Model, duals: Array) -> tuple[Model, Array]:
    """Return the model with the weights that the duals determine, and g*(X^T (s o U) / S)."""
    scale, recentring = -objective.scale(model.n_models), _recentring(objective, model.n_models)
    block = objective.data.only_block()
    V = block.transpose_times(duals, scale)
    if recentring.has_effect:
        sums = block.weighted_sum(duals) * scale[:, None]
        V = recentring.apply_to_gradient(Model(V, sums)).W
    W, pull = objective.penalty.attain(V)
    return Model(W.astype(model.W.dtype, copy=False), model.b), pull
