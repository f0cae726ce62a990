/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_mpi.hpp - where jd and MPI meet: the only header of C++ that includes
 * mpi.h. jd.hpp does not include this one.
 *
 *     MPI_Init(&argc, &argv);
 *     jd::initialize_on(half);
 *     MPI_Gatherv(..., jd::mpi_comm());
 */
#ifndef JD_MPI_HPP
#define JD_MPI_HPP

#include "jd_mpi.h"
#include "jd_status.hpp"

namespace jd
{

inline void initialize_on(MPI_Comm comm,
                          const jd_options &options = jd_options(),
                          on_failure failure = {})
{
    failure(jd_initialize_on(comm, &options, sizeof options));
}

inline MPI_Comm mpi_comm(on_failure failure = {})
{
    MPI_Comm comm = jd_mpi_comm();
    return detail::value_or(comm != MPI_COMM_NULL, JD_FAILED_PRECONDITION, comm,
                            failure);
}

} // namespace jd

#endif
