/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_process.hpp - a process's place in the job.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return jd::run([&] { ... });
 *     }
 */
#ifndef JD_PROCESS_HPP
#define JD_PROCESS_HPP

#include "jd_process.h"
#include "jd_mesh.hpp"
#include "jd_status.hpp"

namespace jd
{

inline void initialize(const jd_options &options = jd_options(),
                       on_failure failure = {})
{
    failure(jd_initialize_with(&options, sizeof options));
}

/* Also gives back the meshes that exceptions have unwound. */
inline void shutdown(on_failure failure = {})
{
    jd_status code = jd_shutdown();
    detail::kept_meshes::give_back();
    failure(code);
}

inline bool is_initialized() noexcept
{
    return jd_is_initialized() != 0;
}

inline int process_index(on_failure failure = {})
{
    int index = jd_process_index();
    return detail::value_or(index >= 0, JD_FAILED_PRECONDITION, index, failure);
}

inline int process_count(on_failure failure = {})
{
    int count = jd_process_count();
    return detail::value_or(count >= 0, JD_FAILED_PRECONDITION, count, failure);
}

[[noreturn]] inline void abort(int code, c_text why)
{
    jd_abort(code, why);
}

inline const char *version() noexcept
{
    return jd_version();
}

inline double wtime() noexcept
{
    return jd_wtime();
}

namespace detail
{

/* As JD_CHECK() does on a failure: the line of the call where it is known. */
[[noreturn]] inline void end_job(jd_status code, const char *what,
                                 const char *call, place where)
{
    jd_fail_with(code, "%s", what);
    jd_check_failed(code, call, where.file, where.line);
}

template <class Body> int run_body(Body &body)
{
    if constexpr (std::is_convertible_v<decltype(body()), int>)
        return body();
    else
        return body(), 0;
}

} // namespace detail

/*
 * The whole of a main(): joins the job, runs the body, leaves the job. Returns
 * what the body does (0 where it returns nothing), or jd_shutdown()'s status
 * where that fails: for main() to return.
 *
 * An exception that the body throws ends the whole job as JD_CHECK() does: one
 * sentence with file and line, for all processes that say the same, exit code
 * 1 here, and nobody waits for this process any more. What it has unwound has
 * been destroyed before that; meshes have waited for nobody.
 */
template <class Body>
int run(const jd_options &options, Body &&body, place where = {})
{
    try {
        initialize(options, on_failure(where));
        int result = detail::run_body(body);
        status left;
        shutdown(left);
        return left.ok() ? result : static_cast<int>(left.code());
    } catch (const error &e) {
        detail::end_job(e.code(), e.what(), "jd::error", e.where());
    } catch (const std::exception &e) {
        detail::end_job(JD_UNKNOWN, e.what(), "std::exception", where);
    } catch (...) {
        detail::end_job(JD_UNKNOWN, "an exception that is no std::exception",
                        "jd::run", where);
    }
}

template <class Body> int run(Body &&body, place where = {})
{
    return run(jd_options(), body, where);
}

} // namespace jd

#endif
