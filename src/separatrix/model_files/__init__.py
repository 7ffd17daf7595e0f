"""Save and load models, and export them to other libraries.

The contents of a file are never executed.
"""

from separatrix.model_files.bundle import Bundle, load_model, save
from separatrix.model_files.export_onnx import to_onnx
from separatrix.model_files.export_sklearn import to_sklearn
from separatrix.model_files.onnx_converter import register_onnx
from separatrix.model_files.skops_types import SKOPS_TYPES

__all__ = [
    "SKOPS_TYPES",
    "Bundle",
    "load_model",
    "register_onnx",
    "save",
    "to_onnx",
    "to_sklearn",
]
