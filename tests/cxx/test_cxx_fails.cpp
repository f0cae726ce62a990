/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cxx_fails.cpp HOW - exceptions where they could do harm:
 *   run        process 0 throws out of jd::run(), over a mesh, while the others
 *              wait in a collective for it: the job ends with the sentence
 *   foreign    the same with a std::exception
 *   report     process 0 catches it and tells the others, as one does without
 *              jd::run()
 *   unwound    process 0 catches what has unwound a mesh, and goes on; the
 *              mesh is kept until the job is left, and nobody waits
 *   body       one body of shard_map throws, the others wait for it: its own
 *              exception comes out (several devices in one process)
 *   error      the same with a jd::error, which comes out with the device
 *   differs    process 1 makes another call than the others: the sentence has
 *              the lines of this file, and not those of jd's headers
 *   callback   a preemption's callback throws: the job ends with its what()
 */
#include <jd.hpp>

#include "expect.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

struct own_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

static void throw_over_mesh(bool is_jds)
{
    jd::mesh mesh({ { "data", -1 } });
    jd::shard me = mesh.shard();
    jd::psum(me, "data", 1);
    if (jd::process_index() == 0 && is_jds)
        jd::psum(me, "elsewhere", 1);
    if (jd::process_index() == 0)
        throw own_error("the input is empty");
    jd::psum(me, "data", 1);
}

static void report_one()
{
    try {
        throw_over_mesh(false);
    } catch (const own_error &e) {
        jd::report_error(JD_DATA_LOSS, e.what());
        std::exit(3);
    }
}

/* What is kept is given back when the job is left: jd::run() has done that
 * when the handle's memory is looked for. */
static void unwind_one()
{
    try {
        jd::mesh mesh({ { "data", -1 } });
        jd::psum(mesh.shard(), "data", 1);
        if (jd::process_index() == 0)
            throw own_error("only here");
    } catch (const own_error &) {
    }
    jd::sync_global_devices("after");
    jd::mesh mesh({ { "data", -1 } });
    bool is_kept = jd::detail::kept_meshes::count() == 1;
    EXPECT(is_kept == (jd::process_index() == 0), "%d", is_kept);
}

static void differ()
{
    jd::mesh mesh({ { "data", -1 } });
    jd::shard me = mesh.shard();
    int sum = 1;
    if (jd::process_index() == 1)
        sum = jd::psum(me, "data", sum);
    else
        sum = jd::pmax(me, "data", sum);
}

static void throw_in_body(bool is_jds)
{
    jd::mesh mesh({ { "data", -1 } });
    jd::shard_map(mesh, [&](jd::shard me) {
        if (me.index("data") == 1 && is_jds)
            throw jd::error(JD_DATA_LOSS, "the input is cut off");
        if (me.index("data") == 1)
            throw own_error("the input is empty");
        jd::psum(me, "data", 1);
    });
}

static void expect_own_error()
{
    try {
        throw_in_body(false);
        EXPECT(false, "%s", "nothing was thrown");
    } catch (const own_error &e) {
        std::printf("caught: %s\n", e.what());
    }
}

static void expect_jds_error()
{
    try {
        throw_in_body(true);
        EXPECT(false, "%s", "nothing was thrown");
    } catch (const jd::error &e) {
        EXPECT(e.code() == JD_DATA_LOSS, "%d", e.code());
        std::printf("caught: %s\n", e.what());
    }
}

/* Until the callback's thread ends the job: no step is the one to stop at. */
static void throw_in_callback()
{
    jd::on_preemption([] { throw own_error("nothing is saved"); });
    std::raise(SIGTERM);
    for (;;)
        jd::kv_get("never", jd::seconds(-1));
}

static void act(const std::string &how)
{
    if (how == "run")
        throw_over_mesh(true);
    else if (how == "foreign")
        throw_over_mesh(false);
    else if (how == "report")
        report_one();
    else if (how == "unwound")
        unwind_one();
    else if (how == "body")
        expect_own_error();
    else if (how == "error")
        expect_jds_error();
    else if (how == "differs")
        differ();
    else if (how == "callback")
        throw_in_callback();
    else
        throw std::invalid_argument(how);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2, "%d", argc);
    int code = jd::run([&] { act(argv[1]); });
    EXPECT(jd::detail::kept_meshes::count() == 0, "%zu",
           jd::detail::kept_meshes::count());
    return code;
}
