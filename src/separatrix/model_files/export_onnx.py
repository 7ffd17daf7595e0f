"""Export fitted models as ONNX graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.matrix import Array
from separatrix.model_files.plain_model import PlainModel

OPSET = 17  # supported by onnxruntime since version 1.12
IR_VERSION = 8  # the file version that belongs to this opset


def to_onnx(model: LinearClassifier) -> Any:
    """Convert a fitted classifier to an ONNX model. Needs the extra `onnx`.

    The arithmetic is float64. The input is "X" (n, d). The outputs are "label" (n,), "scores" (the
    decision function) and, if the model has probabilities, "probabilities" (n, C). `onnx.save`
    writes the model to a file.

    >>> from separatrix import LogisticRegression, to_onnx
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores', 'probabilities']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx. Install it with pip install 'separatrix[onnx]'."
        ) from error
    return _OnnxWriter(onnx, PlainModel.of(model), getattr(model, "_sigmoids", None)).model()


class _OnnxWriter:
    """Builds the ONNX graph of one model."""

    def __init__(self, onnx: Any, plain: PlainModel, sigmoids: Any) -> None:
        self.onnx, self.plain, self.sigmoids = onnx, plain, sigmoids
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def model(self) -> Any:
        helper, plain = self.onnx.helper, self.plain
        numbers, two = self.onnx.TensorProto.DOUBLE, len(plain.classes) == 2
        width = len(plain.classes)
        products = self.add("MatMul", "X", self.constant(np.ascontiguousarray(plain.coef.T)))
        Z = self.add("Add", products, self.constant(plain.intercept))
        scores_shape = ["n"] if two else ["n", width]
        if two:
            self.add("Squeeze", Z, self.constant(np.array([1])), name="scores")
        else:
            self.add("Identity", Z, name="scores")
        self.labels(two)
        outputs = [
            helper.make_tensor_value_info("label", self.label_type(), ["n"]),
            helper.make_tensor_value_info("scores", numbers, scores_shape),
        ]
        if plain.link or self.sigmoids is not None:
            self.probabilities(Z)
            outputs.append(helper.make_tensor_value_info("probabilities", numbers, ["n", width]))
        rows = helper.make_tensor_value_info("X", numbers, ["n", plain.coef.shape[1]])
        graph = helper.make_graph(self.nodes, "separatrix", [rows], outputs, self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        out = helper.make_model(
            graph, opset_imports=opset, producer_name="separatrix", ir_version=IR_VERSION
        )
        self.onnx.checker.check_model(out)
        return out

    def add(self, kind: str, *inputs: str, name: str | None = None, **options: Any) -> str:
        """Add a node and return the name of its output."""
        name = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **options))
        return name

    def constant(self, value: Array) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(value, name))
        return name

    def labels(self, two: bool) -> None:
        if two:
            compare = "GreaterOrEqual" if self.plain.ties else "Greater"
            above = self.add(compare, "scores", self.constant(np.array(self.plain.threshold)))
            number = self.add("Cast", above, to=self.onnx.TensorProto.INT64)
        else:
            number = self.add("ArgMax", "scores", axis=1, keepdims=0)
        self.add("Gather", self.constant(self.known_classes()), number, name="label")

    def known_classes(self) -> Array:
        """Return the classes in a type that ONNX supports: text or 64-bit numbers."""
        classes = self.plain.classes
        if classes.dtype.kind in "US" or isinstance(classes[0], str):
            return np.array([str(label) for label in classes], object)
        return classes.astype(np.float64 if classes.dtype.kind == "f" else np.int64)

    def label_type(self) -> Any:
        kind = self.known_classes().dtype.kind
        types = self.onnx.TensorProto
        return {"O": types.STRING, "f": types.DOUBLE, "i": types.INT64}[kind]

    def probabilities(self, Z: str) -> None:
        link = self.plain.link
        if self.sigmoids is not None:
            slope, offset = (self.constant(p) for p in (self.sigmoids.slope, self.sigmoids.offset))
            Z = self.add("Add", self.add("Mul", Z, slope), offset)
            link = "sigmoid" if len(self.plain.classes) == 2 else "each"
        if link == "softmax":
            self.add("Softmax", Z, axis=1, name="probabilities")
            return
        squash = self.clipped if link.endswith("clip") else self.sigmoid
        P = squash(Z)
        if link in ("sigmoid", "clip"):
            # Not 1 - p, which loses all digits if p is close to 1.
            first = squash(self.add("Neg", Z))
            self.add("Concat", first, P, axis=1, name="probabilities")
            return
        total = self.add("ReduceSum", P, self.constant(np.array([1])), keepdims=1)
        some = self.add("Greater", total, self.constant(np.array(0.0)))
        one = self.constant(np.array(1.0))
        share = self.add("Div", P, self.add("Where", some, total, one))
        even = self.constant(np.array(1.0 / len(self.plain.classes)))
        self.add("Where", some, share, even, name="probabilities")

    def clipped(self, Z: str) -> str:
        """Add (1 + z) / 2 for scores limited to -1 and 1."""
        low, high = self.constant(np.array(-1.0)), self.constant(np.array(1.0))
        return self.add(
            "Mul",
            self.add("Add", self.add("Clip", Z, low, high), high),
            self.constant(np.array(0.5)),
        )

    def sigmoid(self, Z: str) -> str:
        """Add 1 / (1 + exp(-z)); the Sigmoid of onnxruntime has only about seven correct digits."""
        one = self.constant(np.array(1.0))
        return self.add("Div", one, self.add("Add", one, self.add("Exp", self.add("Neg", Z))))
