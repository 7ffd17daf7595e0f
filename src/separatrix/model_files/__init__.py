"""Save and load models, and export them to other libraries.

The contents of a file are never executed.
"""

from separatrix.model_files.bundle import Bundle, load_model, save
from separatrix.model_files.export_onnx import to_onnx
from separatrix.model_files.export_sklearn import to_sklearn

__all__ = ["Bundle", "load_model", "save", "to_onnx", "to_sklearn"]
