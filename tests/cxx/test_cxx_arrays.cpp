/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cxx_arrays.cpp DIR - shardings, arrays and checkpoints by jd.hpp. Any
 * number of processes; DIR is an empty folder that all of them see.
 */
#include <jd.hpp>

#include "expect.hpp"

#include <cstring>
#include <string>
#include <vector>

/* Of 12 x 4 numbers, row-major. */
static double value_at(std::int64_t row, std::int64_t column)
{
    return static_cast<double>(4 * row + column);
}

static void fill_block(jd::span<const jd_range> index, jd::span<double> block)
{
    double *next = block.data();
    for (auto row = index[0].begin; row < index[0].end; row++)
        for (auto column = index[1].begin; column < index[1].end; column++)
            *next++ = value_at(row, column);
    EXPECT(next == block.end(), "%zu", block.size());
}

static void expect_values(const jd::array &array)
{
    std::vector<double> all(48);
    jd::process_allgather(array, jd::leaf(all, { 12, 4 }));
    for (int i = 0; i < 48; i++)
        EXPECT(all[i] == i, "%d: %g", i, all[i]);
}

static void ask_shardings(const jd::mesh &mesh)
{
    jd::sharding rows(mesh, "data,-"), even = jd::sharding::even(mesh, "data");
    jd::sharding everywhere(mesh, "");
    EXPECT(!std::strcmp(rows.spec(), "data"), "%s", rows.spec());
    EXPECT(rows.is_equivalent(even, 2), "%s", even.spec());
    EXPECT(everywhere.is_fully_replicated(), "%s", everywhere.spec());
    EXPECT(rows.is_fully_addressable() == (jd::process_count() == 1), "%s",
           rows.spec());
    EXPECT(rows.mesh().ndim() == 1, "%s", "another mesh");
    jd::block_index block = rows.index({ 12, 4 }, jd::devices()[0]);
    EXPECT(block.index.size() == 2 && block.index[1].end == 4 &&
               block.replica_id == 0,
           "%d", block.replica_id);
    EXPECT(rows.shard_shape({ 12, 4 })[1] == 4, "%s", rows.spec());
    EXPECT_THROWS(jd::sharding(mesh, "nowhere"), "nowhere");
    jd::status status;
    EXPECT(!jd::sharding(mesh, "nowhere", status), "%s", status.what());
    jd::sharding moved(std::move(rows));
    EXPECT(!rows && moved, "%s", "it has not moved");
    std::FILE *out = std::tmpfile();
    moved.visualize({ 12, 4 }, out);
    moved.visualize_svg({ 12, 4 }, out);
    EXPECT(std::ftell(out) > 10, "%ld", std::ftell(out));
    std::fclose(out);
}

static void move_arrays(const jd::mesh &mesh)
{
    jd::sharding rows(mesh, "data,-"), columns(mesh, "-,data");
    auto a = jd::array_from_callback<double>(rows, { 12, 4 }, fill_block);
    EXPECT(a.dtype() == JD_F64 && a.ndim() == 2 && a.shape()[0] == 12, "%d",
           a.ndim());
    EXPECT(a.shards().size() == jd::local_devices().size(), "%zu",
           a.shards().size());
    EXPECT(!std::strcmp(a.sharding().spec(), "data"), "%s",
           a.sharding().spec());
    jd::array b = a.reshard(columns), c = b;
    expect_values(b);
    b = std::move(a);
    EXPECT(!a, "%s", "it has not moved");
    c.reshard_donate(rows);
    expect_values(c);
    c.assert_replicas_equal("rows");
    std::FILE *out = std::tmpfile();
    c.visualize(out);
    c.visualize_svg(out);
    EXPECT(std::ftell(out) > 10, "%ld", std::ftell(out));
    std::fclose(out);
}

static void put_values(const jd::mesh &mesh)
{
    jd::sharding everywhere(mesh, ""), rows(mesh, "data");
    std::vector<float> ten(10, 2.5f), out(10);
    jd::array a = jd::device_put(ten, everywhere);
    a.to_host(out);
    EXPECT(out[9] == 2.5f, "%g", static_cast<double>(out[9]));
    EXPECT_THROWS(jd::array().to_host(out), "NULL");
    jd::array zeros = jd::array_zeros<float>(rows, { 10 });
    jd::process_gather(zeros, out, 0);
    EXPECT(out[9] == (jd::process_index() == 0 ? 0 : 2.5f), "%g",
           static_cast<double>(out[9]));
    const std::int64_t length = 10;
    const jd::leaf described(jd_leaf{ nullptr, JD_F32, 1, &length });
    jd::array cut = jd::array_from_one(
        rows, jd::process_index() == 0 ? jd::leaf(ten) : described, 0);
    jd::process_gather(cut, out, 0);
    EXPECT(out[9] == 2.5f, "%g", static_cast<double>(out[9]));
    EXPECT_THROWS(jd::array_from_one(rows, ten, -1), "source is -1");
    jd::array same = jd::array_from_process_local_data(everywhere, ten);
    EXPECT(same.shape()[0] == 10, "%lld",
           static_cast<long long>(same.shape()[0]));
    EXPECT_THROWS(jd::array_from_process_local_data(everywhere, ten, { 10, 1 }),
                  "the global shape has 2");
    std::vector<int> own(jd::local_devices().size(), jd::process_index());
    jd::array global = jd::host_local_array_to_global_array(own, mesh, "data");
    jd::global_array_to_host_local_array(global, mesh, "data", own);
    EXPECT(own[0] == jd::process_index(), "%d", own[0]);
}

static void give_blocks(const jd::mesh &mesh)
{
    jd::sharding rows(mesh, "data");
    std::vector<jd::device_memory<int>> blocks;
    for (const jd_device *device : mesh.local_devices())
        blocks.emplace_back(device, 2);
    jd::array a = jd::array_from_shards(rows, { 2 * jd::device_count() },
                                        std::move(blocks));
    EXPECT(!blocks[0].data() && a.shards()[0].count == 2, "%d", a.ndim());
    std::vector<jd::device_memory<int>> few;
    EXPECT_THROWS(jd::array_from_shards(rows, { 2 }, std::move(few)), "");
}

struct wrong_row {
    std::int64_t row;
};

/* What fill throws comes out here, as it is. */
static void throw_in_fill(const jd::mesh &mesh)
{
    jd::sharding rows(mesh, "data,-");
    auto wrong = [](auto index, auto) { throw wrong_row{ index[0].end }; };
    try {
        jd::array_from_callback<int>(rows, { 12, 4 }, wrong);
        EXPECT(false, "%s", "nothing was thrown");
    } catch (const wrong_row &e) {
        EXPECT(e.row > 0, "%lld", static_cast<long long>(e.row));
    }
    jd::status status;
    jd::array none =
        jd::array_from_callback<int>(rows, { 12, 4 }, wrong, status);
    EXPECT(!none && status.code() == JD_UNKNOWN, "%s", status.what());
    EXPECT_TEXT(status, "an exception that is no std::exception");
    auto fail = [](auto, auto) { throw jd::error(JD_NOT_FOUND, "no row"); };
    EXPECT_THROWS(jd::array_from_callback<int>(rows, { 12, 4 }, fail),
                  "no row");
}

static void save_and_restore(const jd::mesh &mesh, const std::string &dir)
{
    jd::sharding rows(mesh, "data,-"), columns(mesh, "-,data");
    auto a = jd::array_from_callback<double>(rows, { 12, 4 }, fill_block);
    std::string path = dir + "/checkpoint";
    jd::status status;
    EXPECT(jd::array_restore(path, { { "a", rows } }, status).empty() &&
               status.code() == JD_NOT_FOUND,
           "%s", status.what());
    jd::array_save(path, { { "a", a }, { "again", a } });
    auto both =
        jd::array_restore(path, { { "again", columns }, { "a", rows } });
    expect_values(both[0]);
    expect_values(both[1]);
    jd::checkpoint saved(path);
    EXPECT(saved.count() == 2 && !std::strcmp(saved.name(1), "again"), "%zu",
           saved.count());
    EXPECT(saved.leaf("a").shape[0] == 12, "%d", saved.leaf("a").ndim);
    saved.verify("a");
    saved.verify();
    EXPECT_THROWS(jd::checkpoint("/nowhere"), "/nowhere");
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2, "%d", argc);
    return jd::run([&] {
        jd::mesh mesh({ { "data", -1 } });
        ask_shardings(mesh);
        move_arrays(mesh);
        put_values(mesh);
        give_blocks(mesh);
        throw_in_fill(mesh);
        save_and_restore(mesh, argv[1]);
    });
}
