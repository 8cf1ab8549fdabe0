"""The signatures that cuda.tile's own run time makes of launches, on a driver that does nothing.

Of the driver `KernelSignature.from_kernel_args` asks only that it is there, so functions that return 0 stand in for
it. The run time keeps the driver it finds for good: child processes only.
"""

import ctypes
import sys
from types import ModuleType

import numpy as np

DRIVER_VERSION = 13040
ON_A_GPU = 2  # kDLCUDA of DLPack
KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLPack's codes of NumPy's kinds
CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12, "float8_e8m0fnu": 14, "float4_e2m1fn": 17}

_Nothing = ctypes.CFUNCTYPE(ctypes.c_int)
_Version = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int))
_Lookup = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
)
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _say_version(answer):
    answer[0] = DRIVER_VERSION
    return 0


_nothing, _version = _Nothing(lambda: 0), _Version(_say_version)


def _look_up(name, answer, _version_asked, _flags, _status):
    function = _version if name == b"cuDriverGetVersion" else _nothing
    answer[0] = ctypes.cast(function, ctypes.c_void_p).value
    return 0


_lookup, _keep = _Lookup(_look_up), _Deleter(lambda _tensor: None)  # an array keeps its own memory
_lookup_pointer = ctypes.c_void_p(ctypes.cast(_lookup, ctypes.c_void_p).value)


class _Tensor(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", _Deleter),
    )


class OnGpu:
    """A NumPy array that says of itself that it lies on a GPU."""

    def __init__(self, array):
        words = ctypes.c_int64 * max(array.ndim, 1)
        self._shape = words(*array.shape)
        self._strides = words(*(stride // array.itemsize for stride in array.strides))
        code = CODES.get(array.dtype.name, KINDS.get(array.dtype.kind))
        bits = 4 if array.dtype.name == "float4_e2m1fn" else array.itemsize * 8
        self._tensor = _Tensor(
            array.ctypes.data, ON_A_GPU, 0, array.ndim, code, bits, 1, self._shape, self._strides, 0, None, _keep
        )

    def __dlpack__(self, stream=None):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        capsule: object = make(ctypes.addressof(self._tensor), b"dltensor", None)
        return capsule


def _on_gpu(value):
    if isinstance(value, np.ndarray):
        return OnGpu(value)
    if type(value) in (tuple, list):
        return type(value)(map(_on_gpu, value))
    return value


def symbol_of(kernel, values):
    """The symbol of a launch, or the error that the launch ends in. Child processes only."""
    from cuda.tile.compilation import CallingConvention, KernelSignature

    library = ModuleType("cuda.tile._load_libcuda")
    library.cuGetProcAddress_v2_ptrptr = ctypes.addressof(_lookup_pointer)
    sys.modules[library.__name__] = library
    try:
        given = tuple(map(_on_gpu, values))
        newer = KernelSignature.from_kernel_args(kernel, given, CallingConvention.cutile_python_v2())
        try:  # a launch takes the oldest convention that can say it
            older = KernelSignature(newer.parameters, CallingConvention.cutile_python_v1())
        except ValueError:
            return str(newer.symbol)
        return str(older.with_mangled_symbol(kernel._annotated_function.pyfunc.__name__).symbol)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
