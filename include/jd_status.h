/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_status.h - what every jd call that can fail returns, and the sentence
 * that explains it.
 *
 *     if (jd_psum(me, "data", in, out, n, JD_F64) != JD_OK)
 *         fprintf(stderr, "%s\n", jd_error_message());
 *
 *     JD_CHECK(jd_psum(me, "data", in, out, n, JD_F64));
 *
 * A call that returns a status does not log. Outputs are written only on
 * success. The codes and numbers are the canonical ones of gRPC and XLA.
 */
#ifndef JD_STATUS_H
#define JD_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define JD_API __attribute__((visibility("default")))
#define JD_NORETURN __attribute__((noreturn))
#define JD_FORMAT(text, values)                                                \
    __attribute__((__format__(__printf__, text, values)))
#else
#define JD_API
#define JD_NORETURN
#define JD_FORMAT(text, values)
#endif

/* One row per code: name, number, what it means to the caller. */
#define JD_STATUS_MAP(X)                                                       \
    X(OK, 0, "success")                                                        \
    X(CANCELLED, 1, "the call was cancelled by its caller")                    \
    X(UNKNOWN, 2, "an error of unknown kind")                                  \
    X(INVALID_ARGUMENT, 3, "an argument, option or variable is wrong")         \
    X(DEADLINE_EXCEEDED, 4, "the deadline passed first")                       \
    X(NOT_FOUND, 5, "what was asked for does not exist")                       \
    X(ALREADY_EXISTS, 6, "what was to be made exists already")                 \
    X(PERMISSION_DENIED, 7, "the caller may not do this")                      \
    X(RESOURCE_EXHAUSTED, 8, "memory or another resource has run out")         \
    X(FAILED_PRECONDITION, 9, "the job is not in a state that allows this")    \
    X(ABORTED, 10, "the operation was aborted, here or by a peer")             \
    X(OUT_OF_RANGE, 11, "past the valid range")                                \
    X(UNIMPLEMENTED, 12, "not supported by this version or platform")          \
    X(INTERNAL, 13, "an invariant of jd or of a library below it broke")       \
    X(UNAVAILABLE, 14, "a peer or service cannot be reached")                  \
    X(DATA_LOSS, 15, "data was lost or damaged")                               \
    X(UNAUTHENTICATED, 16, "the peer did not prove who it is")

typedef enum jd_status {
#define JD_STATUS_ENUM_ROW(name, number, text) JD_##name = number,
    JD_STATUS_MAP(JD_STATUS_ENUM_ROW)
#undef JD_STATUS_ENUM_ROW
} jd_status;

/*
 * Gives the name of a status, for example "DEADLINE_EXCEEDED"; for a number
 * that is no status, "not a jd_status". The string is constant.
 * Threads: any.
 */
JD_API const char *jd_status_name(jd_status status);

/*
 * Gives the calling thread's last failure as one whole sentence: the
 * operation, the culprit, the value seen and wanted, the deadline, and the
 * remedy. "" where nothing has failed on this thread.
 *
 * Threads: any; each thread has its own.
 * Owns: jd; the text stays until this thread's next failure but one, or its
 * end: of `printf("%d: %s", jd_axis_size(me, "y"), jd_error_message())` the
 * text is good, though the first call may fail after the second.
 */
JD_API const char *jd_error_message(void);

/*
 * Fails with a sentence: for the program's own functions that jd calls, the
 * bodies of jd_shard_map() and the fill of jd_array_from_callback(), and for
 * whatever JD_CHECK() is to print.
 *
 *     if (!file)
 *         return jd_fail_with(JD_NOT_FOUND, "%s: %s", path, strerror(errno));
 *
 * The sentence, as printf() writes it and of any length, becomes the calling
 * thread's last failure. With JD_OK nothing changes. Threads: any.
 * Returns: status.
 */
JD_API jd_status jd_fail_with(jd_status status, const char *format, ...)
    JD_FORMAT(2, 3);

/*
 * Evaluates a call that returns a jd_status; where that is not JD_OK, prints
 * file, line and the sentence on standard error and ends the whole job with
 * exit code 1. It does not return then. That the coordination service has heard
 * why is waited for: a tenth of a second, or 3.5 s where process 0 does not
 * answer.
 */
#define JD_CHECK(call)                                                         \
    do {                                                                       \
        jd_status jd_check_status_ = (call);                                   \
        if (jd_check_status_ != JD_OK)                                         \
            jd_check_failed(jd_check_status_, #call, __FILE__, __LINE__);      \
    } while (0)

/*
 * What JD_CHECK calls on a failure: prints one line, "jd 3/8 host:pid error
 * FILE:LINE: CALL: STATUS: sentence", and ends the whole job with exit code
 * 1. Where several processes have the same to say within a moment, the lowest
 * says it for "processes 0-3". Where another process has failed already, the
 * process ends by that, with exit code 117. Not meant to be called directly.
 * With a NULL file the place is the one that jd_call_site() has given.
 */
JD_API JD_NORETURN void jd_check_failed(jd_status status, const char *call,
                                        const char *file, int line);

/*
 * For libraries that bring jd to another language: says that this thread's
 * calls of jd are from now on made at the address, one that the program's call
 * returns to, instead of where the library itself makes them. Sentences,
 * JD_CHECK_SITES and what is recorded name it. NULL ends that.
 *
 *     jd_call_site(__builtin_return_address(0));
 *     status = jd_barrier(shard, axes);
 *     jd_call_site(NULL);
 *
 * Threads: any; each has its own. Returns: the address before, NULL for none;
 * who gives it back may come between another call and its address.
 */
JD_API const void *jd_call_site(const void *address);

/*
 * For those that bring it to a language whose code has no addresses: makes the
 * address that stands for a place of that text, for jd_call_site(). The same
 * text has the same address as long as the process lasts; it is to be the same
 * in all processes of the program. 123 bytes of it count, and 1,023 places are
 * kept; JD_CHECK_SITES compares those beyond as well, and sentences and records
 * have "a line beyond those that are kept". Control characters become "?".
 *
 *     jd_call_site(jd_call_site_named("train.py:12 (step)"));
 *
 * Threads: any. Returns: the address; NULL for a text that is NULL or empty,
 * and in a forked child.
 */
JD_API const void *jd_call_site_named(const char *text);

#ifdef __cplusplus
}
#endif

#endif
