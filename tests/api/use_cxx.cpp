/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same in C++, from C++11 on: jd_initialize() is a function there, and
 * one that takes a jd_options.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <cstdio>
#include <vector>

extern "C" {
JD_API JD_NORETURN void give_up();
JD_API void tell(const char *text, ...) JD_FORMAT(1, 2);
}

void give_up()
{
    jd_abort(3, "give_up was called");
}

void tell(const char *, ...)
{
}

static jd_status initialize_both_ways()
{
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_shutdown());
    jd_options options = jd_options();
    options.initialization_timeout = 60;
    options.cluster_detection_method = "deactivate";
    JD_CHECK(jd_initialize(options));
    if (jd_process_count() != 1)
        give_up();
    return jd_shutdown();
}

static std::vector<const char *> names()
{
    std::vector<const char *> all;
#define STATUS_ROW(name, number, text) all.push_back(jd_status_name(JD_##name));
#define DTYPE_ROW(name, number, size) all.push_back(jd_dtype_name(JD_##name));
    JD_STATUS_MAP(STATUS_ROW)
    JD_DTYPE_MAP(DTYPE_ROW)
    JD_STORAGE_DTYPE_MAP(DTYPE_ROW)
    return all;
}

static int64_t count_elements(const std::vector<jd_range> &index)
{
    int64_t count = index.size() <= JD_MAX_NDIM;
    for (const jd_range &range : index)
        count *= range.end - range.begin;
    return count;
}

int main(int argc, char **)
{
    if (argc > 1)
        JD_CHECK(jd_mesh_create(nullptr, 0, nullptr, nullptr, nullptr));
    if (names().size() < 20)
        return 1;
    if (count_elements({ { 1, 3 }, { 0, 4 } }) != 8)
        return 1;
    tell("page %d", 3);
    if (jd_fail_with(JD_NOT_FOUND, "page %d", 3) != JD_NOT_FOUND)
        return 1;
    if (initialize_both_ways() != JD_OK)
        return 1;
#if !JD_VERSION_GE(JD_VERSION_MAJOR, JD_VERSION_MINOR, JD_VERSION_PATCH)
#error "these headers are older than themselves"
#endif
    std::printf("jd %s\n", jd_version());
    return 0;
}
