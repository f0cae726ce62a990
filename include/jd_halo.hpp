/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_halo.hpp - halos of blocks.
 *
 *     jd::device_memory<double> block(me.device(), 10 * 12);
 *     jd::halo_exchange(me, block,
 *                       { { 10, 1, 1, "data", 0 }, { 12, 1, 1, "model", 1 } });
 */
#ifndef JD_HALO_HPP
#define JD_HALO_HPP

#include "jd_dtype.hpp"
#include "jd_halo.h"
#include "jd_shard.hpp"

namespace jd
{

enum class corners { left, filled };

namespace detail
{

/* The elements of a block of such dimensions. */
JD_IN_PLACE std::size_t halo_block(span<const jd_halo_dim> dims)
{
    std::size_t count = 1;
    for (const jd_halo_dim &dim : dims)
        count *= static_cast<std::size_t>(dim.size);
    return count;
}

} // namespace detail

/* The block has as many elements as its dimensions say. */
template <class Block>
JD_IN_PLACE void halo_exchange(shard me, Block &&block,
                               span<const jd_halo_dim> dims, corners filled,
                               on_failure failure = {})
{
    auto elements = detail::writable(block);
    using element = typename decltype(elements)::element_type;
    if (detail::has_size("jd::halo_exchange", "block", elements.size(),
                         detail::halo_block(dims), failure))
        failure(jd_halo_exchange(me.get(), elements.data(), dtype<element>(),
                                 static_cast<int>(dims.size()), dims.data(),
                                 filled == corners::filled));
}
template <class Block>
JD_IN_PLACE void halo_exchange(shard me, Block &&block,
                               span<const jd_halo_dim> dims,
                               on_failure failure = {})
{
    halo_exchange(me, block, dims, corners::left, failure);
}

} // namespace jd

#endif
