# SPDX-License-Identifier: BSD-3-Clause
"""jd: the multi-controller SPMD model of jax.distributed, on CPUs and GPUs.

    import jd, numpy

    with jd.initialize(), jd.make_mesh((-1,), ("data",)):
        total = jd.psum(numpy.ones(4), "data")

The names are JAX's where JAX has the thing. doc/python.md has the rest.
"""
from . import checkpoint, multihost_utils
from ._library import VERSION as __version__
from ._library import LibraryNotFound
from ._mpi import from_mpi4py, mpi_comm
from .arrays import (Array, ArrayShard, device_put, gather_array,
                     make_array_from_callback, make_array_from_one,
                     make_array_from_process_local_data,
                     make_array_from_single_device_arrays, reshard,
                     visualize_array_sharding, zeros)
from .collectives import (Received, all_gather, all_to_all, axis_index,
                          axis_size, barrier, group, halo_exchange, pand,
                          pbroadcast, pmax, pmaxloc, pmean, pmin, pminloc, por,
                          ppermute, ppermute_keep, pprod, preduce, pshuffle,
                          psum, psum_scatter, pxor, ragged_all_gather,
                          ragged_all_to_all, recv, recv_any_size, scan, send,
                          sendrecv, shard_synchronize, shift)
from .coordination import (PeerFailure, acknowledge_preemption,
                           cancel_barrier, kv_delete, kv_dir_get, kv_get,
                           kv_get_many, kv_increment, kv_set, kv_set_many,
                           kv_try_get, live_processes, on_peer_failure,
                           on_preemption, report_error, wait_at_barrier)
from .devices import (Device, DeviceMemory, device_alloc, device_copy,
                      device_count, devices, local_device_count,
                      local_devices)
from .dtypes import convert
from .errors import (Aborted, AlreadyExists, Cancelled, DataLoss,
                     DeadlineExceeded, Error, FailedPrecondition, Internal,
                     InvalidArgument, NotFound, OutOfRange, PermissionDenied,
                     ResourceExhausted, Unauthenticated, Unavailable,
                     Unimplemented, Unknown)
from .mesh import Mesh, Shard, make_mesh, mesh_shape, shard_map
from .multihost_utils import (assert_equal, broadcast_one_to_all,
                              global_array_to_host_local_array,
                              host_local_array_to_global_array,
                              process_allgather,
                              reached_preemption_sync_point,
                              sync_global_devices)
from .overlap import (Request, all_gather_start, all_to_all_start,
                      barrier_start, group_start, halo_start, pand_start,
                      pbroadcast_start, pmax_start, pmean_start, pmin_start,
                      por_start, pprod_start, psum_scatter_start, psum_start,
                      pxor_start)
from .process import (Job, abort, initialize, is_initialized, process_count,
                      process_index, shutdown, version, wtime)
from .shardings import (NamedSharding, P, PartitionSpec, visualize_sharding)
from .tracing import trace

__all__ = [name for name in dir() if not name.startswith('_')]
