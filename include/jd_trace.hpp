/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_trace.hpp - a named range that ends with its scope.
 *
 *     jd::trace_range forward("forward");
 */
#ifndef JD_TRACE_HPP
#define JD_TRACE_HPP

#include "jd_status.hpp"
#include "jd_trace.h"

namespace jd
{

/* On the thread that makes it, which destroys it too, the last one first. What
 * could not begin is not ended. */
class trace_range
{
  public:
    explicit trace_range(c_text name, on_failure failure = {})
        : has_begun_(failure(jd_trace_begin(name)))
    {
    }

    trace_range(const trace_range &) = delete;
    trace_range &operator=(const trace_range &) = delete;

    ~trace_range()
    {
        if (has_begun_)
            jd_trace_end();
    }

  private:
    bool has_begun_;
};

} // namespace jd

#endif
