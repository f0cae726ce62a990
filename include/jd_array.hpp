/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_array.hpp - arrays that are spread over the devices of a mesh.
 *
 *     jd::sharding rows(mesh, "data,-"), columns(mesh, "-,data");
 *     jd::array a = jd::device_put(jd::leaf(values, { 64, 10 }), rows);
 *     jd::array b = a.reshard(columns);
 *     b.visualize(stdout);
 *
 * Nothing here is collective in its destructor.
 */
#ifndef JD_ARRAY_HPP
#define JD_ARRAY_HPP

#include "jd_array.h"
#include "jd_memory.hpp"
#include "jd_multihost.hpp"
#include "jd_shard.hpp"

#include <cstdio>
#include <utility>
#include <vector>

namespace jd
{

/* The block of an array that a device has: a range of each dimension. */
struct block_index {
    std::vector<jd_range> index;
    int replica_id = 0;
};

/* A sharding that belongs to another: to a jd::sharding, or to an array. */
class sharding_ref
{
  public:
    sharding_ref(const jd_sharding *sharding) noexcept : sharding_(sharding)
    {
    }

    explicit operator bool() const noexcept
    {
        return sharding_ != nullptr;
    }
    const jd_sharding *get() const noexcept
    {
        return sharding_;
    }

    const char *spec() const noexcept
    {
        return jd_sharding_spec(sharding_);
    }
    bool is_fully_replicated() const noexcept
    {
        return jd_sharding_is_fully_replicated(sharding_) != 0;
    }
    bool is_fully_addressable() const noexcept
    {
        return jd_sharding_is_fully_addressable(sharding_) != 0;
    }
    bool is_equivalent(sharding_ref other, int ndim) const noexcept
    {
        return jd_sharding_is_equivalent(sharding_, other.get(), ndim) != 0;
    }

    /* jd_sharding_mesh: a mesh of the caller's. */
    jd::mesh mesh(on_failure failure = {}) const
    {
        jd_mesh *like = nullptr;
        failure(jd_sharding_mesh(&like, sharding_));
        return jd::mesh(like);
    }

    block_index index(jd::extents lengths, const jd_device *device,
                      on_failure failure = {}) const
    {
        block_index block;
        block.index.resize(lengths.size());
        failure(jd_sharding_index(sharding_, static_cast<int>(lengths.size()),
                                  lengths.data(), device, block.index.data(),
                                  &block.replica_id));
        return block;
    }

    std::vector<std::int64_t> shard_shape(jd::extents lengths,
                                          on_failure failure = {}) const
    {
        std::vector<std::int64_t> longest(lengths.size());
        failure(jd_sharding_shard_shape(sharding_,
                                        static_cast<int>(lengths.size()),
                                        lengths.data(), longest.data()));
        return longest;
    }

    /* jd_visualize_sharding. */
    void visualize(jd::extents lengths, std::FILE *out,
                   on_failure failure = {}) const
    {
        failure(jd_visualize_sharding(
            sharding_, static_cast<int>(lengths.size()), lengths.data(), out));
    }

    void visualize_svg(jd::extents lengths, std::FILE *out,
                       on_failure failure = {}) const
    {
        failure(jd_visualize_sharding_svg(
            sharding_, static_cast<int>(lengths.size()), lengths.data(), out));
    }

  protected:
    const jd_sharding *sharding_ = nullptr;
};

/* Owns a sharding: how the dimensions of arrays are cut along a mesh's axes. */
class sharding : public sharding_ref
{
  public:
    sharding() noexcept : sharding_ref(nullptr)
    {
    }

    sharding(const jd::mesh &mesh, c_text spec, on_failure failure = {})
        : sharding()
    {
        jd_sharding *made = nullptr;
        failure(jd_sharding_create(&made, mesh.get(), spec));
        sharding_ = made;
    }

    explicit sharding(jd_sharding *taken_over) noexcept
        : sharding_ref(taken_over)
    {
    }

    /* jd_sharding_create_even: refuses what does not divide. */
    static sharding even(const jd::mesh &mesh, c_text spec,
                         on_failure failure = {})
    {
        jd_sharding *made = nullptr;
        failure(jd_sharding_create_even(&made, mesh.get(), spec));
        return sharding(made);
    }

    sharding(sharding &&other) noexcept : sharding_ref(other.release())
    {
    }

    sharding &operator=(sharding &&other) noexcept
    {
        sharding taken(std::move(other));
        std::swap(sharding_, taken.sharding_);
        return *this;
    }

    ~sharding()
    {
        jd_sharding_release(get());
    }

    jd_sharding *get() const noexcept
    {
        return const_cast<jd_sharding *>(sharding_);
    }
    jd_sharding *release() noexcept
    {
        jd_sharding *given = get();
        sharding_ = nullptr;
        return given;
    }
};

/* A reference to an array: copies share it, the last one frees it. Where an
 * array is empty, C's calls refuse it. */
class array
{
  public:
    array() noexcept = default;

    explicit array(jd_array *taken_over) noexcept : array_(taken_over)
    {
    }

    array(const array &other) noexcept : array_(jd_array_retain(other.array_))
    {
    }

    array(array &&other) noexcept : array_(other.release())
    {
    }

    array &operator=(array other) noexcept
    {
        std::swap(array_, other.array_);
        return *this;
    }

    ~array()
    {
        jd_array_release(array_);
    }

    explicit operator bool() const noexcept
    {
        return array_ != nullptr;
    }
    jd_array *get() const noexcept
    {
        return array_;
    }
    jd_array *release() noexcept
    {
        return std::exchange(array_, nullptr);
    }

    jd_dtype dtype() const noexcept
    {
        return jd_array_dtype(array_);
    }
    int ndim() const noexcept
    {
        return jd_array_ndim(array_);
    }
    jd::extents shape() const noexcept
    {
        int n = ndim();
        return { jd_array_shape(array_), n > 0 ? static_cast<size_t>(n) : 0 };
    }
    sharding_ref sharding() const noexcept
    {
        return jd_array_sharding(array_);
    }

    /* The blocks of this process's devices, the array's. */
    span<const jd_array_shard> shards() const noexcept
    {
        int count = 0;
        const jd_array_shard *all = jd_array_shards(array_, &count);
        return { all, static_cast<std::size_t>(count) };
    }

    /* Without communication: this process has all of it. */
    void to_host(const leaf &out, on_failure failure = {}) const
    {
        jd_leaf whole = out.get();
        failure(jd_array_to_host(array_, &whole));
    }

    array reshard(sharding_ref to, on_failure failure = {}) const
    {
        jd_array *moved = nullptr;
        failure(jd_array_reshard(&moved, array_, to.get()));
        return array(moved);
    }

    /* The same of this one: it becomes what lies as the sharding says. */
    void reshard_donate(sharding_ref to, on_failure failure = {})
    {
        failure(jd_array_reshard_donate(&array_, to.get()));
    }

    /* what begins the sentence; NULL is allowed. */
    void assert_replicas_equal(c_text what = nullptr,
                               const jd_equality &equality = jd_equality(),
                               on_failure failure = {}) const
    {
        failure(jd_array_assert_replicas_equal(array_, what, &equality,
                                               sizeof equality));
    }

    /* jd_visualize_array_sharding. */
    void visualize(std::FILE *out, on_failure failure = {}) const
    {
        failure(jd_visualize_array_sharding(array_, out));
    }

    void visualize_svg(std::FILE *out, on_failure failure = {}) const
    {
        failure(jd_visualize_array_sharding_svg(array_, out));
    }

  private:
    jd_array *array_ = nullptr;
};

/* ---- making them -------------------------------------------------------- */

inline array array_zeros(sharding_ref sharding, jd_dtype dtype, extents lengths,
                         on_failure failure = {})
{
    jd_array *made = nullptr;
    failure(jd_array_zeros(&made, sharding.get(), dtype,
                           static_cast<int>(lengths.size()), lengths.data()));
    return array(made);
}

template <class T>
array array_zeros(sharding_ref sharding, extents lengths,
                  on_failure failure = {})
{
    return array_zeros(sharding, dtype<T>(), lengths, failure);
}

/*
 * fill(index, block): a range of each dimension, and the elements to write,
 * row-major and zeroed. It returns nothing, or a jd_status; what it throws
 * ends the call, which throws it again.
 *
 *     auto squares = jd::array_from_callback<double>(
 *         rows, { n }, [](auto index, jd::span<double> block) {
 *             for (std::size_t i = 0; i < block.size(); i++)
 *                 block[i] = square(index[0].begin + std::int64_t(i));
 *         });
 */
template <class T, class Fill>
array array_from_callback(sharding_ref sharding, extents lengths, Fill &&fill,
                          on_failure failure = {})
{
    struct call {
        Fill &fill;
        detail::carrier carrier;
    } all{ fill, {} };
    auto run_one = [](const jd_block *block, void *arg) {
        auto *self = static_cast<call *>(arg);
        span<const jd_range> index(block->index,
                                   static_cast<std::size_t>(block->ndim));
        span<T> elements(static_cast<T *>(block->data), block->count);
        return self->carrier.run([&] { return self->fill(index, elements); });
    };
    jd_array *made = nullptr;
    jd_status code = jd_array_from_blocks(&made, sharding.get(), dtype<T>(),
                                          static_cast<int>(lengths.size()),
                                          lengths.data(), run_one, &all);
    all.carrier.finish(code, failure);
    return array(made);
}

/* Without lengths the whole is worked out. */
inline array array_from_process_local_data(sharding_ref sharding,
                                           const leaf &local,
                                           extents whole = {},
                                           on_failure failure = {})
{
    jd_leaf own = local.get();
    jd_array *made = nullptr;
    bool is_given = whole.data() != nullptr;
    if (!is_given ||
        detail::has_size("jd::array_from_process_local_data",
                         "the global shape", whole.size(),
                         static_cast<std::size_t>(own.ndim), failure))
        failure(jd_array_from_process_local_data(&made, sharding.get(), &own,
                                                 whole.data()));
    return array(made);
}

/* The array owns the blocks from then on; after a failure they stay the
 * caller's. */
template <class T>
array array_from_shards(sharding_ref sharding, extents lengths,
                        std::vector<device_memory<T>> &&blocks,
                        on_failure failure = {})
{
    std::vector<void *> buffers;
    for (const device_memory<T> &block : blocks)
        buffers.push_back(block.data());
    jd_array *made = nullptr;
    if (failure(jd_array_from_shards(
            &made, sharding.get(), dtype<T>(), static_cast<int>(lengths.size()),
            lengths.data(), buffers.data(), static_cast<int>(buffers.size()))))
        for (device_memory<T> &block : blocks)
            block.release();
    return array(made);
}

inline array device_put(const leaf &value, sharding_ref sharding,
                        on_failure failure = {})
{
    jd_leaf whole = value.get();
    jd_array *made = nullptr;
    failure(jd_device_put(&made, &whole, sharding.get()));
    return array(made);
}

/* A value that process source alone has; the others say its type and shape by a
 * jd_leaf without data. */
inline array array_from_one(sharding_ref sharding, const leaf &value,
                            int source, on_failure failure = {})
{
    jd_leaf whole = value.get();
    jd_array *made = nullptr;
    failure(jd_array_from_one(&made, sharding.get(), &whole, source));
    return array(made);
}

/* ---- between arrays and processes' values ------------------------------- */

inline void process_allgather(const array &array, const leaf &out,
                              on_failure failure = {})
{
    jd_leaf whole = out.get();
    failure(jd_process_allgather_array(array.get(), &whole));
}

/* Only root's out is looked at. */
inline void process_gather(const array &array, const leaf &out, int root,
                           on_failure failure = {})
{
    jd_leaf whole = out.get();
    failure(jd_process_gather_array(array.get(), &whole, root));
}

inline array host_local_array_to_global_array(const leaf &local,
                                              const mesh &mesh, c_text spec,
                                              on_failure failure = {})
{
    jd_leaf own = local.get();
    jd_array *made = nullptr;
    failure(jd_host_local_array_to_global_array(&made, &own, mesh.get(), spec));
    return array(made);
}

inline void global_array_to_host_local_array(const array &array,
                                             const mesh &mesh, c_text spec,
                                             const leaf &out,
                                             on_failure failure = {})
{
    jd_leaf own = out.get();
    failure(jd_global_array_to_host_local_array(array.get(), mesh.get(), spec,
                                                &own));
}

} // namespace jd

#endif
