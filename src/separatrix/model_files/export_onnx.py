"""Export fitted models and pipelines as ONNX graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.model_files.onnx_converter import register_onnx
from separatrix.model_selection.grid_search import GridSearchCV

OPSETS = {"": 17, "ai.onnx.ml": 3}  # supported by onnxruntime since version 1.12
# Parameters that skl2onnx ignores, so that the converted model would predict something else.
IGNORED = {
    OrdinalEncoder: ("min_frequency", "max_categories"),
    SimpleImputer: ("add_indicator",),
}

FLOAT32 = (
    "Some transformers can only be exported for float32: give rows of float32, as in "
    "to_onnx(model, X.astype(np.float32))."
)


def to_onnx(model: Any, X: Any = None) -> Any:
    """Convert a fitted classifier, pipeline or search to an ONNX model. Needs the extra `onnx`.

    The outputs are "label" (n,), "scores" (the decision function) and, if the model has
    probabilities, "probabilities" (n, C). `onnx.save` writes the model to a file.

    Parameters
    ----------
    model : fitted classifier of this library, or a Pipeline or GridSearchCV that ends in one.
        skl2onnx converts the transformers
    X : some rows, which define the names and types of the inputs. An array is the input "X". Every
        column of a data frame is an input with shape (n, 1). None means an array of float64

    >>> from separatrix import LogisticRegression, to_onnx
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores', 'probabilities']
    """
    classifier = _classifier_of(model)
    check_is_fitted(model)
    _refuse_ignored(model)
    register_onnx()
    import skl2onnx

    out = skl2onnx.to_onnx(
        model,
        initial_types=_input_types(model, X),
        target_opset=OPSETS,
        options={id(classifier): {"zipmap": False, "scores": True}},
    )
    _check_types(out)
    return out


def _refuse_ignored(model: Any) -> None:
    best = getattr(model, "best_estimator_", model)
    parts = {"": best} | (best.get_params(deep=True) if isinstance(best, Pipeline) else {})
    for name, part in parts.items():
        for parameter in IGNORED.get(type(part), ()):
            if getattr(part, parameter):
                raise ValueError(
                    f"The step {name!r} cannot be exported: skl2onnx ignores the parameter "
                    f"'{parameter}' of {type(part).__name__}. Use another transformer, or save the "
                    "model as a model file."
                )


def _check_types(out: Any) -> None:
    """Raise if the graph is invalid, or if it has float64 where onnxruntime needs float32."""
    import onnx

    try:
        onnx.checker.check_model(out, full_check=True)
        found = onnx.shape_inference.infer_shapes(out).graph
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"skl2onnx returned an invalid graph ({reason}). {FLOAT32}") from None
    types = {
        value.name: value.type.tensor_type.elem_type for value in (*found.input, *found.value_info)
    }
    for node in found.node:
        if node.op_type == "Imputer" and types.get(node.input[0]) == onnx.TensorProto.DOUBLE:
            raise ValueError(f"onnxruntime has no SimpleImputer for float64. {FLOAT32}")


def _classifier_of(model: Any) -> LinearClassifier:
    """Return the fitted classifier at the end of a pipeline or search."""
    part = model
    while isinstance(part, Pipeline | GridSearchCV):
        if isinstance(part, GridSearchCV):
            check_is_fitted(part, "best_estimator_")
            part = part.best_estimator_
        else:
            part = part.steps[-1][1]
    if not isinstance(part, LinearClassifier):
        end = "" if part is model else f" that ends in {type(part).__name__}"
        raise TypeError(
            "Only classifiers of this library, and pipelines and searches that end in one, can be "
            f"exported. Got {type(model).__name__}{end} instead. From a Bundle, export its "
            "estimator. For other objects that contain classifiers of this library, such as "
            "scikit-learn's searches, call register_onnx() and then skl2onnx.to_onnx."
        )
    return part


def _input_types(model: Any, X: Any) -> list[tuple[str, Any]]:
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    if X is None:
        d = getattr(model, "n_features_in_", None)
        by_name = hasattr(model, "feature_names_in_") and _selects_columns(model)
        if d is None or by_name:
            raise ValueError(
                "to_onnx needs some rows to find the types of the inputs of this "
                f"{type(model).__name__}. Give rows as in to_onnx(model, X)."
            )
        return [("X", DoubleTensorType([None, d]))]
    if hasattr(X, "columns"):
        columns = {name: np.asarray(X[name]) for name in X.columns}
        return [(str(name), _tensor_type(found, [None, 1])) for name, found in columns.items()]
    if isinstance(X, list) and X and isinstance(X[0], str):
        return [("X", StringTensorType([None]))]
    rows = np.asarray(X[:1].toarray() if hasattr(X, "toarray") else X)
    return [("X", _tensor_type(rows, [None, *rows.shape[1:]]))]


def _selects_columns(model: Any) -> bool:
    """Return whether a step needs the columns of a data frame by name."""
    best = getattr(model, "best_estimator_", model)
    return any(isinstance(p, ColumnTransformer) for p in best.get_params(deep=True).values())


def _tensor_type(values: Any, shape: list[Any]) -> Any:
    """Return the type of an input: float32, 64-bit numbers or text."""
    from skl2onnx.common import data_types as types

    kind = values.dtype.kind
    if values.dtype == np.float32:
        return types.FloatTensorType(shape)
    known = {"f": types.DoubleTensorType, "i": types.Int64TensorType, "u": types.Int64TensorType}
    known["b"] = types.BooleanTensorType
    return known.get(kind, types.StringTensorType)(shape)
