/* SPDX-License-Identifier: BSD-3-Clause */
/* sanitized.h - which sanitizer a test is built with, as gcc or clang says. */
#ifndef TESTS_LIB_SANITIZED_H
#define TESTS_LIB_SANITIZED_H

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define HAS_ASAN 1
#else
#define HAS_ASAN 0
#endif

#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#else
#define HAS_TSAN 0
#endif

#endif
