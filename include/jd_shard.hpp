/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_shard.hpp - one local device's place in a mesh.
 *
 *     jd::shard_map(mesh, [&](jd::shard me) {
 *         jd::psum(me, "data", in, out);
 *     });
 *
 *     jd::shard me = mesh.shard(); // of a process with one device
 */
#ifndef JD_SHARD_HPP
#define JD_SHARD_HPP

#include "jd_mesh.hpp"
#include "jd_shard.h"

#include <vector>

namespace jd
{

/* A shard, which is its mesh's: copied like a pointer. */
class shard
{
  public:
    shard(jd_shard *of_a_mesh = nullptr) noexcept : shard_(of_a_mesh)
    {
    }

    explicit operator bool() const noexcept
    {
        return shard_ != nullptr;
    }
    jd_shard *get() const noexcept
    {
        return shard_;
    }

    /* jd_axis_index, jd_axis_size: NULL is all axes. */
    int index(c_text axes, on_failure failure = {}) const
    {
        int i = jd_axis_index(shard_, axes);
        return detail::value_or(i >= 0, JD_INVALID_ARGUMENT, i, failure);
    }

    int size(c_text axes, on_failure failure = {}) const
    {
        int n = jd_axis_size(shard_, axes);
        return detail::value_or(n >= 0, JD_INVALID_ARGUMENT, n, failure);
    }

    /* As many as the mesh has axes. */
    template <class Coordinates>
    void coordinates(Coordinates &&out, on_failure failure = {}) const
    {
        span<int> places(out);
        failure(jd_shard_coordinates(shard_, static_cast<int>(places.size()),
                                     places.data()));
    }

    const jd_device *device(on_failure failure = {}) const
    {
        const jd_device *device = jd_shard_device(shard_);
        jd_status code = shard_ ? JD_FAILED_PRECONDITION : JD_INVALID_ARGUMENT;
        return detail::value_or(device != nullptr, code, device, failure);
    }

    /* jd_shard_groups: each group is the list of its members' indices. */
    shard groups(c_text axes, const std::vector<std::vector<int>> &groups,
                 on_failure failure = {}) const
    {
        std::vector<int> sizes, indices;
        for (const std::vector<int> &group : groups) {
            sizes.push_back(static_cast<int>(group.size()));
            indices.insert(indices.end(), group.begin(), group.end());
        }
        jd_shard *derived = nullptr;
        failure(jd_shard_groups(&derived, shard_, axes,
                                static_cast<int>(sizes.size()), sizes.data(),
                                indices.data()));
        return derived;
    }

  private:
    jd_shard *shard_;
};

inline shard mesh::shard(on_failure failure) const
{
    jd_shard *only = jd_mesh_shard(mesh_);
    return detail::value_or(only != nullptr, JD_INVALID_ARGUMENT, only,
                            failure);
}

/*
 * jd_shard_map: runs body(shard) for every device of this process in the mesh.
 * The body returns nothing, or a jd_status. What one throws ends the others, as
 * a status does: they and the other processes get its what(). This call then
 * throws it again; a jd::error with the device in front.
 */
template <class Body>
void shard_map(const mesh &mesh, Body &&body, on_failure failure = {})
{
    struct call {
        Body &body;
        detail::carrier carrier;
    } all{ body, {} };
    auto run_one = [](jd_shard *shard, void *arg) {
        auto *self = static_cast<call *>(arg);
        return self->carrier.run([&] { return self->body(jd::shard(shard)); });
    };
    jd_status code = jd_shard_map(mesh.get(), run_one, &all);
    all.carrier.finish(code, failure);
}

} // namespace jd

#endif
