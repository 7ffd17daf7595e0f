"""Stochastic dual coordinate ascent, for many models at once, with shrinking and a free bias.

With C_i = s_i / (S l2), the duals U and the weights they stand for are

    max over U   -sum_i C_i conjugate(U_i) - |f W|^2 / 2,    f^2 W = -sum_i C_i x_i U_i

and one row's U_i at a time is made the best there is while all others stay. Each such visit costs
one row's product with W and one change of W, for all models of a batch together. Logistic models
that advance slowly so, as with weak penalties, take steps of Newton's method on all rows' duals at
once in between. The duals prove how far the weights are from the optimum.

See S. Shalev-Shwartz and T. Zhang, Stochastic dual coordinate ascent methods for regularized loss
minimization, JMLR 2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

import separatrix._core as _core
from separatrix.data import Block, Dataset
from separatrix.losses import Loss
from separatrix.losses.cross_entropy import MANY_CLASSES
from separatrix.matrix import Array, Matrix, per_model
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.recentring import Recentring
from separatrix.solver_state import State
from separatrix.solvers.dual_hardness import hardness, mean_square
from separatrix.solvers.optimiser import PATIENCE, Optimiser
from separatrix.solvers.protocol import NO_L1, SOME_L2, Need, epoch_order
from separatrix.verdict.certificate import balanced

STEP_REDUCTION = 0.1  # share of the last estimate of the gap at which a step ends
# Shares of the goal at which it is likely to be proven: of the objective where a step begins, or of
# the loss where it ends, which only the duals of cross-entropies tell; more with a settled bias.
SURE, SURE_OF_LOSS, SURE_AND_SETTLED = 0.3, 1.2, 4.0
ENTRIES_PER_STEP = 2e6  # entries of X that are read in a time that a step is worth
ENTRIES_PER_VISIT = 16  # entries of X that are read in the time that a visit of a row adds
STALLED = "stalled"  # the reason why a run ended whose gap stopped shrinking
MOST_STEPS = 4  # times the steps without progress that a model is allowed, for all steps
PROGRESS = 0.5  # share of the best estimate of the gap that the next must be below to count
# What it can do in float32: the tolerance, how hard the problem, how large the squares of rows.
SINGLE_TOL, SINGLE_HARDNESS, MODERATE = 1e-6, 1e3, 1e20
# Steps without progress after which it gives up where another solver can go on, early where that is
# likely. In all it makes four times as many steps.
SHORT_PATIENCE, SHORTEST_PATIENCE = 8, 5

_Copy: TypeAlias = _core.WorkingCopyF32 | _core.WorkingCopyF64


def has_dual_form(loss: Loss) -> bool:
    """Whether compiled code knows how to make the duals of one row the best there are.

    >>> from separatrix.losses import LOSSES
    >>> [name for name, loss in LOSSES.items() if not has_dual_form(loss)]
    ['squared', 'sigmoid_mse']
    """
    # With one output, and with several.
    return loss.compiled and any(_core.dual_form(loss.native_code, outputs) for outputs in (1, 2))


DUAL_FORM = Need("a compiled loss with a dual form", lambda loss, l1, l2: has_dual_form(loss))


@dataclass(frozen=True)
class Dual(Optimiser):
    """The `dual` solver.

    A step is as many epochs as it takes until an estimate of the gap, gathered on the way, has
    fallen to a tenth, and at first to `goal` of the objective; at most `epochs`.

    Parameters
    ----------
    seed : of the order in which rows are visited
    single : whether to work in float32; the weights are made from the duals in float64 after each
        step, so that smooth losses still reach a relative gap of 1e-9, those with kinks 1e-6
    goal : the relative gap that the first step aims at
    epochs : epochs of a step at most; of a hinge, whose rows rest when they are done, as many rows
    patience : steps without progress after which a model is given up; in all, four times as many
    """

    seed: int = 0
    single: bool = False
    goal: float = 1e-3
    epochs: int = 20
    patience: int = PATIENCE
    _copies: dict[Hashable, tuple[list[Matrix], _Copy]] = field(
        default_factory=dict, repr=False, compare=False
    )

    name = "dual"
    needs = (DUAL_FORM, NO_L1, SOME_L2)
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
        """Whether float32 reaches the tolerance: it reads half as much memory."""
        square = mean_square(data, factors)
        return (
            loss.smooth
            and tol >= SINGLE_TOL
            and l2 > 0.0
            and hardness(loss, n_outputs, l2, data, square) <= SINGLE_HARDNESS
            and 1.0 / MODERATE < square < MODERATE
        )

    def start(self, objective: Objective, model: Model) -> State:
        """From zero weights the duals are 0, from others the gradient of the loss there.

        The weights stay as they are given until the first step puts those of the duals in their
        place.
        """
        # Before anything is asked of X: its copy spares others.
        self._copy(objective, model.n_models, self._kind(model))
        found = objective.evaluate(model, gradient=False)
        # Weights without a penalty are 0, or as good as 0.
        blank = (found.penalty == 0.0) & (_is_free(objective, model) | ~model.b.any(axis=1))
        duals = tuple(np.zeros((len(b.y), *model.b.shape)) for b in objective.data.blocks())
        some = np.flatnonzero(~blank)
        if len(some):
            part, theirs = objective.select(some), model.select(some)
            for block, U in zip(part.data.blocks(), duals):
                U[:, some] = _duals_at(part, block, theirs)
        unknown = Model(np.zeros((0, *model.b.shape)), np.full(model.b.shape, np.nan))
        B = model.n_models
        memory = {"blank": blank, "best": np.full(B, np.inf), "waited": np.zeros(B, int)}
        return State(model, (unknown,), found, np.zeros(B, bool), duals=duals, memory=memory)

    def step(self, objective: Objective, state: State) -> State:
        """Visit the rows until the estimate of the gap has fallen."""
        model, (last,) = state.model, state.slots
        blank = state.epoch == 0 and bool(state.memory["blank"].all())
        recentring = _recentring(objective, model.n_models)
        model = recentring.apply(model)
        if state.epoch == 0 and not blank:
            model, _ = _of_duals(objective, model, state.duals)
        B, K = model.b.shape
        kind = self._kind(model)
        form = _form(objective.loss, K)
        blocks = list(objective.data.blocks())
        _, l2 = objective.strengths(B)
        share = _sure(form) * self.goal
        aim = share * state.found.value[:, None]
        limit = np.minimum(aim, _known(STEP_REDUCTION * last.b))
        estimate = np.zeros((B, K))
        # In float32 they are only good to find the duals with, which better ones are made of.
        W = None if blank and kind == np.float32 else model.W.astype(kind)
        b, U = model.b.astype(np.float64), _join(state.duals)
        s, weight_column = _join_weights(blocks, B)
        draw = np.random.default_rng((self.seed, state.epoch + 1))
        problem = _core.DualProblem(
            loss=objective.loss.native_code,
            margin=objective.loss.margin,
            y=_join_labels(blocks, B),
            s=s,
            strength=objective.scale(B) / l2,
            bias_square=_bias_square(objective, model),
            weight_column=weight_column,
        )
        options = _core.DualOptions(
            seed=int(draw.integers(2**63)),
            max_epochs=self._most_epochs(blocks, kind),
            first_step=state.epoch == 0,
            from_zero=blank,
            limit=_per_unit(limit / l2[:, None], form),
            loss_share=share,
        )
        copy, inverse_squares = self._copy(objective, B, kind), _steps(objective, model, kind)
        copy.step(problem, options, inverse_squares, W, b, U, estimate)
        duals, pull = _split(U, blocks), None
        made = model.W if W is None or kind == np.float32 else W
        model = Model(made, b.astype(model.b.dtype))
        # Those of many classes are balanced for the proof alone: shrunk, they stand for weights
        # that are worse than the bias they please.
        many = form.entropy and form.shift_invariant and K >= MANY_CLASSES
        if kind == np.float32 and form.entropy and not many:
            if form.coupled:  # single outputs are balanced as they are written
                duals = tuple(balanced(objective, duals))
            model, pull = _of_duals(objective, model, duals)
        elif kind == np.float32:  # the duals of a hinge stay at their bounds
            model, _ = _of_duals(objective, model, duals)
        model = recentring.undo(model)
        last = Model(last.W, _of_units(estimate, form) * l2[:, None])
        # Coupled outputs have one estimate for all of them.
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
            duals=duals,
            pull=pull,
        )

    def _kind(self, model: Model) -> np.dtype[Any]:
        """The type that is worked in."""
        return np.dtype(np.float32) if self.single else model.W.dtype

    def _most_epochs(self, blocks: Sequence[Block], kind: np.dtype[Any]) -> int:
        """More of a small X, but not in float32, whose errors add up until the step ends."""
        work = _entries(blocks) + ENTRIES_PER_VISIT * sum(len(block.y) for block in blocks)
        return max(self.epochs, round(ENTRIES_PER_STEP / work) if kind == np.float64 else 0)

    def _copy(self, objective: Objective, n_models: int, kind: Any) -> _Copy:
        """The working copy of X, made once for a data set and a type, seen from the origin."""
        parts = [block.X for block in objective.data.blocks()]
        recentring = _recentring(objective, n_models)
        key = (np.dtype(kind).char, recentring.has_effect, *(id(X) for X in parts))
        if key not in self._copies:
            order = epoch_order(self.seed, 0, 0, sum(X.shape[0] for X in parts))
            make = _core.WorkingCopyF32 if kind == np.float32 else _core.WorkingCopyF64
            self._copies.clear()
            moved = recentring.has_effect
            origin = np.ascontiguousarray(recentring.origin, np.float64) if moved else None
            copy = make([X.native for X in parts], order, origin)
            for X in parts:
                X.lend(copy)
            self._copies[key] = (parts, copy)
        return self._copies[key][1]

    def shared_key(self) -> Hashable:
        return (self.name, self.seed, self.single, self.goal, self.epochs, self.patience)


def _form(loss: Loss, n_outputs: int) -> _core.DualForm:
    form = _core.dual_form(loss.native_code, n_outputs)
    assert form is not None
    return form


def _sure(form: _core.DualForm) -> float:
    """The share of the goal at which a step ends."""
    if not form.entropy:
        return SURE
    return SURE_OF_LOSS if form.coupled else SURE_AND_SETTLED


def _per_unit(a: Array, form: _core.DualForm) -> Array:
    """A number (B, K) for every output, or one for each model whose outputs are coupled."""
    return np.ascontiguousarray(a.min(axis=1) if form.coupled else a)


def _of_units(a: Array, form: _core.DualForm) -> Array:
    """The reverse, of an array (B, K) whose first entries were filled."""
    if not form.coupled:
        return a
    B, K = a.shape
    return np.repeat(a.ravel()[:B], K).reshape(B, K)


def _known(a: Array) -> Array:
    return np.where(np.isnan(a), np.inf, a)


def _is_free(objective: Objective, model: Model) -> Array:
    return objective.bias & (objective.bias_curvature(model.n_models) == 0.0)


def _bias_square(objective: Objective, model: Model) -> Array:
    """The squared value of the feature that the bias stands for: inf for a free one, 0 for none."""
    curvature = objective.bias_curvature(model.n_models)
    _, l2 = objective.strengths(model.n_models)
    penalised = np.divide(l2, curvature, out=np.zeros_like(l2), where=curvature > 0.0)
    return np.where(_is_free(objective, model), np.inf, penalised)


def _steps(objective: Objective, model: Model, kind: Any) -> Array | None:
    """1 / f^2 for every weight, (d, B K), or None without factors."""
    f = objective.penalty.factors
    if f is None:
        return None
    wide = f[:, None, None] if f.ndim == 1 else f[:, :, None]
    return np.ascontiguousarray(
        np.broadcast_to(1.0 / wide**2, model.W.shape).reshape(len(f), model.b.size), kind
    )


def _duals_at(objective: Objective, block: Block, model: Model) -> Array:
    """The gradient of the loss at the scores of a model; 0 in rows without weight."""
    U = objective.loss_gradient(block, model).astype(np.float64)
    return np.where(per_model(block.weights)[:, :, None] > 0.0, U, 0.0)


def _recentring(objective: Objective, n_models: int) -> Recentring:
    """The recentring of the working copy: to the origin, if the biases of all models are free."""
    recentring = objective.recentring(n_models)
    if recentring.free.all():
        return recentring
    return Recentring.at_zero(objective.data.n_features, n_models)


def _of_duals(objective: Objective, model: Model, duals: Sequence[Array]) -> tuple[Model, Array]:
    """The model with the weights that the duals stand for, and g*(X^T (s o U) / S)."""
    scale, recentring = -objective.scale(model.n_models), _recentring(objective, model.n_models)
    V = objective.data.transpose_times(duals, scale)
    if recentring.has_effect:
        sums = objective.data.weighted_sums(duals) * scale[:, None]
        V = recentring.apply_to_gradient(Model(V, sums)).W
    W, pull = objective.penalty.attain(V)
    return Model(W.astype(model.W.dtype, copy=False), model.b), pull


def _entries(blocks: Sequence[Block]) -> int:
    """How many entries X has."""
    return max(1, sum(block.X.n_entries for block in blocks))


def _join(duals: Sequence[Array]) -> Array:
    return duals[0] if len(duals) == 1 else np.concatenate(duals)


def _split(U: Array, blocks: Sequence[Block]) -> tuple[Array, ...]:
    ends = np.cumsum([len(block.y) for block in blocks])[:-1]
    return tuple(np.split(U, ends)) if len(blocks) > 1 else (U,)


def _join_labels(blocks: Sequence[Block], n_models: int) -> Array:
    return _wide([block.y for block in blocks], n_models)


def _join_weights(blocks: Sequence[Block], n_models: int) -> tuple[Array | None, Array | None]:
    """The weights of all blocks, None for ones, and which of their columns is each model's."""
    if len(blocks) == 1:
        return blocks[0].s, blocks[0].weight_column
    if all(block.s is None for block in blocks):
        return None, None
    return _wide([block.weights for block in blocks], n_models), None


def _wide(parts: Sequence[Array], n_models: int) -> Array:
    """The arrays of all blocks as one, (n,) if they all are, else (n, B)."""
    if len(parts) == 1:
        return parts[0]
    if all(a.ndim == 1 for a in parts):
        return np.concatenate(parts)
    return np.concatenate([np.broadcast_to(per_model(a), (len(a), n_models)) for a in parts])
