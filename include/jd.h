/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd.h - all of jd but jd_mpi.h. For programs: inside the library each file
 * includes what it needs.
 */
#ifndef JD_H
#define JD_H

#include "jd_array.h"
#include "jd_checkpoint.h"
#include "jd_collectives.h"
#include "jd_coordination.h"
#include "jd_device.h"
#include "jd_dtype.h"
#include "jd_halo.h"
#include "jd_memory.h"
#include "jd_mesh.h"
#include "jd_multihost.h"
#include "jd_overlap.h"
#include "jd_process.h"
#include "jd_shard.h"
#include "jd_status.h"
#include "jd_trace.h"

#endif
