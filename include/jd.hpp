/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd.hpp - jd for C++17 and later: all of it but jd_mpi.hpp. Header only, on
 * top of the C headers, which say what each call means.
 *
 *     int main()
 *     {
 *         return jd::run([] {
 *             jd::mesh mesh({ { "data", -1 } });
 *             jd::shard me = mesh.shard();
 *             double sum = jd::psum(me, "data", me.index("data") + 1.0);
 *         });
 *     }
 *
 * Names      jd_psum(shard, ...) is jd::psum(shard, ...), and a question to an
 *            object is a member: jd_mesh_ndim(mesh) is mesh.ndim(). Each
 *            jd_NAME.hpp wraps jd_NAME.h.
 * Elements   come as anything with data() and size(), as an array, as one
 *            number, or as jd::span(pointer, count); type and count are worked
 *            out, and lengths that do not fit are refused before anything is
 *            sent (jd_dtype.hpp).
 * Errors     A call throws jd::error with status, sentence and the program's
 *            line. With a jd::status as one more, last argument it throws
 *            nothing and fills that, as std::filesystem does with
 *            std::error_code: one name for both, chosen call by call, and who
 *            forgets to look at a result is told by an exception. It is no
 *            error_code because that has a number, and jd has a sentence.
 * Callbacks  are any callable. What one throws does not pass through C: it is
 *            caught, becomes the status and the sentence that the other
 *            processes hear, and is thrown again on the caller's side.
 * Handles    own what they hold and move; get() is the C handle, release()
 *            gives it away, and a constructor from one takes it over. A shard
 *            is its mesh's, and is copied.
 * Collective destructors: jd::mesh. Where an exception unwinds it, the other
 *            processes may be elsewhere, so that then nothing is given back and
 *            nobody is waited for: the mesh is kept until jd::shutdown(), after
 *            which that is local. Leaving the job is no destructor's: jd::run()
 *            leaves it where its body has returned, and ends the whole job
 *            with the sentence, as JD_CHECK() does, where that throws.
 *
 * Plain on purpose, because C++ says it by an overload, a throw, or an error's
 * what(), has nothing to add, or because it is for other languages:
 *     jd_array_from_callback jd_call_site jd_call_site_named jd_check_failed
 *     jd_dtype_name jd_dtype_size jd_error_message jd_fail_with jd_initialize
 *     jd_leaf_in jd_mpi_comm_f jd_status_name
 */
#ifndef JD_HPP
#define JD_HPP

#include "jd.h"

#include "jd_array.hpp"
#include "jd_checkpoint.hpp"
#include "jd_collectives.hpp"
#include "jd_coordination.hpp"
#include "jd_device.hpp"
#include "jd_dtype.hpp"
#include "jd_halo.hpp"
#include "jd_memory.hpp"
#include "jd_mesh.hpp"
#include "jd_multihost.hpp"
#include "jd_overlap.hpp"
#include "jd_process.hpp"
#include "jd_shard.hpp"
#include "jd_status.hpp"
#include "jd_trace.hpp"

#endif
