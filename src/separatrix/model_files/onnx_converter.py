"""How skl2onnx converts the classifiers and searches of this library.

A classifier is one operator with the outputs "label", "scores" and "probabilities". It computes in
float64 whatever the type of its input, so that rounding changes no label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.matrix import Array
from separatrix.model_files.classifier_table import CLASSIFIERS
from separatrix.model_files.plain_model import PlainModel
from separatrix.model_files.saved_class import saved_as
from separatrix.model_selection.grid_search import GridSearchCV

OPTIONS = {
    "zipmap": [True, False, "columns"],  # probabilities as a map, an array or single columns
    "nocl": [True, False],  # numbers in place of the names of the classes
    "scores": [True, False],  # one more output with the scores
}


def register_onnx() -> None:
    """Register the classifiers and searches of this library with skl2onnx.

    After that, `skl2onnx.to_onnx` converts pipelines that contain them. `separatrix.to_onnx` calls
    this function itself. It needs the extra `onnx`. Calling it again has no effect.

    >>> import skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import LogisticRegression, register_onnx
    >>> register_onnx()
    >>> X = np.array([[0.0], [1.0], [2.0]], np.float32)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, ["no", "yes", "yes"])
    >>> onnx = skl2onnx.to_onnx(model, X, options={"zipmap": False})
    >>> [output.name for output in onnx.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "Export to ONNX needs the package skl2onnx. Install it with pip install "
            "'separatrix[onnx]'."
        ) from error
    kinds: list[type] = list(CLASSIFIERS)
    for known in CLASSIFIERS:
        extended: list[type] = known.__subclasses__()
        kinds += [kind for kind in extended if saved_as(kind) is known]
    for kind in kinds:
        update_registered_converter(
            kind,
            f"Separatrix{kind.__name__}",
            _set_shapes,
            _convert,
            parser=_parse,
            options=OPTIONS,
        )
    # A search is replaced by its best estimator, so it needs no operator of its own.
    update_registered_converter(
        GridSearchCV,
        "SeparatrixGridSearchCV",
        _set_shapes,
        _convert,
        parser=_parse_search,
        options=OPTIONS,
    )


def _parse_search(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx._parse import _parse_sklearn

    best = model.best_estimator_
    if id(best) not in (scope.options or {}):
        scope.add_options(id(best), (scope.options or {}).get(id(model)))
    return _parse_sklearn(scope, best, inputs, custom_parsers=custom_parsers)


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the operator of a classifier and return its outputs.

    They are the label, the scores if the option `scores` is set or there are no probabilities, and
    the probabilities.
    """
    from skl2onnx._parse import _apply_zipmap
    from skl2onnx.common.data_types import FloatTensorType, guess_tensor_type

    options = scope.get_options(model, {"zipmap": True, "scores": False})
    proba = hasattr(model, "predict_proba")
    zipped = proba and options["zipmap"]
    operator = scope.declare_local_operator(f"Separatrix{type(model).__name__}", model)
    operator.inputs = [_joined(scope, inputs)]
    # A map of skl2onnx contains float32.
    numbers = FloatTensorType() if zipped else guess_tensor_type(operator.inputs[0].type)
    label = scope.declare_local_variable("label", _label_type(scope, model, zipped))
    operator.outputs.append(label)
    outputs = [label]
    if options["scores"] or not proba:
        outputs.append(scope.declare_local_variable("scores", numbers.__class__()))
    if proba:
        outputs.append(scope.declare_local_variable("probabilities", numbers.__class__()))
    for output in outputs[1:]:
        operator.outputs.append(output)
    if not zipped:
        return outputs
    pair = [outputs[0], outputs[-1]]
    return list(_apply_zipmap(options["zipmap"], scope, model, numbers, pair)) + outputs[1:-1]


def _joined(scope: Any, inputs: Any) -> Any:
    """Return one variable with all features, if each column of a data frame is an input."""
    if len(inputs) == 1:
        return inputs[0]
    from skl2onnx.common.data_types import DoubleTensorType

    join = scope.declare_local_operator("SklearnConcat")
    join.inputs = inputs
    joined = scope.declare_local_variable("features", DoubleTensorType())
    join.outputs.append(joined)
    return joined


def _known_classes(scope: Any, model: Any) -> Array:
    """Return the classes in a type that ONNX supports: text or 64-bit numbers."""
    from skl2onnx.common.utils_classifier import get_label_classes

    classes = get_label_classes(scope, model)
    if classes.dtype.kind in "US" or isinstance(classes[0], str):
        return np.array([str(label) for label in classes], object)
    return classes.astype(np.float64 if classes.dtype.kind == "f" else np.int64)


def _label_type(scope: Any, model: Any, zipped: Any) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    kind = _known_classes(scope, model).dtype.kind
    if kind == "f" and zipped:  # the keys of a map are whole numbers
        return Int64TensorType()
    return {"O": StringTensorType, "f": DoubleTensorType, "i": Int64TensorType}[kind]()


def _set_shapes(operator: Any) -> None:
    """Set the shapes of the outputs."""
    n, C = operator.inputs[0].get_first_dimension(), len(operator.raw_operator.classes_)
    for output in operator.outputs:
        name = output.raw_name
        flat = name.startswith("label") or (name.startswith("scores") and C == 2)
        output.type.shape = [n] if flat else [n, C]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier."""
    writer = _NodeWriter(scope, container)
    model = operator.raw_operator
    plain, named = PlainModel.of(model), {output.raw_name: output for output in operator.outputs}
    Z = writer.scores(writer.as_double(operator.inputs[0].full_name), model, plain)
    two = len(plain.classes) == 2
    scores = writer.add("Reshape", Z, writer.constant(np.array([-1]))) if two else Z
    for name, output in named.items():
        if name == "label":
            found = writer.label(scores, model, plain)
        elif name == "scores":
            found = scores
        else:
            found = writer.probabilities(Z, plain, getattr(model, "_sigmoids", None))
        writer.finish(found, output)


class _NodeWriter:
    """Adds nodes and constants to a graph of skl2onnx."""

    def __init__(self, scope: Any, container: Any) -> None:
        from onnx import TensorProto

        self.scope, self.container, self.types = scope, container, TensorProto

    def add(self, kind: str, *inputs: str, **options: Any) -> str:
        """Add a node and return the name of its output."""
        out = self.scope.get_unique_variable_name(kind.lower())
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [out], name=name, **options)
        return str(out)

    def constant(self, value: Array) -> str:
        name = self.scope.get_unique_variable_name("constant")
        kinds = {"O": self.types.STRING, "f": self.types.DOUBLE, "i": self.types.INT64}
        entries: Any = value.ravel()
        if value.dtype == object:
            entries = [each.encode() for each in entries]
        self.container.add_initializer(name, kinds[value.dtype.kind], value.shape, entries)
        return str(name)

    def as_double(self, X: str) -> str:
        return self.add("Cast", X, to=self.types.DOUBLE)

    def finish(self, found: str, output: Any) -> None:
        """Connect a result with an output of the operator, in its type."""
        from skl2onnx.common.data_types import guess_proto_type

        name = self.scope.get_unique_operator_name("Output")
        if output.type.__class__.__name__ == "StringTensorType":
            self.container.add_node("Identity", [found], [output.full_name], name=name)
            return
        target = guess_proto_type(output.type)
        self.container.add_node("Cast", [found], [output.full_name], name=name, to=target)

    def scores(self, X: str, model: Any, plain: PlainModel) -> str:
        """Add the scores (n, K) of the rows."""
        coef = plain.coef.T
        factor = getattr(model, "factor_", None)
        if factor is not None and factor.rank:
            X = self.kernel(X, factor)
            coef = solve_triangular(factor.triangle, coef, lower=True, trans="T")
        elif factor is not None:
            coef = np.zeros((model.n_features_in_, coef.shape[1]))
        products = self.add("MatMul", X, self.constant(np.ascontiguousarray(coef)))
        return self.add("Add", products, self.constant(plain.intercept))

    def kernel(self, X: str, factor: Any) -> str:
        """Add the kernel matrix (n, r) of the rows and the pivots of a factor."""
        kernel, rows = factor.kernel, factor.rows
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, np.float64)
        gamma = 1.0 / rows.shape[1] if kernel.gamma is None else kernel.gamma
        products = self.add("MatMul", X, self.constant(np.ascontiguousarray(rows.T)))
        if kernel.name == "linear":
            return products
        if kernel.name == "poly":
            scaled = self.add("Mul", products, self.constant(np.array(float(gamma))))
            shifted = self.add("Add", scaled, self.constant(np.array(float(kernel.coef0))))
            return self.add("Pow", shifted, self.constant(np.array(float(kernel.degree))))
        # |x - z|^2 = |x|^2 + |z|^2 - 2 x z, which rounding can make negative.
        ones = self.constant(np.ones((rows.shape[1], 1)))
        squares = self.add("MatMul", self.add("Mul", X, X), ones)
        both = self.add("Add", squares, self.constant((rows**2).sum(axis=1)))
        twice = self.add("Mul", products, self.constant(np.array(2.0)))
        distances = self.add("Relu", self.add("Sub", both, twice))
        return self.add("Exp", self.add("Mul", distances, self.constant(np.array(-float(gamma)))))

    def label(self, scores: str, model: Any, plain: PlainModel) -> str:
        if len(plain.classes) == 2:
            threshold = self.constant(np.array(plain.threshold))
            # With ties, the second class is the one for scores that are not below the threshold.
            above = (
                self.add("Not", self.add("Less", scores, threshold))
                if plain.ties
                else self.add("Greater", scores, threshold)
            )
            number = self.add("Cast", above, to=self.types.INT64)
        else:
            number = self.add("ArgMax", scores, axis=1, keepdims=0)
        return self.add("Gather", self.constant(_known_classes(self.scope, model)), number)

    def probabilities(self, Z: str, plain: PlainModel, sigmoids: Any) -> str:
        link = plain.link
        if sigmoids is not None:
            slope, offset = (self.constant(p) for p in (sigmoids.slope, sigmoids.offset))
            Z = self.add("Add", self.add("Mul", Z, slope), offset)
            link = "sigmoid" if len(plain.classes) == 2 else "each"
        if link == "softmax":
            return self.add("Softmax", Z, axis=1)
        squash = self.clipped if link.endswith("clip") else self.sigmoid
        P = squash(Z)
        if link in ("sigmoid", "clip"):
            # Not 1 - p, which loses all digits if p is close to 1.
            return self.add("Concat", squash(self.add("Neg", Z)), P, axis=1)
        total = self.add("MatMul", P, self.constant(np.ones((len(plain.classes), 1))))
        some = self.add("Greater", total, self.constant(np.array(0.0)))
        share = self.add("Div", P, self.add("Where", some, total, self.constant(np.array(1.0))))
        even = self.constant(np.array(1.0 / len(plain.classes)))
        return self.add("Where", some, share, even)

    def clipped(self, Z: str) -> str:
        """Add (1 + z) / 2 for scores limited to -1 and 1."""
        low, high = self.constant(np.array(-1.0)), self.constant(np.array(1.0))
        inside = self.add("Add", self.add("Clip", Z, low, high), high)
        return self.add("Mul", inside, self.constant(np.array(0.5)))

    def sigmoid(self, Z: str) -> str:
        """Add 1 / (1 + exp(-z)); the Sigmoid of onnxruntime has only about seven correct digits."""
        one = self.constant(np.array(1.0))
        return self.add("Div", one, self.add("Add", one, self.add("Exp", self.add("Neg", Z))))
