"""Classifiers and regression on kernels, by low-rank factors of the kernel matrix."""

from separatrix.kernel_methods.kernel_classifier import KernelClassifier
from separatrix.kernel_methods.kernel_ridge import KernelRidge, KernelRidgeCV

__all__ = ["KernelClassifier", "KernelRidge", "KernelRidgeCV"]
