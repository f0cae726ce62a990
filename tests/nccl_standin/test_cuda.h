/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda.h - what the tests of the cuda platform's files share. Each test is
 * a process of its own (Check forks), where CUDA starts at the first use. */
#ifndef NCCL_STANDIN_TEST_CUDA_H
#define NCCL_STANDIN_TEST_CUDA_H

#include "test_cudart.h"

#include "fake_host.h"
#include "tests/unit/unit.h"

#endif
