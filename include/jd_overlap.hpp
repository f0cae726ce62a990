/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_overlap.hpp - calls that go on while the program computes.
 *
 *     jd::request sum = jd::psum_start(me, "data", gradient, total);
 *     compute_meanwhile();
 *     sum.wait();
 *
 * Buffers are named objects, which live until wait() has returned.
 */
#ifndef JD_OVERLAP_HPP
#define JD_OVERLAP_HPP

#include "jd_collectives.hpp"
#include "jd_halo.hpp"
#include "jd_overlap.h"

#include <utility>

namespace jd
{

/* A call that was started. One that is destroyed is waited for, and what it
 * returns is lost: wait() tells it. */
class request
{
  public:
    request() noexcept = default;

    explicit request(jd_request *taken_over) noexcept : request_(taken_over)
    {
    }

    request(request &&other) noexcept : request_(other.release())
    {
    }

    request &operator=(request &&other) noexcept
    {
        request taken(std::move(other));
        std::swap(request_, taken.request_);
        return *this;
    }

    ~request()
    {
        jd_wait(&request_);
    }

    /* Nothing where it was waited for already. */
    void wait(on_failure failure = {})
    {
        failure(jd_wait(&request_));
    }

    /* Whether it is done, which ends it as wait() does. Never waits. */
    bool test(on_failure failure = {})
    {
        int is_done = 0;
        failure(jd_test(&request_, &is_done));
        return is_done != 0;
    }

    explicit operator bool() const noexcept
    {
        return request_ != nullptr;
    }

    /* The caller's from now on. */
    jd_request *release() noexcept
    {
        return std::exchange(request_, nullptr);
    }

  private:
    jd_request *request_ = nullptr;
};

namespace detail
{

using start = jd_status (*)(jd_shard *, const char *, const void *, void *,
                            size_t, jd_dtype, jd_request **);

/* A call of C that starts, as one that does not. */
JD_IN_PLACE auto into(start call, jd_request **ret_request)
{
    return
        [call, ret_request](jd_shard *shard, const char *axes, const void *in,
                            void *out, std::size_t count, jd_dtype type) {
            return call(shard, axes, in, out, count, type, ret_request);
        };
}

template <class In, class Out>
JD_IN_PLACE request alike_start(const char *name, start call, shard me,
                                c_text axes, In &in, Out &out,
                                on_failure failure)
{
    jd_request *started = nullptr;
    alike(name, into(call, &started), me, axes, in, out, failure);
    return request(started);
}

} // namespace detail

/* ---- collectives -------------------------------------------------------- */

template <class In, class Out>
JD_IN_PLACE request psum_start(shard me, c_text axes, In &in, Out &out,
                               on_failure failure = {})
{
    return detail::alike_start("jd::psum_start", jd_psum_start, me, axes, in,
                               out, failure);
}

template <class In, class Out>
JD_IN_PLACE request pmean_start(shard me, c_text axes, In &in, Out &out,
                                on_failure failure = {})
{
    return detail::alike_start("jd::pmean_start", jd_pmean_start, me, axes, in,
                               out, failure);
}

template <class In, class Out>
JD_IN_PLACE request pmax_start(shard me, c_text axes, In &in, Out &out,
                               on_failure failure = {})
{
    return detail::alike_start("jd::pmax_start", jd_pmax_start, me, axes, in,
                               out, failure);
}

template <class In, class Out>
JD_IN_PLACE request pmin_start(shard me, c_text axes, In &in, Out &out,
                               on_failure failure = {})
{
    return detail::alike_start("jd::pmin_start", jd_pmin_start, me, axes, in,
                               out, failure);
}

template <class In, class Out>
JD_IN_PLACE request pprod_start(shard me, c_text axes, In &in, Out &out,
                                on_failure failure = {})
{
    return detail::alike_start("jd::pprod_start", jd_pprod_start, me, axes, in,
                               out, failure);
}

template <class In, class Out>
JD_IN_PLACE request pand_start(shard me, c_text axes, In &in, Out &out,
                               on_failure failure = {})
{
    return detail::alike_start("jd::pand_start", jd_pand_start, me, axes, in,
                               out, failure);
}

template <class In, class Out>
JD_IN_PLACE request por_start(shard me, c_text axes, In &in, Out &out,
                              on_failure failure = {})
{
    return detail::alike_start("jd::por_start", jd_por_start, me, axes, in, out,
                               failure);
}

template <class In, class Out>
JD_IN_PLACE request pxor_start(shard me, c_text axes, In &in, Out &out,
                               on_failure failure = {})
{
    return detail::alike_start("jd::pxor_start", jd_pxor_start, me, axes, in,
                               out, failure);
}

template <class In, class Out>
JD_IN_PLACE request psum_scatter_start(shard me, c_text axes, In &in, Out &out,
                                       on_failure failure = {})
{
    jd_request *started = nullptr;
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::blocks("jd::psum_scatter_start",
                   detail::into(jd_psum_scatter_start, &started), me, axes,
                   from, to, to.size(), from.size(), "in", failure);
    return request(started);
}

template <class In, class Out>
JD_IN_PLACE request all_gather_start(shard me, c_text axes, In &in, Out &out,
                                     on_failure failure = {})
{
    jd_request *started = nullptr;
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::blocks("jd::all_gather_start",
                   detail::into(jd_all_gather_start, &started), me, axes, from,
                   to, from.size(), to.size(), "out", failure);
    return request(started);
}

template <class In, class Out>
JD_IN_PLACE request all_to_all_start(shard me, c_text axes, In &in, Out &out,
                                     on_failure failure = {})
{
    jd_request *started = nullptr;
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    std::size_t n = detail::members(me, axes);
    const char *name = "jd::all_to_all_start";
    if (detail::has_size(name, "out", to.size(), from.size(), failure))
        detail::blocks(name, detail::into(jd_all_to_all_start, &started), me,
                       axes, from, to, n ? from.size() / n : 0, from.size(),
                       "in", failure);
    return request(started);
}

template <class In, class Out>
JD_IN_PLACE request pbroadcast_start(shard me, c_text axes, int source, In &in,
                                     Out &out, on_failure failure = {})
{
    jd_request *started = nullptr;
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    if (detail::has_size("jd::pbroadcast_start", "out", to.size(), from.size(),
                         failure))
        failure(jd_pbroadcast_start(me.get(), axes, source, from.data(),
                                    to.data(), from.size(), dtype<element>(),
                                    &started));
    return request(started);
}

JD_IN_PLACE request barrier_start(shard me, c_text axes,
                                  on_failure failure = {})
{
    jd_request *started = nullptr;
    failure(jd_barrier_start(me.get(), axes, &started));
    return request(started);
}

/* ---- sends, receives, halos --------------------------------------------- */

/* As group(), and starts what the body notes. */
template <class Body>
JD_IN_PLACE request group_start(shard me, Body &&body, on_failure failure = {})
{
    jd_request *started = nullptr;
    if (failure(jd_group_begin(me.get()))) {
        body();
        failure(jd_group_start(me.get(), &started));
    }
    return request(started);
}

template <class Block>
JD_IN_PLACE request halo_start(shard me, Block &block,
                               span<const jd_halo_dim> dims, corners filled,
                               on_failure failure = {})
{
    jd_request *started = nullptr;
    auto elements = detail::writable(block);
    using element = typename decltype(elements)::element_type;
    if (detail::has_size("jd::halo_start", "block", elements.size(),
                         detail::halo_block(dims), failure))
        failure(jd_halo_start(me.get(), elements.data(), dtype<element>(),
                              static_cast<int>(dims.size()), dims.data(),
                              filled == corners::filled, &started));
    return request(started);
}
template <class Block>
JD_IN_PLACE request halo_start(shard me, Block &block,
                               span<const jd_halo_dim> dims,
                               on_failure failure = {})
{
    return halo_start(me, block, dims, corners::left, failure);
}

} // namespace jd

#endif
