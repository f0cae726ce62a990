/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_end_seconds.h - before all else in test_cuda_aborting.c and in the file
 * that it tests: a deadline for the calls of NCCL that the test sets. It is
 * long, but where one is to pass.
 */
#ifndef TESTS_UNIT_CUDA_END_SECONDS_H
#define TESTS_UNIT_CUDA_END_SECONDS_H

extern double cuda_end_seconds;

#define JD_CUDA_END_SECONDS cuda_end_seconds

#endif
