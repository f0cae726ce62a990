/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_collectives.hpp - collectives over named mesh axes.
 *
 *     jd::psum(me, "data", gradient, gradient); // in place
 *     double sum = jd::psum(me, "data", mine);  // of a number
 *     std::vector<int> all = jd::all_gather(me, "data", mine);
 *
 * in and out have elements of one type; the count is worked out from their
 * lengths, which have to fit together. A length that does not is
 * INVALID_ARGUMENT on this process, and sends nothing. Axes are NULL for all.
 * What is given by value is, after a failure, what came in.
 */
#ifndef JD_COLLECTIVES_HPP
#define JD_COLLECTIVES_HPP

#include "jd_collectives.h"
#include "jd_shard.hpp"

#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

namespace jd
{

namespace detail
{

using reduction = jd_status (*)(jd_shard *, const char *, const void *, void *,
                                size_t, jd_dtype);

/* The members along the axes; 0 where the call of C will say what is wrong. */
JD_IN_PLACE std::size_t members(shard me, const char *axes)
{
    int n = jd_axis_size(me.get(), axes);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

/* out = in, element by element. */
template <class Call, class In, class Out>
JD_IN_PLACE void alike(const char *name, Call call, shard me, c_text axes,
                       const In &in, Out &&out, on_failure failure)
{
    auto from = elements(in);
    auto to = writable(out);
    same_element(from, to);
    using element = typename decltype(to)::element_type;
    if (has_size(name, "out", to.size(), from.size(), failure))
        failure(call(me.get(), axes, from.data(), to.data(), from.size(),
                     dtype<element>()));
}

template <class T>
JD_IN_PLACE T number(reduction call, shard me, c_text axes, T mine,
                     on_failure failure)
{
    T all = mine;
    failure(call(me.get(), axes, &mine, &all, 1, dtype<T>()));
    return all;
}

/* out and its indices have as many elements as in; from_index is NULL, or as
 * many too. */
template <class Call, class In, class Out, class Index>
JD_IN_PLACE void extreme(const char *name, Call call, shard me, c_text axes,
                         const In &in, const std::int64_t *from_index,
                         Out &&out, Index &&out_index, on_failure failure)
{
    auto from = elements(in);
    auto to = writable(out);
    auto to_index = writable(out_index);
    same_element(from, to);
    same_element(to_index, span<std::int64_t>());
    using element = typename decltype(to)::element_type;
    if (has_size(name, "out", to.size(), from.size(), failure) &&
        has_size(name, "out_index", to_index.size(), from.size(), failure))
        failure(call(me.get(), axes, from.data(), from_index, to.data(),
                     to_index.data(), from.size(), dtype<element>()));
}

/* One of the buffers is the other times the members. */
template <class Call, class In, class Out>
JD_IN_PLACE void blocks(const char *name, Call call, shard me, c_text axes,
                        In from, Out to, std::size_t count, std::size_t whole,
                        const char *whole_name, on_failure failure)
{
    same_element(from, to);
    using element = typename Out::element_type;
    std::size_t n = members(me, axes);
    if (n == 0 || has_size(name, whole_name, whole, count * n, failure))
        failure(call(me.get(), axes, from.data(), to.data(), count,
                     dtype<element>()));
}

/* The columns of a matrix of so many rows. */
JD_IN_PLACE bool divides(const char *name, const char *buffer, std::size_t size,
                         std::size_t rows, on_failure failure)
{
    if (rows == 0 ? size == 0 : size % rows == 0)
        return true;
    failure(jd_fail_with(JD_INVALID_ARGUMENT,
                         "%s: %s has %zu elements, which %zu rows do not "
                         "divide",
                         name, buffer, size, rows));
    return false;
}

/* A call of C that is told rows and columns, as one that is told a count. */
template <class Call> JD_IN_PLACE auto of_rows(Call call, std::size_t rows)
{
    return [call, rows](jd_shard *shard, const char *axes, const void *in,
                        void *out, std::size_t count, jd_dtype type) {
        return call(shard, axes, in, out, rows, rows ? count / rows : 0, type);
    };
}

} // namespace detail

/* ---- reductions --------------------------------------------------------- */

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void psum(shard me, c_text axes, const In &in, Out &&out,
                      on_failure failure = {})
{
    detail::alike("jd::psum", jd_psum, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T psum(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_psum, me, axes, mine, failure);
}

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void pmean(shard me, c_text axes, const In &in, Out &&out,
                       on_failure failure = {})
{
    detail::alike("jd::pmean", jd_pmean, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T pmean(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_pmean, me, axes, mine, failure);
}

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void pmax(shard me, c_text axes, const In &in, Out &&out,
                      on_failure failure = {})
{
    detail::alike("jd::pmax", jd_pmax, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T pmax(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_pmax, me, axes, mine, failure);
}

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void pmin(shard me, c_text axes, const In &in, Out &&out,
                      on_failure failure = {})
{
    detail::alike("jd::pmin", jd_pmin, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T pmin(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_pmin, me, axes, mine, failure);
}

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void pprod(shard me, c_text axes, const In &in, Out &&out,
                       on_failure failure = {})
{
    detail::alike("jd::pprod", jd_pprod, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T pprod(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_pprod, me, axes, mine, failure);
}

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void pand(shard me, c_text axes, const In &in, Out &&out,
                      on_failure failure = {})
{
    detail::alike("jd::pand", jd_pand, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T pand(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_pand, me, axes, mine, failure);
}

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void por(shard me, c_text axes, const In &in, Out &&out,
                     on_failure failure = {})
{
    detail::alike("jd::por", jd_por, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T por(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_por, me, axes, mine, failure);
}

template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void pxor(shard me, c_text axes, const In &in, Out &&out,
                      on_failure failure = {})
{
    detail::alike("jd::pxor", jd_pxor, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T pxor(shard me, c_text axes, T mine, on_failure failure = {})
{
    return detail::number(jd_pxor, me, axes, mine, failure);
}

/* A value, and the index that came with it. */
template <class T> struct located {
    T value;
    std::int64_t index;
};

/* out_index is whose each of out's values is, by jd_axis_index(); or, where
 * in_index is given, what came with it. */
template <class In, class Out, class Index, class = detail::if_buffer<Index>>
JD_IN_PLACE void pmaxloc(shard me, c_text axes, const In &in, Out &&out,
                         Index &&out_index, on_failure failure = {})
{
    detail::extreme("jd::pmaxloc", jd_pmaxloc, me, axes, in, nullptr, out,
                    out_index, failure);
}
template <class In, class Indices, class Out, class Index,
          class = detail::if_buffer<Index>>
JD_IN_PLACE void pmaxloc(shard me, c_text axes, const In &in,
                         const Indices &in_index, Out &&out, Index &&out_index,
                         on_failure failure = {})
{
    auto given = detail::elements(in_index);
    detail::same_element(given, span<std::int64_t>());
    if (detail::has_size("jd::pmaxloc", "in_index", given.size(),
                         detail::elements(in).size(), failure))
        detail::extreme("jd::pmaxloc", jd_pmaxloc, me, axes, in, given.data(),
                        out, out_index, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE located<T> pmaxloc(shard me, c_text axes, T mine,
                               on_failure failure = {})
{
    located<T> found = { mine, jd_axis_index(me.get(), axes) };
    detail::extreme("jd::pmaxloc", jd_pmaxloc, me, axes, mine, nullptr,
                    found.value, found.index, failure);
    return found;
}

template <class In, class Out, class Index, class = detail::if_buffer<Index>>
JD_IN_PLACE void pminloc(shard me, c_text axes, const In &in, Out &&out,
                         Index &&out_index, on_failure failure = {})
{
    detail::extreme("jd::pminloc", jd_pminloc, me, axes, in, nullptr, out,
                    out_index, failure);
}
template <class In, class Indices, class Out, class Index,
          class = detail::if_buffer<Index>>
JD_IN_PLACE void pminloc(shard me, c_text axes, const In &in,
                         const Indices &in_index, Out &&out, Index &&out_index,
                         on_failure failure = {})
{
    auto given = detail::elements(in_index);
    detail::same_element(given, span<std::int64_t>());
    if (detail::has_size("jd::pminloc", "in_index", given.size(),
                         detail::elements(in).size(), failure))
        detail::extreme("jd::pminloc", jd_pminloc, me, axes, in, given.data(),
                        out, out_index, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE located<T> pminloc(shard me, c_text axes, T mine,
                               on_failure failure = {})
{
    located<T> found = { mine, jd_axis_index(me.get(), axes) };
    detail::extreme("jd::pminloc", jd_pminloc, me, axes, mine, nullptr,
                    found.value, found.index, failure);
    return found;
}

/* join(a, b) is of two elements, of any type that may be copied as bytes,
 * and throws nothing. */
template <class In, class Out, class Join>
JD_IN_PLACE void preduce(shard me, c_text axes, const In &in, Out &&out,
                         Join join, on_failure failure = {})
{
    using element = std::remove_pointer_t<decltype(std::data(out))>;
    static_assert(std::is_trivially_copyable_v<element>,
                  "jd::preduce() moves elements as bytes: give it a type that "
                  "is trivially copyable");
    static_assert(
        std::is_same_v<
            std::remove_cv_t<std::remove_pointer_t<decltype(std::data(in))>>,
            element>,
        "in and out have elements of unlike types");
    auto call = [](void *into, const void *from, std::size_t count,
                   void *context) noexcept {
        auto *a = static_cast<element *>(into);
        auto *b = static_cast<const element *>(from);
        for (std::size_t i = 0; i < count; i++)
            a[i] = (*static_cast<Join *>(context))(a[i], b[i]);
    };
    if (detail::has_size("jd::preduce", "out", std::size(out), std::size(in),
                         failure))
        failure(jd_preduce(me.get(), axes, std::data(in), std::data(out),
                           std::size(in), sizeof(element), call, &join));
}

/* What the members up to this one, or before it, reduce to. */
template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void scan(shard me, c_text axes, const In &in, Out &&out, jd_op op,
                      jd_scan_kind kind = JD_SCAN_INCLUSIVE,
                      on_failure failure = {})
{
    auto call = [op, kind](jd_shard *shard, const char *names, const void *from,
                           void *to, std::size_t count, jd_dtype type) {
        return jd_scan(shard, names, from, to, count, type, op, kind);
    };
    detail::alike("jd::scan", call, me, axes, in, out, failure);
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T scan(shard me, c_text axes, T mine, jd_op op,
                   jd_scan_kind kind = JD_SCAN_INCLUSIVE,
                   on_failure failure = {})
{
    T all = mine;
    failure(jd_scan(me.get(), axes, &mine, &all, 1, dtype<T>(), op, kind));
    return all;
}

/* in is as long as the members' outs together. */
template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void psum_scatter(shard me, c_text axes, const In &in, Out &&out,
                              on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::blocks("jd::psum_scatter", jd_psum_scatter, me, axes, from, to,
                   to.size(), from.size(), "in", failure);
}

template <class In, class Out>
JD_IN_PLACE void psum_scatter_2d(shard me, c_text axes, const In &in, Out &&out,
                                 std::size_t rows, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    const char *name = "jd::psum_scatter_2d";
    if (detail::divides(name, "out", to.size(), rows, failure))
        detail::blocks(name, detail::of_rows(jd_psum_scatter_2d, rows), me,
                       axes, from, to, to.size(), from.size(), "in", failure);
}

/* ---- gathering and exchanging ------------------------------------------- */

/* out is as long as the members' ins together. */
template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void all_gather(shard me, c_text axes, const In &in, Out &&out,
                            on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::blocks("jd::all_gather", jd_all_gather, me, axes, from, to,
                   from.size(), to.size(), "out", failure);
}

/* The same into memory of its own; empty after a failure. */
template <class In>
JD_IN_PLACE auto all_gather(shard me, c_text axes, const In &in,
                            on_failure failure = {})
{
    auto from = detail::elements(in);
    using element = typename decltype(from)::value_type;
    static_assert(!std::is_same_v<element, bool>,
                  "a std::vector<bool> has no bools: give jd::all_gather() an "
                  "out, an array of bool");
    std::vector<element> all(from.size() * detail::members(me, axes));
    if (!failure(jd_all_gather(me.get(), axes, from.data(), all.data(),
                               from.size(), dtype<element>())))
        all.clear();
    return all;
}

template <class In, class Out>
JD_IN_PLACE void all_gather_2d(shard me, c_text axes, const In &in, Out &&out,
                               std::size_t rows, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    const char *name = "jd::all_gather_2d";
    if (detail::divides(name, "in", from.size(), rows, failure))
        detail::blocks(name, detail::of_rows(jd_all_gather_2d, rows), me, axes,
                       from, to, from.size(), to.size(), "out", failure);
}

/* in and out are as long as a block for each member. */
template <class In, class Out>
JD_IN_PLACE void all_to_all(shard me, c_text axes, const In &in, Out &&out,
                            on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    const char *name = "jd::all_to_all";
    std::size_t n = detail::members(me, axes);
    std::size_t each = n ? from.size() / n : 0;
    if ((n == 0 ||
         detail::has_size(name, "in", from.size(), each * n, failure)) &&
        detail::has_size(name, "out", to.size(), from.size(), failure))
        failure(jd_all_to_all(me.get(), axes, from.data(), to.data(), each,
                              dtype<element>()));
}

/* in and out are as long as each other: rows x columns. */
template <class In, class Out>
JD_IN_PLACE void all_to_all_2d(shard me, c_text axes, const In &in, Out &&out,
                               std::size_t rows, std::size_t columns,
                               int split_axis, int concat_axis,
                               on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    const char *name = "jd::all_to_all_2d";
    std::size_t size = rows * columns;
    if (detail::has_size(name, "in", from.size(), size, failure) &&
        detail::has_size(name, "out", to.size(), size, failure))
        failure(jd_all_to_all_2d(me.get(), axes, from.data(), to.data(), rows,
                                 columns, split_axis, concat_axis,
                                 dtype<element>()));
}

/* in and out are as long as each other: the shape's product. */
template <class In, class Out>
JD_IN_PLACE void all_to_all_nd(shard me, c_text axes, const In &in, Out &&out,
                               span<const std::int64_t> shape, int split_axis,
                               int concat_axis, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    const char *name = "jd::all_to_all_nd";
    std::size_t size = 1;
    bool is_shape = true; /* else that is what C says */
    for (std::int64_t length : shape) {
        size *= static_cast<std::size_t>(length);
        is_shape = is_shape && length >= 0;
    }
    if (!is_shape ||
        (detail::has_size(name, "in", from.size(), size, failure) &&
         detail::has_size(name, "out", to.size(), size, failure)))
        failure(jd_all_to_all_nd(me.get(), axes, from.data(), to.data(),
                                 static_cast<int>(shape.size()), shape.data(),
                                 split_axis, concat_axis, dtype<element>()));
}

/* What jd_ragged_all_to_all() exchanges: lists of as many entries each. */
struct ragged {
    span<const std::int64_t> input_offsets;
    span<const std::int64_t> send_sizes;
    span<const std::int64_t> output_offsets;
    span<const std::int64_t> recv_sizes;
};

/* Rows are of row_count elements. */
template <class In, class Out>
JD_IN_PLACE void ragged_all_to_all(shard me, c_text axes, const In &in,
                                   Out &&out, std::size_t row_count,
                                   const ragged &pieces,
                                   on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    const char *name = "jd::ragged_all_to_all";
    std::size_t entries = pieces.send_sizes.size();
    for (auto *list :
         { &pieces.input_offsets, &pieces.output_offsets, &pieces.recv_sizes })
        if (!detail::has_size(name, "one of the lists", list->size(), entries,
                              failure))
            return;
    std::size_t unit = row_count ? row_count : 1;
    failure(jd_ragged_all_to_all(
        me.get(), axes, from.data(), from.size() / unit, to.data(),
        to.size() / unit, row_count, pieces.input_offsets.data(),
        pieces.send_sizes.data(), pieces.output_offsets.data(),
        pieces.recv_sizes.data(), static_cast<int>(entries), dtype<element>()));
}

/* counts has a number for each member, in's own among them; out is as long as
 * all of them together. */
template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void ragged_all_gather(shard me, c_text axes, const In &in,
                                   Out &&out, span<const std::int64_t> counts,
                                   on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    const char *name = "jd::ragged_all_gather";
    std::size_t n = detail::members(me, axes), all = 0;
    for (std::int64_t count : counts)
        all += static_cast<std::size_t>(count);
    if ((n == 0 ||
         detail::has_size(name, "counts", counts.size(), n, failure)) &&
        detail::has_size(name, "out", to.size(), all, failure))
        failure(jd_ragged_all_gather(me.get(), axes, from.data(), from.size(),
                                     to.data(), counts.data(),
                                     dtype<element>()));
}

/* ---- moving ------------------------------------------------------------- */

using routes = span<const jd_route>;

template <class In, class Out>
JD_IN_PLACE void ppermute(shard me, c_text axes, const In &in, Out &&out,
                          routes list, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    if (detail::has_size("jd::ppermute", "out", to.size(), from.size(),
                         failure))
        failure(jd_ppermute(me.get(), axes, from.data(), to.data(), from.size(),
                            dtype<element>(), list.data(),
                            static_cast<int>(list.size())));
}

template <class In, class Out>
JD_IN_PLACE void ppermute_keep(shard me, c_text axes, const In &in, Out &&out,
                               routes list, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    if (detail::has_size("jd::ppermute_keep", "out", to.size(), from.size(),
                         failure))
        failure(jd_ppermute_keep(me.get(), axes, from.data(), to.data(),
                                 from.size(), dtype<element>(), list.data(),
                                 static_cast<int>(list.size())));
}

/* permutation has a number for each member. */
template <class In, class Out>
JD_IN_PLACE void pshuffle(shard me, c_text axes, const In &in, Out &&out,
                          span<const int> permutation, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    const char *name = "jd::pshuffle";
    std::size_t n = detail::members(me, axes);
    if ((n == 0 || detail::has_size(name, "permutation", permutation.size(), n,
                                    failure)) &&
        detail::has_size(name, "out", to.size(), from.size(), failure))
        failure(jd_pshuffle(me.get(), axes, from.data(), to.data(), from.size(),
                            dtype<element>(), permutation.data()));
}

template <class In, class Out>
JD_IN_PLACE void shift(shard me, c_text axes, int by, const In &in, Out &&out,
                       jd_edge edge, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    if (detail::has_size("jd::shift", "out", to.size(), from.size(), failure))
        failure(jd_shift(me.get(), axes, by, from.data(), to.data(),
                         from.size(), dtype<element>(), edge));
}

/* in is read on source alone, but is as long as out everywhere. */
template <class In, class Out, class = detail::if_buffer<Out>>
JD_IN_PLACE void pbroadcast(shard me, c_text axes, int source, const In &in,
                            Out &&out, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    detail::same_element(from, to);
    using element = typename decltype(to)::element_type;
    if (detail::has_size("jd::pbroadcast", "out", to.size(), from.size(),
                         failure))
        failure(jd_pbroadcast(me.get(), axes, source, from.data(), to.data(),
                              from.size(), dtype<element>()));
}
template <class T, class = detail::if_number<T>>
JD_IN_PLACE T pbroadcast(shard me, c_text axes, int source, T mine,
                         on_failure failure = {})
{
    T value = mine;
    failure(
        jd_pbroadcast(me.get(), axes, source, &mine, &value, 1, dtype<T>()));
    return value;
}

/* ---- sends and receives ------------------------------------------------- */

template <class In>
JD_IN_PLACE void send(shard me, c_text axes, int to, const In &in,
                      on_failure failure = {})
{
    auto from = detail::elements(in);
    using element = typename decltype(from)::element_type;
    failure(jd_send(me.get(), axes, to, from.data(), from.size(),
                    dtype<element>()));
}

template <class Out>
JD_IN_PLACE void recv(shard me, c_text axes, int from, Out &&out,
                      on_failure failure = {})
{
    auto to = detail::writable(out);
    using element = typename decltype(to)::element_type;
    failure(
        jd_recv(me.get(), axes, from, to.data(), to.size(), dtype<element>()));
}

template <class In>
JD_IN_PLACE void send_tagged(shard me, c_text axes, int to, std::int32_t tag,
                             const In &in, on_failure failure = {})
{
    auto from = detail::elements(in);
    using element = typename decltype(from)::element_type;
    failure(jd_send_tagged(me.get(), axes, to, tag, from.data(), from.size(),
                           dtype<element>()));
}

template <class Out>
JD_IN_PLACE void recv_tagged(shard me, c_text axes, int from, std::int32_t tag,
                             Out &&out, on_failure failure = {})
{
    auto to = detail::writable(out);
    using element = typename decltype(to)::element_type;
    failure(jd_recv_tagged(me.get(), axes, from, tag, to.data(), to.size(),
                           dtype<element>()));
}

/* out has room for what comes; count is how much came. In a group it is known
 * when that has ended, and lives until then. */
template <class Out>
JD_IN_PLACE void recv_any_size(shard me, c_text axes, int from, Out &&out,
                               std::size_t &count, on_failure failure = {})
{
    auto to = detail::writable(out);
    using element = typename decltype(to)::element_type;
    failure(jd_recv_any_size(me.get(), axes, from, to.data(), to.size(), &count,
                             dtype<element>()));
}

/* in and out may have unlike lengths. */
template <class In, class Out>
JD_IN_PLACE void sendrecv(shard me, c_text axes, int to, const In &in, int from,
                          Out &&out, on_failure failure = {})
{
    auto sent = detail::elements(in);
    auto received = detail::writable(out);
    detail::same_element(sent, received);
    using element = typename decltype(received)::element_type;
    failure(jd_sendrecv(me.get(), axes, to, sent.data(), sent.size(), from,
                        received.data(), received.size(), dtype<element>()));
}

/*
 * Sends and receives that the body notes, from jd_group_begin() to
 * jd_group_end(). An exception of the body passes through, and the group stays
 * open: what it has noted is not waited for, and this shard can take no more
 * collectives.
 */
template <class Body>
JD_IN_PLACE void group(shard me, Body &&body, on_failure failure = {})
{
    if (!failure(jd_group_begin(me.get())))
        return;
    body();
    failure(jd_group_end(me.get()));
}

/* ---- waiting ------------------------------------------------------------ */

JD_IN_PLACE void barrier(shard me, c_text axes, on_failure failure = {})
{
    failure(jd_barrier(me.get(), axes));
}

JD_IN_PLACE void shard_synchronize(shard me, on_failure failure = {})
{
    failure(jd_shard_synchronize(me.get()));
}

/* A cudaStream_t; on cpu there is none. */
JD_IN_PLACE void *shard_stream(shard me, on_failure failure = {})
{
    void *stream = jd_shard_stream(me.get());
    jd_status code = me ? JD_UNIMPLEMENTED : JD_INVALID_ARGUMENT;
    return detail::value_or(stream != nullptr, code, stream, failure);
}

JD_IN_PLACE void shard_use_stream(shard me, void *stream,
                                  on_failure failure = {})
{
    failure(jd_shard_use_stream(me.get(), stream));
}

} // namespace jd

#endif
