# SPDX-License-Identifier: BSD-3-Clause
"""jd's C interface as ctypes sees it: constants, structs, prototypes, a call.

python/tests/test_interface.py holds all of it to include/*.h.
"""
from __future__ import annotations

import ctypes
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int,
                    c_int32, c_int64, c_size_t, c_uint64, c_void_p)
from typing import Any

from . import _sites, errors
from ._library import load_library

OK = 0
MAX_NDIM = 8

# jd_dtype: name, number, bytes.
DTYPES = {
    'PRED': (1, 1), 'S8': (2, 1), 'S16': (3, 2), 'S32': (4, 4),
    'S64': (5, 8), 'U8': (6, 1), 'U16': (7, 2), 'U32': (8, 4), 'U64': (9, 8),
    'F16': (10, 2), 'F32': (11, 4), 'F64': (12, 8), 'C64': (15, 8),
    'BF16': (16, 2), 'C128': (18, 16), 'F8E5M2': (19, 1),
    'F8E4M3FN': (20, 1), 'S4': (21, 1), 'U4': (22, 1),
    'F8E4M3B11FNUZ': (23, 1), 'F8E5M2FNUZ': (24, 1), 'F8E4M3FNUZ': (25, 1),
    'F8E4M3': (28, 1), 'F8E3M4': (29, 1), 'F8E8M0FNU': (33, 1),
}


# ---- structs, named as in C ------------------------------------------------


class jd_options(Structure):
    _fields_ = [
        ('reserved_', c_int),
        ('coordinator_address', c_char_p),
        ('coordinator_bind_address', c_char_p),
        ('num_processes', c_int),
        ('process_id', c_int),
        ('num_slices', c_int),
        ('slice_index', c_int),
        ('local_device_ids', POINTER(c_int)),
        ('num_local_device_ids', c_size_t),
        ('cluster_detection_method', c_char_p),
        ('initialization_timeout', c_double),
        ('heartbeat_timeout', c_double),
        ('shutdown_timeout', c_double),
        ('collective_timeout', c_double),
    ]


class jd_device(Structure):
    _fields_ = [
        ('id', c_int64),
        ('process_index', c_int),
        ('local_ordinal', c_int),
        ('platform', c_char_p),
        ('kind', c_char_p),
        ('host', c_char_p),
        ('slice_index', c_int),
        ('numa_node', c_int),
        ('pci_bus_id', c_char_p),
        ('uuid', c_char_p),
        ('memory_bytes', c_uint64),
        ('index', c_int),
    ]


class jd_route(Structure):
    _fields_ = [('from_', c_int), ('to', c_int)]


class jd_halo_dim(Structure):
    _fields_ = [
        ('size', c_int64),
        ('before', c_int64),
        ('after', c_int64),
        ('axis', c_char_p),
        ('periodic', c_int),
    ]


class jd_kv_entry(Structure):
    _fields_ = [('key', c_char_p), ('value', c_void_p), ('size', c_size_t)]


class jd_peer_failure(Structure):
    _fields_ = [
        ('processes', POINTER(c_int)),
        ('num_processes', c_size_t),
        ('text', c_char_p),
        ('age', c_double),
    ]


class jd_leaf(Structure):
    _fields_ = [
        ('data', c_void_p),
        ('dtype', c_int),
        ('ndim', c_int),
        ('shape', POINTER(c_int64)),
    ]


class jd_equality(Structure):
    _fields_ = [
        ('bitwise', c_int),
        ('nan_differs', c_int),
        ('absolute', c_double),
        ('relative', c_double),
    ]


class jd_range(Structure):
    _fields_ = [('begin', c_int64), ('end', c_int64)]


class jd_array_shard(Structure):
    _fields_ = [
        ('device', POINTER(jd_device)),
        ('index', jd_range * MAX_NDIM),
        ('shape', c_int64 * MAX_NDIM),
        ('replica_id', c_int),
        ('count', c_size_t),
        ('data', c_void_p),
    ]


class jd_block(Structure):
    _fields_ = [
        ('dtype', c_int),
        ('ndim', c_int),
        ('array_shape', POINTER(c_int64)),
        ('index', POINTER(jd_range)),
        ('shape', POINTER(c_int64)),
        ('count', c_size_t),
        ('data', c_void_p),
    ]


STRUCTS = (jd_options, jd_device, jd_route, jd_halo_dim, jd_kv_entry,
           jd_peer_failure, jd_leaf, jd_equality, jd_range, jd_array_shard,
           jd_block)

shard_body = CFUNCTYPE(c_int, c_void_p, c_void_p)
reduce_function = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_void_p)
array_fill = CFUNCTYPE(c_int, POINTER(jd_block), c_void_p)
on_peer_failure = CFUNCTYPE(None, POINTER(jd_peer_failure), c_void_p)
on_preemption = CFUNCTYPE(None, c_void_p)

# ---- prototypes ------------------------------------------------------------

_ints, _longs = POINTER(c_int), POINTER(c_int64)
_strings, _handles = POINTER(c_char_p), POINTER(c_void_p)
_devices, _leaves = POINTER(POINTER(jd_device)), POINTER(jd_leaf)
_entries, _sizes = POINTER(jd_kv_entry), POINTER(c_size_t)
_file = c_void_p
_on_axes = (c_void_p, c_char_p)
_one_count = (*_on_axes, c_void_p, c_void_p, c_size_t, c_int)
_started = (*_one_count, _handles)
_located = (*_on_axes, c_void_p, _longs, c_void_p, _longs, c_size_t, c_int)
_two_counts = (*_on_axes, c_void_p, c_void_p, c_size_t, c_size_t, c_int)
_routed = (*_one_count, POINTER(jd_route), c_int)

# Those that return a jd_status: what they take.
_STATUS = {
    'jd_initialize_with': (POINTER(jd_options), c_size_t),
    'jd_shutdown': (),
    'jd_convert': (c_void_p, c_int, c_void_p, c_int, c_size_t),
    'jd_device_alloc': (c_void_p, c_size_t, _handles),
    'jd_device_free': (c_void_p,),
    'jd_device_copy': (c_void_p, c_void_p, c_size_t),
    'jd_mesh_create': (_handles, c_int, _ints, _strings, _handles),
    'jd_mesh_set_nccl': (c_void_p, c_char_p, c_int),
    'jd_mesh_shape': (c_int, c_int, _ints),
    'jd_mesh_visualize': (c_void_p, _file),
    'jd_mesh_visualize_svg': (c_void_p, _file),
    'jd_shard_map': (c_void_p, shard_body, c_void_p),
    'jd_shard_coordinates': (c_void_p, c_int, _ints),
    'jd_shard_groups': (_handles, c_void_p, c_char_p, c_int, _ints, _ints),
    'jd_psum': _one_count,
    'jd_pmean': _one_count,
    'jd_pmax': _one_count,
    'jd_pmin': _one_count,
    'jd_pprod': _one_count,
    'jd_pmaxloc': _located,
    'jd_pminloc': _located,
    'jd_scan': (*_one_count, c_int, c_int),
    'jd_pand': _one_count,
    'jd_por': _one_count,
    'jd_pxor': _one_count,
    'jd_preduce': (*_on_axes, c_void_p, c_void_p, c_size_t, c_size_t,
                   reduce_function, c_void_p),
    'jd_psum_scatter': _one_count,
    'jd_psum_scatter_2d': _two_counts,
    'jd_all_gather': _one_count,
    'jd_all_gather_2d': _two_counts,
    'jd_all_to_all_nd': (*_on_axes, c_void_p, c_void_p, c_int, _longs,
                         c_int, c_int, c_int),
    'jd_ragged_all_to_all': (*_on_axes, c_void_p, c_size_t, c_void_p,
                             c_size_t, c_size_t, _longs, _longs, _longs,
                             _longs, c_int, c_int),
    'jd_ragged_all_gather': (*_on_axes, c_void_p, c_size_t, c_void_p, _longs,
                             c_int),
    'jd_ppermute': _routed,
    'jd_ppermute_keep': _routed,
    'jd_pshuffle': (*_one_count, _ints),
    'jd_shift': (*_on_axes, c_int, c_void_p, c_void_p, c_size_t, c_int, c_int),
    'jd_pbroadcast': (*_on_axes, c_int, c_void_p, c_void_p, c_size_t, c_int),
    'jd_send': (*_on_axes, c_int, c_void_p, c_size_t, c_int),
    'jd_recv': (*_on_axes, c_int, c_void_p, c_size_t, c_int),
    'jd_recv_any_size': (*_on_axes, c_int, c_void_p, c_size_t, _sizes,
                         c_int),
    'jd_send_tagged': (*_on_axes, c_int, c_int32, c_void_p, c_size_t, c_int),
    'jd_recv_tagged': (*_on_axes, c_int, c_int32, c_void_p, c_size_t, c_int),
    'jd_sendrecv': (*_on_axes, c_int, c_void_p, c_size_t, c_int, c_void_p,
                    c_size_t, c_int),
    'jd_halo_exchange': (c_void_p, c_void_p, c_int, c_int,
                         POINTER(jd_halo_dim), c_int),
    'jd_psum_start': _started,
    'jd_pmean_start': _started,
    'jd_pmax_start': _started,
    'jd_pmin_start': _started,
    'jd_pprod_start': _started,
    'jd_pand_start': _started,
    'jd_por_start': _started,
    'jd_pxor_start': _started,
    'jd_psum_scatter_start': _started,
    'jd_all_gather_start': _started,
    'jd_all_to_all_start': _started,
    'jd_pbroadcast_start': (*_on_axes, c_int, c_void_p, c_void_p, c_size_t,
                            c_int, _handles),
    'jd_barrier_start': (*_on_axes, _handles),
    'jd_group_start': (c_void_p, _handles),
    'jd_halo_start': (c_void_p, c_void_p, c_int, c_int, POINTER(jd_halo_dim),
                      c_int, _handles),
    'jd_wait': (_handles,),
    'jd_test': (_handles, _ints),
    'jd_group_begin': (c_void_p,),
    'jd_group_end': (c_void_p,),
    'jd_barrier': _on_axes,
    'jd_shard_synchronize': (c_void_p,),
    'jd_shard_use_stream': (c_void_p, c_void_p),
    'jd_sharding_create': (_handles, c_void_p, c_char_p),
    'jd_sharding_create_even': (_handles, c_void_p, c_char_p),
    'jd_sharding_mesh': (_handles, c_void_p),
    'jd_sharding_index': (c_void_p, c_int, _longs, c_void_p,
                          POINTER(jd_range), _ints),
    'jd_sharding_shard_shape': (c_void_p, c_int, _longs, _longs),
    'jd_array_zeros': (_handles, c_void_p, c_int, c_int, _longs),
    'jd_array_from_blocks': (_handles, c_void_p, c_int, c_int, _longs,
                             array_fill, c_void_p),
    'jd_array_from_process_local_data': (_handles, c_void_p, _leaves, _longs),
    'jd_array_from_shards': (_handles, c_void_p, c_int, c_int, _longs,
                             _handles, c_int),
    'jd_array_from_one': (_handles, c_void_p, _leaves, c_int),
    'jd_device_put': (_handles, _leaves, c_void_p),
    'jd_array_to_host': (c_void_p, _leaves),
    'jd_array_reshard': (_handles, c_void_p, c_void_p),
    'jd_array_reshard_donate': (_handles, c_void_p),
    'jd_process_allgather_array': (c_void_p, _leaves),
    'jd_process_gather_array': (c_void_p, _leaves, c_int),
    'jd_array_assert_replicas_equal': (c_void_p, c_char_p,
                                       POINTER(jd_equality), c_size_t),
    'jd_host_local_array_to_global_array': (_handles, _leaves, c_void_p,
                                            c_char_p),
    'jd_global_array_to_host_local_array': (c_void_p, c_void_p, c_char_p,
                                            _leaves),
    'jd_visualize_sharding': (c_void_p, c_int, _longs, _file),
    'jd_visualize_array_sharding': (c_void_p, _file),
    'jd_visualize_sharding_svg': (c_void_p, c_int, _longs, _file),
    'jd_visualize_array_sharding_svg': (c_void_p, _file),
    'jd_broadcast_one_to_all': (_leaves, c_size_t, c_int),
    'jd_process_allgather': (_leaves, _leaves, c_size_t, c_int),
    'jd_sync_global_devices': (c_char_p,),
    'jd_assert_equal': (_leaves, c_size_t, c_char_p),
    'jd_assert_equal_with': (_leaves, c_size_t, c_char_p,
                             POINTER(jd_equality), c_size_t),
    'jd_array_save': (c_char_p, _strings, _handles, c_size_t),
    'jd_array_restore': (c_char_p, _strings, _handles, c_size_t, _handles),
    'jd_checkpoint_open': (_handles, c_char_p),
    'jd_checkpoint_leaf': (c_void_p, c_char_p, _leaves),
    'jd_checkpoint_verify': (c_void_p, c_char_p),
    'jd_kv_set': (c_char_p, c_char_p, c_size_t, c_int),
    'jd_kv_get': (c_char_p, c_double, _handles, _sizes),
    'jd_kv_try_get': (c_char_p, _handles, _sizes),
    'jd_kv_dir_get': (c_char_p, POINTER(_entries), _sizes),
    'jd_kv_delete': (c_char_p, _sizes),
    'jd_kv_increment': (c_char_p, c_int64, _longs),
    'jd_kv_set_many': (_entries, c_size_t, c_int),
    'jd_kv_get_many': (_strings, c_size_t, c_double, POINTER(_entries)),
    'jd_wait_at_barrier': (c_char_p, c_double, _ints, c_size_t),
    'jd_cancel_barrier': (c_char_p,),
    'jd_live_processes': (c_double, POINTER(_ints), _sizes),
    'jd_report_error': (c_int, c_char_p),
    'jd_on_peer_failure': (on_peer_failure, c_void_p),
    'jd_on_preemption': (on_preemption, c_void_p),
    'jd_acknowledge_preemption': (),
    'jd_trace_begin': (c_char_p,),
    'jd_trace_end': (),
    'jd_fail_with': (c_int, c_char_p, c_char_p),
}

# The others: what they return, and take.
_OTHER = {
    'jd_is_initialized': (c_int, ()),
    'jd_process_index': (c_int, ()),
    'jd_process_count': (c_int, ()),
    'jd_abort': (None, (c_int, c_char_p)),
    'jd_call_site': (c_void_p, (c_void_p,)),
    'jd_call_site_named': (c_void_p, (c_char_p,)),
    'jd_version': (c_char_p, ()),
    'jd_wtime': (c_double, ()),
    'jd_error_message': (c_char_p, ()),
    'jd_check_failed': (None, (c_int, c_char_p, c_char_p, c_int)),
    'jd_devices': (_devices, (_ints,)),
    'jd_local_devices': (_devices, (_ints,)),
    'jd_platform_devices': (_devices, (c_char_p, _ints)),
    'jd_device_count': (c_int, ()),
    'jd_local_device_count': (c_int, ()),
    'jd_mesh_ndim': (c_int, (c_void_p,)),
    'jd_mesh_axis_names': (_strings, (c_void_p,)),
    'jd_mesh_axis_sizes': (_ints, (c_void_p,)),
    'jd_mesh_devices': (_devices, (c_void_p, _ints)),
    'jd_mesh_local_devices': (_devices, (c_void_p, _ints)),
    'jd_mesh_destroy': (None, (c_void_p,)),
    'jd_mesh_shard': (c_void_p, (c_void_p,)),
    'jd_axis_index': (c_int, _on_axes),
    'jd_axis_size': (c_int, _on_axes),
    'jd_shard_device': (POINTER(jd_device), (c_void_p,)),
    'jd_shard_stream': (c_void_p, (c_void_p,)),
    'jd_sharding_release': (None, (c_void_p,)),
    'jd_sharding_spec': (c_char_p, (c_void_p,)),
    'jd_sharding_is_fully_replicated': (c_int, (c_void_p,)),
    'jd_sharding_is_fully_addressable': (c_int, (c_void_p,)),
    'jd_sharding_is_equivalent': (c_int, (c_void_p, c_void_p, c_int)),
    'jd_array_retain': (c_void_p, (c_void_p,)),
    'jd_array_release': (None, (c_void_p,)),
    'jd_array_dtype': (c_int, (c_void_p,)),
    'jd_array_ndim': (c_int, (c_void_p,)),
    'jd_array_shape': (_longs, (c_void_p,)),
    'jd_array_shards': (POINTER(jd_array_shard), (c_void_p, _ints)),
    'jd_reached_preemption_sync_point': (c_int, (c_int64,)),
    'jd_checkpoint_close': (None, (c_void_p,)),
    'jd_checkpoint_count': (c_size_t, (c_void_p,)),
    'jd_checkpoint_name': (c_char_p, (c_void_p, c_size_t)),
    # An MPI_Comm is a pointer or an int: see _mpi.py, which says which.
    'jd_initialize_on': (c_int, None),
    'jd_mpi_comm': (None, None),
}

PROTOTYPES = {**{name: (c_int, takes) for name, takes in _STATUS.items()},
              **_OTHER}

# Called with the GIL, which is quicker: it is a store.
_WITH_GIL = ('jd_call_site',)

# Public functions of C that have no place in Python, and why.
LEFT_OUT = {
    'jd_all_to_all': 'all_to_all() calls jd_all_to_all_nd()',
    'jd_all_to_all_2d': 'all_to_all() calls jd_all_to_all_nd()',
    'jd_array_from_callback': 'make_array_from_callback() calls '
                              'jd_array_from_blocks()',
    'jd_leaf_in': 'NumPy knows which arrays are only read',
    'jd_initialize': 'initialize() calls jd_initialize_with()',
    'jd_status_name': 'each status is a class of that name',
    'jd_dtype_size': "a NumPy type's itemsize says it",
    'jd_dtype_name': "a NumPy type's name says it",
    'jd_array_sharding': 'an Array keeps the NamedSharding that it was made '
                         'with',
    'jd_mpi_comm_f': "mpi4py has Fortran's handle of mpi_comm() (py2f)",
}


class _Library:
    """libjd's functions by name; loaded when the first is asked for."""

    _loaded: ctypes.CDLL | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in PROTOTYPES:
            raise AttributeError(name)
        if _Library._loaded is None:
            _Library._loaded = load_library()
        library = _Library._loaded
        if name in _WITH_GIL:
            library = ctypes.PyDLL(library._name, handle=library._handle)
        function = getattr(library, name)
        restype, argtypes = PROTOTYPES[name]
        function.restype = restype
        if argtypes is not None:
            function.argtypes = argtypes
        setattr(self, name, function)
        return function

    def is_loaded(self) -> bool:
        return _Library._loaded is not None

    def handle(self) -> ctypes.CDLL:
        """libjd itself, for what it brings of MPI."""
        self.jd_version()
        return _Library._loaded


lib = _Library()


def error_message() -> str:
    """This thread's last failure, as jd says it."""
    return lib.jd_error_message().decode(errors='replace')


def call(name: str, *args: Any) -> None:
    """Calls what returns a status, without the GIL, and raises it. It is made
    at the program's line, for libjd's sentences; nothing else is."""
    site = _sites.here(lib.jd_call_site_named)
    former = None  # of a call that a signal has come into
    try:
        if site:
            former = lib.jd_call_site(site)
        status = getattr(lib, name)(*args)
    finally:
        if site:
            lib.jd_call_site(former)
    if status != OK:
        raise errors.make_error(status, error_message())


def raise_last(status: int = errors.InvalidArgument.status) -> None:
    """Raises this thread's last failure, of a call that returns no status."""
    raise errors.make_error(status, error_message())


def encode(text: str | bytes, what: str) -> bytes:
    """Text for C: UTF-8, which a NUL would cut off in silence."""
    data = text.encode() if isinstance(text, str) else bytes(text)
    if b'\0' in data:
        raise errors.InvalidArgument(f'{what} {text!r} has a NUL in it')
    return data


def int_array(values: Any) -> Any:
    values = [int(value) for value in values]
    return (c_int * len(values))(*values)


def long_array(values: Any) -> Any:
    values = [int(value) for value in values]
    return (c_int64 * len(values))(*values)


def longs_at(address: int | None) -> Any:
    """What is at an address, as a call takes it."""
    return ctypes.cast(address, _longs)


def string_array(values: Any, what: str) -> Any:
    values = [encode(value, what) for value in values]
    return (c_char_p * len(values))(*values)
