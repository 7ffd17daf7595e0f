"""Kernel classifiers, which use low-rank factors of the kernel matrix, and kernel ridge."""

from separatrix.kernel_methods.kernel_classifier import KernelClassifier
from separatrix.kernel_methods.kernel_ridge import KernelRidge, KernelRidgeCV

__all__ = ["KernelClassifier", "KernelRidge", "KernelRidgeCV"]
