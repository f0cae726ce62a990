/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_dtype.hpp - the program's element types and buffers as jd takes them.
 *
 *     std::vector<float> gradient(n);
 *     jd::psum(me, "data", gradient, gradient); // JD_F32, n elements
 *     jd::psum(me, "data", jd::span(p, n), jd::span(q, n));
 *
 * The types: bool, the integers of up to 8 bytes, float, double,
 * std::complex of them, and _Float16 and __bf16 where the compiler has them.
 * Another one is told to jd once:
 *
 *     template <>
 *     struct jd::dtype_of<my_float8> : jd::dtype_constant<JD_F8E4M3FN> {};
 */
#ifndef JD_DTYPE_HPP
#define JD_DTYPE_HPP

#include "jd_dtype.h"
#include "jd_status.hpp"

#include <complex>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <type_traits>

/* x86's clang has __bf16 without a macro that says so. */
#if defined(__BFLT16_MANT_DIG__) || defined(__ARM_BF16_FORMAT_ALTERNATIVE) ||  \
    (defined(__clang__) && __clang_major__ >= 17 && defined(__SSE2__))
#define JD_HPP_HAS_BF16 1
#endif

namespace jd
{

template <jd_dtype code>
struct dtype_constant : std::integral_constant<jd_dtype, code> {
};

namespace detail
{

constexpr jd_dtype integer_dtype(bool is_signed, std::size_t bytes)
{
    return bytes == 1   ? (is_signed ? JD_S8 : JD_U8)
           : bytes == 2 ? (is_signed ? JD_S16 : JD_U16)
           : bytes == 4 ? (is_signed ? JD_S32 : JD_U32)
                        : (is_signed ? JD_S64 : JD_U64);
}

} // namespace detail

/* The jd_dtype of a type of C++; without a value where there is none. */
template <class T, class = void> struct dtype_of {
};

template <class T>
struct dtype_of<T, std::enable_if_t<std::is_integral_v<T> && sizeof(T) <= 8>>
    : dtype_constant<detail::integer_dtype(std::is_signed_v<T>, sizeof(T))> {
};

template <> struct dtype_of<bool> : dtype_constant<JD_PRED> {
    static_assert(sizeof(bool) == 1, "a bool is no JD_PRED here");
};
template <> struct dtype_of<float> : dtype_constant<JD_F32> {
};
template <> struct dtype_of<double> : dtype_constant<JD_F64> {
};
template <> struct dtype_of<std::complex<float>> : dtype_constant<JD_C64> {
};
template <> struct dtype_of<std::complex<double>> : dtype_constant<JD_C128> {
};
#ifdef __FLT16_MANT_DIG__
template <> struct dtype_of<_Float16> : dtype_constant<JD_F16> {
};
#endif
#ifdef JD_HPP_HAS_BF16
template <> struct dtype_of<__bf16> : dtype_constant<JD_BF16> {
};
#endif

namespace detail
{

template <class T, class = void> struct is_known : std::false_type {
};
template <class T>
struct is_known<T, std::void_t<decltype(dtype_of<T>::value)>> : std::true_type {
};

} // namespace detail

template <class T> inline constexpr bool has_dtype = detail::is_known<T>::value;

/* The jd_dtype of T, const or not: jd::dtype<float>() is JD_F32. */
template <class T> constexpr jd_dtype dtype()
{
    using element = std::remove_cv_t<T>;
    static_assert(has_dtype<element>,
                  "jd has no type like this one: specialise jd::dtype_of "
                  "(jd_dtype.hpp) where its bits are those of a jd_dtype");
    return dtype_of<element>::value;
}

/*
 * A pointer and a count, as std::span, which C++17 has not. Does not own. One
 * of const elements is made from braces too, which is meant for arguments.
 */
template <class T> class span
{
    template <class C>
    using pointer_of = decltype(std::data(std::declval<C &>()));
    template <class C>
    using if_fits = std::enable_if_t<
        !std::is_array_v<std::remove_reference_t<C>> &&
        std::is_convertible_v<std::remove_pointer_t<pointer_of<C>> (*)[],
                              T (*)[]>>;

  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr span() noexcept = default;

    constexpr span(T *data, std::size_t size) noexcept
        : data_(data), size_(size)
    {
    }

    template <std::size_t n>
    constexpr span(T (&array)[n]) noexcept : data_(array), size_(n)
    {
    }

    template <class C, class = if_fits<C>>
    constexpr span(C &&container)
        : data_(std::data(container)), size_(std::size(container))
    {
    }

    template <class U = T, class = std::enable_if_t<std::is_const_v<U>>>
    constexpr span(const std::initializer_list<value_type> &list) noexcept
        : data_(std::data(list)), size_(list.size())
    {
    }

    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return size_;
    }
    constexpr bool empty() const noexcept
    {
        return size_ == 0;
    }
    constexpr T *begin() const noexcept
    {
        return data_;
    }
    constexpr T *end() const noexcept
    {
        return data_ + size_;
    }
    constexpr T &operator[](std::size_t i) const
    {
        return data_[i];
    }
    constexpr span subspan(std::size_t first, std::size_t count) const
    {
        return { data_ + first, count };
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

template <class C>
span(C &&)
    -> span<std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>>;

namespace detail
{

template <class T, class = void> struct has_data : std::false_type {
};
template <class T>
struct has_data<T, std::void_t<decltype(std::data(std::declval<T &>())),
                               decltype(std::size(std::declval<T &>()))>>
    : std::true_type {
};

template <class T>
using if_buffer = std::enable_if_t<
    !std::is_same_v<std::remove_cv_t<std::remove_reference_t<T>>, status>>;
template <class T>
using if_number = std::enable_if_t<has_dtype<std::remove_cv_t<T>>>;

/* A number, an array of any dimensions, or a container, as a span. */
template <class X> constexpr auto elements(X &x)
{
    if constexpr (std::is_array_v<X>) {
        using element = std::remove_all_extents_t<X>;
        dtype<element>();
        return span<element>(reinterpret_cast<element *>(&x),
                             sizeof(X) / sizeof(element));
    } else if constexpr (has_dtype<std::remove_cv_t<X>>) {
        return span<X>(&x, 1);
    } else {
        static_assert(has_data<X>::value,
                      "jd takes elements as an array, something with data() "
                      "and size(), one number, or jd::span(pointer, count)");
        using element = std::remove_pointer_t<decltype(std::data(x))>;
        dtype<element>();
        return span<element>(std::data(x), std::size(x));
    }
}

/* Where a call writes, into a temporary view too. */
template <class X> auto writable(X &x)
{
    auto out = elements(x);
    static_assert(!std::is_const_v<typename decltype(out)::element_type>,
                  "jd would write into elements that are const");
    return out;
}

template <class A, class B> constexpr void same_element(span<A>, span<B>)
{
    static_assert(std::is_same_v<std::remove_cv_t<A>, std::remove_cv_t<B>>,
                  "in and out have elements of unlike types; jd::convert() "
                  "makes one of the other");
}

/* Refuses a buffer whose length is not the one that the call needs. */
inline bool has_size(const char *call, const char *buffer, std::size_t size,
                     std::size_t wanted, on_failure failure)
{
    if (size == wanted)
        return true;
    failure(jd_fail_with(JD_INVALID_ARGUMENT,
                         "%s: %s has %zu elements; this call needs %zu", call,
                         buffer, size, wanted));
    return false;
}

} // namespace detail

/* jd_convert: from the elements' type to the other's. */
template <class In, class Out>
void convert(const In &in, Out &&out, on_failure failure = {})
{
    auto from = detail::elements(in);
    auto to = detail::writable(out);
    using from_t = typename decltype(from)::element_type;
    using to_t = typename decltype(to)::element_type;
    if (detail::has_size("jd::convert", "out", to.size(), from.size(), failure))
        failure(jd_convert(from.data(), dtype<from_t>(), to.data(),
                           dtype<to_t>(), from.size()));
}

} // namespace jd

#endif
