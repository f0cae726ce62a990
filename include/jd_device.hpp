/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_device.hpp - the global table of devices.
 *
 *     for (const jd_device *device : jd::devices())
 *         std::cout << device->id << " on " << device->host << '\n';
 */
#ifndef JD_DEVICE_HPP
#define JD_DEVICE_HPP

#include "jd_device.h"
#include "jd_dtype.hpp"

namespace jd
{

/* jd's own, or a mesh's, for as long as C says. */
using device_list = span<const jd_device *const>;

namespace detail
{

/* The names of C's failures are not told by a NULL: a list is refused before
 * jd_initialize(), for another world, or for a name. */
inline device_list list(const jd_device *const *devices, int count,
                        jd_status code, on_failure failure)
{
    failure(devices ? JD_OK : code);
    return { devices, devices ? static_cast<std::size_t>(count) : 0 };
}

} // namespace detail

inline device_list devices(on_failure failure = {})
{
    int count = 0;
    const jd_device *const *all = jd_devices(&count);
    return detail::list(all, count, JD_FAILED_PRECONDITION, failure);
}

inline device_list local_devices(on_failure failure = {})
{
    int count = 0;
    const jd_device *const *own = jd_local_devices(&count);
    return detail::list(own, count, JD_FAILED_PRECONDITION, failure);
}

inline device_list platform_devices(c_text platform, on_failure failure = {})
{
    int count = 0;
    const jd_device *const *all = jd_platform_devices(platform, &count);
    return detail::list(all, count, JD_NOT_FOUND, failure);
}

inline int device_count(on_failure failure = {})
{
    int count = jd_device_count();
    return detail::value_or(count >= 0, JD_FAILED_PRECONDITION, count, failure);
}

inline int local_device_count(on_failure failure = {})
{
    int count = jd_local_device_count();
    return detail::value_or(count >= 0, JD_FAILED_PRECONDITION, count, failure);
}

} // namespace jd

#endif
