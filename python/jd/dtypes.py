# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's types and jd's, and arrays as buffers that C may be given.

jd itself needs no NumPy: what does need it says so where it is missing.
bfloat16, int4, uint4 and the float8s are those of ml_dtypes.
"""
from __future__ import annotations

import ctypes
import importlib
from typing import TYPE_CHECKING, Any, Sequence

from . import errors
from ._ffi import DTYPES, call, jd_leaf, long_array

if TYPE_CHECKING:
    import numpy

_NUMPY_NAMES = {
    'PRED': 'bool', 'S8': 'int8', 'S16': 'int16', 'S32': 'int32',
    'S64': 'int64', 'U8': 'uint8', 'U16': 'uint16', 'U32': 'uint32',
    'U64': 'uint64', 'F16': 'float16', 'F32': 'float32', 'F64': 'float64',
    'C64': 'complex64', 'C128': 'complex128',
}
_ML_NAMES = {'BF16': 'bfloat16', 'F8E5M2': 'float8_e5m2',
             'F8E4M3FN': 'float8_e4m3fn', 'S4': 'int4', 'U4': 'uint4',
             'F8E4M3B11FNUZ': 'float8_e4m3b11fnuz',
             'F8E5M2FNUZ': 'float8_e5m2fnuz',
             'F8E4M3FNUZ': 'float8_e4m3fnuz', 'F8E4M3': 'float8_e4m3',
             'F8E3M4': 'float8_e3m4', 'F8E8M0FNU': 'float8_e8m0fnu'}
_numbers = {name: DTYPES[kind][0]
            for names in (_NUMPY_NAMES, _ML_NAMES)
            for kind, name in names.items()}
_names = {number: name for name, number in _numbers.items()}
_optional = {'numpy': 'NumPy', 'ml_dtypes': 'ml_dtypes', 'mpi4py': 'mpi4py'}


def need(module: str, why: str) -> Any:
    """Imports what jd does without until somebody asks for it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.split('.', maxsplit=1)[0]
        raise ImportError(
            f'{why} needs {_optional[name]}, which cannot be imported '
            f'({error}): pip install {name}') from error


def numpy_module() -> Any:
    return need('numpy', 'an array of jd')


def dtype_number(dtype: Any) -> int:
    """jd_dtype of a NumPy type; InvalidArgument where jd has none."""
    kind = numpy_module().dtype(dtype)
    number = _numbers.get(kind.name)
    if number is None or not kind.isnative:
        raise errors.InvalidArgument(
            f'jd has no type {kind.str if kind.name in _numbers else kind}: '
            'it has ' + ', '.join(sorted(_numbers)) + ", in the machine's "
            'byte order; astype() makes one of another')
    return number


def numpy_dtype(number: int) -> 'numpy.dtype':
    """The NumPy type of a jd_dtype; ml_dtypes' for bfloat16 and float8."""
    name = _names[number]
    if name in _ML_NAMES.values():
        return numpy_module().dtype(
            getattr(need('ml_dtypes', f'an array of {name}'), name))
    return numpy_module().dtype(name)


def as_input(value: Any, what: str = 'x') -> 'numpy.ndarray':
    """An array that C may read: a number or a list becomes one, an array has
    to be contiguous already, as a copy of it would be made in silence."""
    np = numpy_module()
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    dtype_number(array.dtype)
    if not array.flags.c_contiguous:
        raise errors.InvalidArgument(
            f'{what} of shape {array.shape} is not contiguous (strides '
            f'{array.strides}): numpy.ascontiguousarray(x) makes a copy '
            'that is')
    return array


def as_output(out: Any, dtype: Any, shape: Sequence[int],
              what: str = 'out') -> 'numpy.ndarray':
    """out, after a look whether it takes such a result; a new one for None."""
    np = numpy_module()
    if out is None:
        return np.empty(shape, dtype)
    as_written(out, what)
    if out.dtype != dtype or out.shape != tuple(shape):
        raise errors.InvalidArgument(
            f'{what} is {out.dtype}{list(out.shape)}, and the result '
            f'{np.dtype(dtype)}{list(shape)}')
    return out


def as_written(out: Any, what: str = 'out') -> 'numpy.ndarray':
    """An array that C may write into, of any type that jd has."""
    if not isinstance(out, numpy_module().ndarray):
        raise errors.InvalidArgument(
            f'{what} is of type {type(out).__name__}: it has to be a '
            'numpy.ndarray, which the result is written into')
    dtype_number(out.dtype)
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise errors.InvalidArgument(
            f'{what} of shape {out.shape} is ' +
            ('read-only' if out.flags.c_contiguous else 'not contiguous') +
            ': the result is written into contiguous memory')
    return out


def address(array: 'numpy.ndarray') -> int | None:
    """Where its elements are; None where there are none."""
    return array.ctypes.data if array.size else None


class Leaves:
    """Arrays as a list of jd_leaf, and what keeps it alive."""

    def __init__(self, arrays: Sequence['numpy.ndarray']):
        self.arrays = list(arrays)
        self.shapes = [long_array(array.shape) for array in self.arrays]
        self.leaves = (jd_leaf * len(self.arrays))(*[
            jd_leaf(address(array), dtype_number(array.dtype), array.ndim,
                    shape)
            for array, shape in zip(self.arrays, self.shapes)])

    def __len__(self) -> int:
        return len(self.arrays)

    def pointer(self) -> Any:
        return self.leaves if self.arrays else None


def one_leaf(array: 'numpy.ndarray') -> Leaves:
    return Leaves([array])


def leaf_without_data(shape: Sequence[int], dtype: Any) -> Leaves:
    """What says a type and a shape, where another process has the data."""
    leaf = one_leaf(numpy_module().empty(0, dtype))
    leaf.shapes[0] = long_array(shape)
    leaf.leaves[0] = jd_leaf(None, dtype_number(dtype), len(shape),
                             leaf.shapes[0])
    return leaf


def convert(x: Any, dtype: Any,
            out: 'numpy.ndarray | None' = None) -> 'numpy.ndarray':
    """x's elements as another type, rounded as jd's collectives do.

    Not collective. Raises InvalidArgument for an array that is not
    contiguous or a type that jd has not. Source: jd_convert.
    """
    array = as_input(x)
    out = as_output(out, numpy_module().dtype(dtype), array.shape)
    call('jd_convert', address(array), dtype_number(array.dtype),
         address(out), dtype_number(out.dtype), array.size)
    return out


def memory_array(keeper: Any, data: int | None, shape: Sequence[int],
                 dtype: 'numpy.dtype') -> 'numpy.ndarray':
    """Host memory as an array, which keeps keeper alive."""
    np = numpy_module()
    count = 1
    for length in shape:
        count *= length
    if count == 0 or not data:
        return np.empty(shape, dtype)
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(data)
    raw.keeper = keeper
    return np.frombuffer(raw, dtype).reshape(shape)
