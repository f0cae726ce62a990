/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_multihost.hpp - what processes do together, on lists of leaves.
 *
 *     jd::broadcast_one_to_all({ jd::leaf(weights, { 64, 10 }), bias }, 0);
 *     std::vector<int> rows = jd::process_allgather(mine);
 *
 * A leaf is made of what collectives take: a number has no dimension, anything
 * else one, or those that are given.
 */
#ifndef JD_MULTIHOST_HPP
#define JD_MULTIHOST_HPP

#include "jd_dtype.hpp"
#include "jd_multihost.h"
#include "jd_process.h"

#include <cstdint>
#include <vector>

namespace jd
{

/* The lengths of an array's dimensions: { 64, 10 }. */
using extents = span<const std::int64_t>;

/* An array in host memory, which stays the program's. */
class leaf
{
    template <class X>
    using if_values =
        std::enable_if_t<!std::is_same_v<std::decay_t<X>, leaf> &&
                         !std::is_same_v<std::decay_t<X>, jd_leaf>>;

  public:
    /* One that a call of C has described. */
    leaf(const jd_leaf &of_c)
        : data_(of_c.data), dtype_(of_c.dtype),
          lengths_(of_c.shape, of_c.shape + of_c.ndim)
    {
    }

    template <class X, class = if_values<X>> leaf(X &&values)
    {
        auto all = detail::elements(values);
        set_elements(all);
        if (!has_dtype<std::decay_t<X>>)
            lengths_.push_back(static_cast<std::int64_t>(all.size()));
    }

    /* The product of the lengths is the number of elements. */
    template <class X>
    leaf(X &&values, jd::extents lengths, on_failure failure = {})
        : lengths_(lengths.begin(), lengths.end())
    {
        auto all = detail::elements(values);
        std::size_t product = 1;
        for (std::int64_t length : lengths)
            product *= static_cast<std::size_t>(length);
        if (detail::has_size("jd::leaf", "what has these dimensions",
                             all.size(), product, failure))
            set_elements(all);
    }

    /* As C takes it; it points into this leaf. */
    jd_leaf get() const noexcept
    {
        return { data_, dtype_, static_cast<int>(lengths_.size()),
                 lengths_.data() };
    }

  private:
    template <class T> void set_elements(span<T> all)
    {
        data_ = const_cast<std::remove_cv_t<T> *>(all.data());
        dtype_ = dtype<T>();
    }

    void *data_ = nullptr;
    jd_dtype dtype_ = JD_PRED;
    std::vector<std::int64_t> lengths_;
};

using leaves = span<const leaf>;

namespace detail
{

JD_IN_PLACE std::vector<jd_leaf> of_c(leaves all)
{
    std::vector<jd_leaf> list;
    for (const leaf &each : all)
        list.push_back(each.get());
    return list;
}

} // namespace detail

JD_IN_PLACE void broadcast_one_to_all(leaves all, int source = 0,
                                      on_failure failure = {})
{
    std::vector<jd_leaf> list = detail::of_c(all);
    failure(jd_broadcast_one_to_all(list.data(), list.size(), source));
}

/* Of a number; after a failure what came in, perhaps. */
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T broadcast_one_to_all(T mine, int source = 0,
                                   on_failure failure = {})
{
    leaf of_mine(mine);
    jd_leaf one = of_mine.get();
    failure(jd_broadcast_one_to_all(&one, 1, source));
    return mine;
}

JD_IN_PLACE void process_allgather(leaves in, leaves out, bool tiled = false,
                                   on_failure failure = {})
{
    std::vector<jd_leaf> from = detail::of_c(in), to = detail::of_c(out);
    if (detail::has_size("jd::process_allgather", "out's list", to.size(),
                         from.size(), failure))
        failure(
            jd_process_allgather(from.data(), to.data(), from.size(), tiled));
}

/* Of a number, by process index; empty after a failure. */
template <class T, class = detail::if_number<T>>
JD_IN_PLACE std::vector<T> process_allgather(T mine, on_failure failure = {})
{
    static_assert(!std::is_same_v<T, bool>,
                  "a std::vector<bool> has no bools: give leaves, or a char");
    int count = jd_process_count();
    std::vector<T> all(count > 0 ? static_cast<std::size_t>(count) : 0);
    leaf in(mine), out(all);
    jd_leaf from = in.get(), to = out.get();
    if (!failure(jd_process_allgather(&from, &to, 1, 0)))
        all.clear();
    return all;
}

JD_IN_PLACE void sync_global_devices(c_text name, on_failure failure = {})
{
    failure(jd_sync_global_devices(name));
}

/* what begins the sentence; NULL is allowed. */
JD_IN_PLACE void assert_equal(leaves all, c_text what = nullptr,
                              on_failure failure = {})
{
    std::vector<jd_leaf> list = detail::of_c(all);
    failure(jd_assert_equal(list.data(), list.size(), what));
}

JD_IN_PLACE void assert_equal_with(leaves all, c_text what,
                                   const jd_equality &equality,
                                   on_failure failure = {})
{
    std::vector<jd_leaf> list = detail::of_c(all);
    failure(jd_assert_equal_with(list.data(), list.size(), what, &equality,
                                 sizeof equality));
}

/* Throws nothing: it is called in each step, and says 0 where it fails. */
JD_IN_PLACE bool reached_preemption_sync_point(std::int64_t step) noexcept
{
    return jd_reached_preemption_sync_point(step) != 0;
}

} // namespace jd

#endif
