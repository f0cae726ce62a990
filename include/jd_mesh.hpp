/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_mesh.hpp - devices arranged along named axes.
 *
 *     jd::mesh mesh({ { "rows", 2 }, { "columns", -1 } });
 *     mesh.visualize(stdout);
 */
#ifndef JD_MESH_HPP
#define JD_MESH_HPP

#include "jd_device.hpp"
#include "jd_mesh.h"

#include <cstdio>
#include <utility>
#include <vector>

namespace jd
{

/* An axis of a mesh: one size may be -1, what is left of all devices. */
struct axis {
    const char *name;
    int size;
};

class shard;

namespace detail
{

/* The meshes that an exception has unwound, until jd::shutdown(): to destroy
 * one before that is collective. Never destroyed itself, as threads may still
 * run when a program ends. */
class kept_meshes
{
  public:
    static void keep(jd_mesh *mesh) noexcept
    {
        try {
            kept_meshes &all = instance();
            std::lock_guard<std::mutex> guard(all.lock_);
            all.meshes_.push_back(mesh);
        } catch (...) {
            /* No memory: then it is kept until the process ends. */
        }
    }

    static void give_back() noexcept
    {
        kept_meshes &all = instance();
        std::lock_guard<std::mutex> guard(all.lock_);
        for (jd_mesh *mesh : all.meshes_)
            jd_mesh_destroy(mesh);
        all.meshes_.clear();
    }

    static std::size_t count() noexcept
    {
        kept_meshes &all = instance();
        std::lock_guard<std::mutex> guard(all.lock_);
        return all.meshes_.size();
    }

  private:
    static kept_meshes &instance()
    {
        static kept_meshes *all = new kept_meshes;
        return *all;
    }

    std::mutex lock_;
    std::vector<jd_mesh *> meshes_;
};

} // namespace detail

/*
 * Owns a mesh. Its destructor is collective, as jd_mesh_destroy() is: all
 * processes of the mesh come to the ends of the same scopes in the same order.
 *
 * Where an exception unwinds it, this process may be the only one that comes
 * here, while the others wait in a collective for it. Then the destructor
 * waits for nobody and gives nothing back: the mesh stays until
 * jd::shutdown(). To end the others' wait is the business of who catches the
 * exception: jd::run() does, and so does jd::report_error().
 */
class mesh
{
  public:
    mesh() noexcept = default;

    /* Over the devices of the list, or over all where it is empty. */
    explicit mesh(span<const axis> axes, device_list devices = {},
                  on_failure failure = {})
    {
        std::vector<int> shape;
        std::vector<const char *> names;
        for (const axis &each : axes) {
            shape.push_back(each.size);
            names.push_back(each.name);
        }
        if (!are_enough(shape, devices, failure))
            return;
        failure(jd_mesh_create(&mesh_, static_cast<int>(axes.size()),
                               shape.data(), names.data(),
                               devices.empty() ? nullptr : devices.data()));
    }

    mesh(span<const axis> axes, on_failure failure)
        : mesh(axes, device_list(), failure)
    {
    }

    explicit mesh(jd_mesh *taken_over) noexcept : mesh_(taken_over)
    {
    }

    mesh(mesh &&other) noexcept : mesh_(other.release())
    {
    }

    mesh &operator=(mesh &&other) noexcept
    {
        mesh taken(std::move(other));
        std::swap(mesh_, taken.mesh_);
        return *this;
    }

    ~mesh()
    {
        if (mesh_ && std::uncaught_exceptions() > exceptions_)
            detail::kept_meshes::keep(mesh_);
        else
            jd_mesh_destroy(mesh_);
    }

    explicit operator bool() const noexcept
    {
        return mesh_ != nullptr;
    }
    jd_mesh *get() const noexcept
    {
        return mesh_;
    }
    jd_mesh *release() noexcept
    {
        return std::exchange(mesh_, nullptr);
    }

    /* jd_mesh_shard: that of a process with one device in the mesh. */
    jd::shard shard(on_failure failure = {}) const;

    /* jd_mesh_set_nccl: an option of NCCL, before the first collective. */
    void set_nccl(const char *name, int value, on_failure failure = {})
    {
        failure(jd_mesh_set_nccl(mesh_, name, value));
    }

    int ndim(on_failure failure = {}) const
    {
        int n = jd_mesh_ndim(mesh_);
        return detail::value_or(n >= 0, JD_INVALID_ARGUMENT, n, failure);
    }

    span<const char *const> axis_names(on_failure failure = {}) const
    {
        const char *const *names = jd_mesh_axis_names(mesh_);
        failure(names ? JD_OK : JD_INVALID_ARGUMENT);
        return { names, count_of(names) };
    }

    span<const int> axis_sizes(on_failure failure = {}) const
    {
        const int *sizes = jd_mesh_axis_sizes(mesh_);
        failure(sizes ? JD_OK : JD_INVALID_ARGUMENT);
        return { sizes, count_of(sizes) };
    }

    device_list devices(on_failure failure = {}) const
    {
        int count = 0;
        const jd_device *const *all = jd_mesh_devices(mesh_, &count);
        return detail::list(all, count, code_of_none(), failure);
    }

    device_list local_devices(on_failure failure = {}) const
    {
        int count = 0;
        const jd_device *const *own = jd_mesh_local_devices(mesh_, &count);
        return detail::list(own, count, code_of_none(), failure);
    }

    void visualize(std::FILE *out, on_failure failure = {}) const
    {
        failure(jd_mesh_visualize(mesh_, out));
    }

    void visualize_svg(std::FILE *out, on_failure failure = {}) const
    {
        failure(jd_mesh_visualize_svg(mesh_, out));
    }

  private:
    std::size_t count_of(const void *list) const
    {
        return list ? static_cast<std::size_t>(jd_mesh_ndim(mesh_)) : 0;
    }

    jd_status code_of_none() const
    {
        return mesh_ ? JD_FAILED_PRECONDITION : JD_INVALID_ARGUMENT;
    }

    /* C reads as many devices as the sizes say. With a -1 it refuses them. */
    static bool are_enough(const std::vector<int> &shape, device_list devices,
                           on_failure failure)
    {
        std::size_t places = 1;
        for (int size : shape) {
            if (size < 0 || devices.empty())
                return true;
            places *= static_cast<std::size_t>(size);
        }
        return detail::has_size("jd::mesh", "devices", devices.size(), places,
                                failure);
    }

    jd_mesh *mesh_ = nullptr;
    int exceptions_ = std::uncaught_exceptions();
};

/* jd_mesh_shape: fills in the sizes that are 0. */
template <class Shape>
void mesh_shape(int n, Shape &&shape, on_failure failure = {})
{
    span<int> sizes(shape);
    failure(jd_mesh_shape(n, static_cast<int>(sizes.size()), sizes.data()));
}

} // namespace jd

#endif
