"""The types of this library that files of skops contain."""

from __future__ import annotations

from scipy.sparse import csr_array

from separatrix.estimators.decisions.calibration import Sigmoids
from separatrix.kernel_methods.kernel import Kernel
from separatrix.kernel_methods.low_rank import LowRankFactor
from separatrix.losses import LOSSES, OneVsRest
from separatrix.model import Model
from separatrix.model_files.classifier_table import CLASSIFIERS
from separatrix.model_selection.grid_search import GridSearchCV
from separatrix.objective import Evaluation
from separatrix.solver_state import State
from separatrix.training import History
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.diagnosis import Diagnosis

_TYPES = {
    *CLASSIFIERS,
    GridSearchCV,
    *(type(loss) for loss in LOSSES.values()),
    OneVsRest,
    Certificate,
    Diagnosis,
    Evaluation,
    History,
    Kernel,
    LowRankFactor,
    Model,
    Sigmoids,
    State,
    csr_array,
}
# Named, because this package is below the module `patching` and cannot import it.
_REPLACEMENTS = {
    f"separatrix.patching.{name}"
    for name in (
        "LinearSVC",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "SGDClassifier",
    )
}
SKOPS_TYPES = sorted({f"{kind.__module__}.{kind.__qualname__}" for kind in _TYPES} | _REPLACEMENTS)
