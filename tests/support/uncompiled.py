"""A loss that has no compiled kernel."""

from __future__ import annotations

from typing import Any

from separatrix.losses import Loss


class Uncompiled:
    """A custom loss: one of the list, used only through the protocol."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loss, name)

    @property
    def compiled(self) -> bool:
        return False
