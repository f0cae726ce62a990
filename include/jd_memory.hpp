/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_memory.hpp - memory of a device.
 *
 *     jd::device_memory<float> gradient(me.device(), n);
 *     jd::psum(me, "data", gradient, gradient);
 */
#ifndef JD_MEMORY_HPP
#define JD_MEMORY_HPP

#include "jd_device.hpp"
#include "jd_memory.h"

#include <utility>

namespace jd
{

/*
 * Zeroed elements in a device's memory. The host reads and writes them where
 * that is a cpu device's; on cuda jd::device_copy() does. What uses them is
 * done before they are destroyed: jd::shard_synchronize().
 */
template <class T> class device_memory
{
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory has elements that are plain bytes");

  public:
    device_memory() noexcept = default;

    device_memory(const jd_device *device, std::size_t count,
                  on_failure failure = {})
    {
        void *memory = nullptr;
        if (!fits(count, failure) ||
            !failure(jd_device_alloc(device, count * sizeof(T), &memory)))
            return;
        data_ = static_cast<T *>(memory);
        size_ = count;
    }

    device_memory(device_memory &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0))
    {
    }

    device_memory &operator=(device_memory &&other) noexcept
    {
        device_memory taken(std::move(other));
        std::swap(data_, taken.data_);
        std::swap(size_, taken.size_);
        return *this;
    }

    ~device_memory()
    {
        jd_device_free(data_);
    }

    T *data() const noexcept
    {
        return data_;
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    T *begin() const noexcept
    {
        return data_;
    }
    T *end() const noexcept
    {
        return data_ + size_;
    }
    T &operator[](std::size_t i) const
    {
        return data_[i];
    }

    /* Gives it away: to jd_device_free(), in the end. */
    T *release() noexcept
    {
        size_ = 0;
        return std::exchange(data_, nullptr);
    }

  private:
    static bool fits(std::size_t count, on_failure failure)
    {
        return count <= static_cast<std::size_t>(-1) / sizeof(T) ||
               failure(jd_fail_with(JD_RESOURCE_EXHAUSTED,
                                    "jd::device_memory: %zu elements of %zu "
                                    "bytes are more than a size_t can count",
                                    count, sizeof(T)));
    }

    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* jd_device_copy: as many elements as both have. */
template <class To, class From>
void device_copy(To &&to, const From &from, on_failure failure = {})
{
    auto out = detail::writable(to);
    auto in = detail::elements(from);
    detail::same_element(in, out);
    if (detail::has_size("jd::device_copy", "to", out.size(), in.size(),
                         failure))
        failure(jd_device_copy(out.data(), in.data(),
                               in.size() * sizeof(*in.data())));
}

} // namespace jd

#endif
