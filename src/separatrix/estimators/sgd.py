"""scikit-learn's SGDClassifier, on the gradient solver of this library."""

from __future__ import annotations

from typing import Any, Self

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.checks.validation import require_count, require_number
from separatrix.estimators.stochastic import StochasticClassifier
from separatrix.training import OnEpoch

REGRESSION_LOSSES = ("huber", "epsilon_insensitive", "squared_epsilon_insensitive")
PASSIVE_AGGRESSIVE = ("pa1", "pa2")


class SGDClassifier(StochasticClassifier):
    """Linear classifier trained by stochastic gradient descent, with scikit-learn's parameters.

    Minimises

        sum_i s_i loss_i / n + alpha ((1 - l1_ratio)/2 |W|^2 + l1_ratio |W|_1)

    one row at a time, where s_i is `sample_weight` times `class_weight`. With several classes,
    each is separated from all others. The fit is recorded and certified as that of
    GradientDescentClassifier, which has other rules and batch sizes.

    Parameters
    ----------
    loss : str, default="hinge"
        "hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron" or "squared_error".
    penalty : {"l2", "l1", "elasticnet"} or None, default="l2"
        Penalty. Only "elasticnet" uses `l1_ratio`.
    alpha : float, default=1e-4
        Strength of the penalty. learning_rate="optimal" depends on it, too.
    l1_ratio : float, default=0.15
        Share of L1 in the elastic net.
    fit_intercept : bool, default=True
        Whether to fit a bias. It is never penalised. With sparse X, it learns at a hundredth of
        the rate of the weights, because it is moved by all rows and a weight only by a few.
    max_iter : int, default=1000
        Maximum number of passes over the data.
    tol : float or None, default=1e-3
        Stop after `n_iter_no_change` epochs in a row whose objective, with the loss of every row
        before its step, is not lower than the lowest one by `tol`. None trains for `max_iter`
        epochs. A fit that reaches `max_iter` with a `tol` gives a `ConvergenceWarning`.
    shuffle : bool, default=True
        Whether every epoch visits the rows in a new random order.
    epsilon, verbose, n_jobs
        Parameters of scikit-learn without a meaning here.
    random_state : int, RandomState or None, default=None
        Random seed of the order of the rows and of the validation rows.
    learning_rate : {"constant", "optimal", "invscaling", "adaptive"}, default="optimal"
        Rate of step t = 1, 2, ...: `eta0` if "constant", 1 / (alpha (t0 + t - 1)) if "optimal",
        where t0 = 1 / alpha^0.75, and eta0 / t^power_t if "invscaling". "adaptive" starts with
        `eta0` and divides it by 5 instead of stopping, also with `early_stopping`, until it is
        below 1e-6.
    eta0 : float, default=0.01
        First learning rate. "optimal" does not use it.
    power_t : float, default=0.5
        Exponent of "invscaling".
    early_stopping : bool, default=False
        Whether to hold out validation rows, and to stop after `n_iter_no_change` epochs in a row
        without a higher accuracy on them, where rows count by their weights, times those of their
        classes. The weights of the best epoch are kept.
    validation_fraction : float, default=0.1
        Share of the rows that are held out, drawn from every class.
    n_iter_no_change : int, default=5
        Number of epochs without improvement to wait.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by label. "balanced" makes them inversely proportional to the
        sums of the sample weights of the classes.
    warm_start : bool, default=False
        Whether the next fit starts from the weights of the previous one.
    average : bool or int, default=False
        Whether to return the average of the weights of all steps, or, if a number, of the steps
        from this one on. 0 is False.

    Attributes
    ----------
    t_ : float
        Number of steps plus 1.
    coef_, intercept_, classes_, history_, certificate_, ...
        See GradientDescentClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import SGDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGDClassifier(loss="log_loss", alpha=0.01, random_state=0).fit(scale(X), y)
    >>> model.stop_reason_, model.score(scale(X), y) > 0.85
    ('no improvement', True)
    """

    time_limit = None
    patience = None
    patience_rule = "best"
    monitor = "loss"
    validate_every = 1
    init = "zeros"
    init_scale = 0.0
    _pace = ("tol",)

    def __init__(
        self,
        loss: str = "hinge",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average

    def fit(  # type: ignore[override]  # the order of scikit-learn
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or rows on disk
            Training data. Rows on disk come from `separatrix.open`.
        y : array-like of shape (n,), default=None
            Class labels. Rows on disk have their own.
        coef_init, intercept_init : array-like of shape (K, d) and (K,), default=None
            Starting weights. None means 0 or, with `warm_start`, those of the previous fit.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. None means 1 for every row.
        X_val, y_val : array-like of shape (m, d) and (m,), default=None
            Validation set. Its loss and accuracy are recorded in `history_`. With
            `early_stopping`, it takes the place of the rows that would be held out.
        on_epoch : callable, default=None
            Function to call after every epoch with a list that holds one `Epoch`. It can raise
            `Interrupted` to stop training and keep the model.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        held_out = X_val, y_val
        return self._fit_from(coef_init, intercept_init, X, y, sample_weight, held_out, on_epoch)

    def _epochs(self) -> int:
        return int(self.max_iter)

    def _check_parameters(self) -> None:
        if self.loss in REGRESSION_LOSSES:
            raise ParameterError(
                Message(
                    "The loss '{given}' is made for regression. Classifiers have the losses "
                    "{known}. 'modified_huber' and 'hinge' are close to it. Got {loss}.",
                    given=self.loss,
                    known=", ".join(map(repr, self.loss_functions)),
                    loss=Parameter("loss", self.loss),
                )
            )
        if self.learning_rate in PASSIVE_AGGRESSIVE:
            raise ParameterError(
                Message(
                    "{rate} is a passive-aggressive rule, whose steps depend on the row. It is not "
                    "supported. Use 'constant', 'optimal', 'invscaling' or 'adaptive', or "
                    "scikit-learn's SGDClassifier.",
                    rate=Parameter("learning_rate", self.learning_rate),
                )
            )
        require_count("max_iter", self.max_iter)
        require_number("epsilon", self.epsilon)
        self._check_descent_parameters()
