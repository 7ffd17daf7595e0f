"""Passes over the rows on a GPU, or on another device of PyTorch."""

from separatrix.device.objective import DeviceObjective
from separatrix.device.rules import DeviceRule
from separatrix.device.torch_device import (
    PRECISIONS,
    TorchDevice,
    check_device,
    open_device,
    to_host,
)
from separatrix.device.weights import DeviceModel

__all__ = [
    "PRECISIONS",
    "DeviceModel",
    "DeviceObjective",
    "DeviceRule",
    "TorchDevice",
    "check_device",
    "open_device",
    "to_host",
]
