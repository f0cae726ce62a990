/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_checkpoint.hpp - arrays saved in a directory, and restored on other
 * devices.
 *
 *     jd::array_save("run/checkpoint", { { "weights", a }, { "step", b } });
 *     std::vector<jd::array> arrays = jd::array_restore(
 *         "run/checkpoint", { { "weights", rows }, { "step", everywhere } });
 */
#ifndef JD_CHECKPOINT_HPP
#define JD_CHECKPOINT_HPP

#include "jd_array.hpp"
#include "jd_checkpoint.h"

#include <vector>

namespace jd
{

/* An array under its name; a name, and how its array is to lie. */
struct named_array {
    const char *name;
    const jd::array &array;
};
struct named_sharding {
    const char *name;
    sharding_ref sharding;
};

JD_IN_PLACE void array_save(c_text dir, span<const named_array> arrays,
                            on_failure failure = {})
{
    std::vector<const char *> names;
    std::vector<jd_array *> all;
    for (const named_array &each : arrays) {
        names.push_back(each.name);
        all.push_back(each.array.get());
    }
    failure(jd_array_save(dir, names.data(), all.data(), all.size()));
}

/* In the order of the names; empty after a failure, of which JD_NOT_FOUND says
 * that no checkpoint is there. */
JD_IN_PLACE std::vector<array> array_restore(c_text dir,
                                             span<const named_sharding> wanted,
                                             on_failure failure = {})
{
    std::vector<const char *> names;
    std::vector<jd_sharding *> shardings;
    std::vector<jd_array *> made(wanted.size());
    std::vector<array> all;
    all.reserve(wanted.size());
    for (const named_sharding &each : wanted) {
        names.push_back(each.name);
        shardings.push_back(const_cast<jd_sharding *>(each.sharding.get()));
    }
    if (failure(jd_array_restore(dir, names.data(), shardings.data(),
                                 shardings.size(), made.data())))
        for (jd_array *each : made)
            all.emplace_back(each);
    return all;
}

/* What is in a checkpoint, without the values. */
class checkpoint
{
  public:
    explicit checkpoint(c_text dir, on_failure failure = {})
    {
        failure(jd_checkpoint_open(&checkpoint_, dir));
    }

    explicit checkpoint(jd_checkpoint *taken_over) noexcept
        : checkpoint_(taken_over)
    {
    }

    checkpoint(checkpoint &&other) noexcept : checkpoint_(other.release())
    {
    }

    checkpoint &operator=(checkpoint &&other) noexcept
    {
        checkpoint taken(std::move(other));
        std::swap(checkpoint_, taken.checkpoint_);
        return *this;
    }

    ~checkpoint()
    {
        jd_checkpoint_close(checkpoint_);
    }

    explicit operator bool() const noexcept
    {
        return checkpoint_ != nullptr;
    }
    jd_checkpoint *get() const noexcept
    {
        return checkpoint_;
    }
    jd_checkpoint *release() noexcept
    {
        return std::exchange(checkpoint_, nullptr);
    }

    std::size_t count() const noexcept
    {
        return jd_checkpoint_count(checkpoint_);
    }

    /* NULL where there is none of that number. */
    const char *name(std::size_t i) const noexcept
    {
        return jd_checkpoint_name(checkpoint_, i);
    }

    /* Type and shape: jd_leaf is C's, its data is NULL. */
    jd_leaf leaf(c_text name, on_failure failure = {}) const
    {
        jd_leaf described = {};
        failure(jd_checkpoint_leaf(checkpoint_, name, &described));
        return described;
    }

    /* Of the array of that name, or of all. */
    void verify(c_text name = nullptr, on_failure failure = {}) const
    {
        failure(jd_checkpoint_verify(checkpoint_, name));
    }

  private:
    jd_checkpoint *checkpoint_ = nullptr;
};

} // namespace jd

#endif
