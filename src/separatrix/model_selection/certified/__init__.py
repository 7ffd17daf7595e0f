"""Searches over the penalty with a proof that no other value is much better."""

from separatrix.model_selection.certified.result import CertifiedSearch
from separatrix.model_selection.certified.search import SearchProgress, certified_search

__all__ = ["CertifiedSearch", "SearchProgress", "certified_search"]
