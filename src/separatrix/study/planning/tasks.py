"""The runs of a study as training tasks on one data set."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.data import Dataset
from separatrix.errors import Message, Parameter, ParameterError, message_of
from separatrix.estimators.checks.training_data import make_dataset
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.study.planning.data import StudyData
from separatrix.study.planning.plan import StudyPlan
from separatrix.text import describe_configuration
from separatrix.training.batching import share_passes
from separatrix.training.legality import refuse_illegal
from separatrix.training.task import Task


@dataclass(frozen=True, eq=False)
class StudyTasks:
    """One task and one estimator for every run of a plan, and the datasets they share."""

    plan: StudyPlan
    estimators: list[LinearClassifier]
    tasks: list[Task]
    data: Dataset
    validation: Dataset | None
    feature_names: list[str] | None = None

    @classmethod
    def from_plan(cls, plan: StudyPlan, data: StudyData) -> StudyTasks:
        """Check every run before training starts. Errors name the configuration."""
        estimators = [plan.estimator_of(run) for run in plan.runs]
        weights = [getattr(estimator, "class_weight", None) for estimator in estimators]
        training = data.training
        if any(weight is not None for weight in weights):
            training = make_dataset(copy(estimators[0]), data.X, data.y, data.weights, weights)
        tasks = []
        for k, run in enumerate(plan.runs):
            try:
                task = estimators[k]._make_task(training.select(np.array([k])))
                refuse_illegal(
                    task.solver.name,
                    task.loss,
                    task.l1,
                    task.l2,
                    in_one_block=training.in_one_block,
                )
            except ValueError as error:
                kind = ParameterError if isinstance(error, ParameterError) else ValueError
                chosen = describe_configuration(plan.configurations[run.configuration])
                message = Message("{which}: {what}", which=chosen, what=message_of(error))
                raise kind(message) from None
            if data.validation is None and (task.stop.patience >= 0).any():
                raise ParameterError(
                    Message(
                        "{patience} needs validation rows, and this study has none. Pass X_val "
                        "and y_val, use {split}, or leave out {patience}.",
                        patience=Parameter("patience"),
                        split=Parameter("split", (0.8, 0.2, 0.0)),
                    )
                )
            tasks.append(task)
        return cls(plan, estimators, tasks, training, data.validation, data.facts.feature_names)

    @cached_property
    def own_weights(self) -> bool:
        """Whether the runs have different sample weights."""
        return self.data.facts.own_weights is not None

    @cached_property
    def sharing(self) -> list[list[list[int]]]:
        """The batches without a memory limit: for every batch its models, and for every
        model its runs.

        Runs that differ only in their number of epochs train the same model.
        """
        return share_passes(self.tasks, self.own_weights)

    @cached_property
    def model_of(self) -> dict[int, int]:
        """For every run, the first run that trains the same model."""
        return {run: same[0] for models in self.sharing for same in models for run in same}
