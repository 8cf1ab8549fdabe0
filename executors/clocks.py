"""The clocks of the card in use, read through NVML, never set. Child processes only: this module is imported where torch is.

NVML answers while the card works on queued rounds; nvidia-smi takes so long that it would be idle again.
"""

from ctypes import CDLL, byref, c_uint, c_void_p

import torch

from kdiag.records import Clocks


class Meter:
    """Finds the current card by its UUID: CUDA numbers cards its own way."""

    def __init__(self) -> None:
        self._card = c_void_p()
        try:
            self._nvml = CDLL("libnvidia-ml.so.1")
            uuid = f"GPU-{torch.cuda.get_device_properties().uuid}".encode()
            self._found = not (
                self._nvml.nvmlInit_v2() or self._nvml.nvmlDeviceGetHandleByUUID(uuid, byref(self._card))
            )
        except (OSError, AttributeError):
            self._found = False

    def read(self) -> Clocks | None:
        """None where NVML is missing, or does not know the card or its clock."""
        sm = self._mhz(1) if self._found else None
        return None if sm is None else Clocks(sm, self._mhz(2))

    def _mhz(self, kind: int) -> int | None:
        mhz = c_uint()
        failed = self._nvml.nvmlDeviceGetClockInfo(self._card, kind, byref(mhz))
        return None if failed else mhz.value or None
