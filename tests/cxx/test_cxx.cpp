/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cxx.cpp - jd.hpp's calls do what those of C do: types, lengths, moves,
 * both ways to learn of a failure, and callables with captures. Any number of
 * processes, one device in each or several.
 */
#include <jd_mpi.hpp> /* first: it needs no other */

#include <jd.hpp>

#include "expect.hpp"

#include <array>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;

static int processes, own;

/* ---- types -------------------------------------------------------------- */

static_assert(jd::dtype<bool>() == JD_PRED);
static_assert(jd::dtype<signed char>() == JD_S8);
static_assert(jd::dtype<unsigned char>() == JD_U8);
static_assert(jd::dtype<char>() == (std::is_signed_v<char> ? JD_S8 : JD_U8));
static_assert(jd::dtype<short>() == JD_S16);
static_assert(jd::dtype<const unsigned short>() == JD_U16);
static_assert(jd::dtype<int>() == JD_S32);
static_assert(jd::dtype<unsigned>() == JD_U32);
static_assert(jd::dtype<long>() == (sizeof(long) == 8 ? JD_S64 : JD_S32));
static_assert(jd::dtype<long long>() == JD_S64);
static_assert(jd::dtype<unsigned long long>() == JD_U64);
static_assert(jd::dtype<float>() == JD_F32);
static_assert(jd::dtype<double>() == JD_F64);
static_assert(jd::dtype<std::complex<float>>() == JD_C64);
static_assert(jd::dtype<std::complex<double>>() == JD_C128);
static_assert(!jd::has_dtype<long double> && !jd::has_dtype<void *>);
#ifdef __FLT16_MANT_DIG__
static_assert(jd::dtype<_Float16>() == JD_F16);
#endif
#ifdef JD_HPP_HAS_BF16
static_assert(jd::dtype<__bf16>() == JD_BF16);
#endif

struct my_float8 {
    unsigned char bits;
};

template <> struct jd::dtype_of<my_float8> : jd::dtype_constant<JD_F8E4M3FN> {
};

static void convert_types()
{
    std::vector<float> in = { 1.5f, -2, 0 };
    std::array<my_float8, 3> narrow;
    bool truths[3];
    jd::convert(in, narrow);
    jd::convert(narrow, jd::span(truths, 3));
    EXPECT(truths[0] && truths[1] && !truths[2], "%d", truths[2]);
}

/* ---- failures ----------------------------------------------------------- */

static void throw_errors(jd::shard me)
{
    int line = 0;
    try {
        line = __LINE__ + 1;
        jd::psum(me, "nowhere", 1.0);
        EXPECT(false, "%s", "an unknown axis was no failure");
    } catch (const jd::error &e) {
        EXPECT(e.code() == JD_INVALID_ARGUMENT, "%d", e.code());
        EXPECT(std::strstr(e.what(), "jd_psum: ") &&
                   std::strstr(e.what(), "nowhere"),
               "%s", e.what());
        EXPECT(std::strstr(e.where().file, "test_cxx.cpp"), "%s",
               e.where().file);
        EXPECT(e.where().line == line, "%d", e.where().line);
    }
}

static void fill_status(jd::shard me)
{
    jd::status status;
    jd::psum(me, "nowhere", 1.0, status);
    EXPECT(!status.ok() && status.code() == JD_INVALID_ARGUMENT, "%d",
           status.code());
    EXPECT(std::strstr(status.what(), "nowhere"), "%s", status.what());
    jd::barrier(me, nullptr, status);
    EXPECT(status.ok() && *status.what() == 0, "%s", status.what());
    jd::mesh none({ { "data", -1 }, { "data", 1 } }, status);
    EXPECT(!status.ok() && !none, "%s", status.what());
    EXPECT(none.ndim(status) == -1 && !status.ok(), "%s", status.what());
    EXPECT(me.index("nowhere", status) == -1 && !status.ok(), "%s",
           status.what());
}

/* Refused here, before anybody waits. */
static void refuse_lengths(jd::shard me)
{
    std::vector<int> three(3), two(2);
    std::size_t all = static_cast<std::size_t>(me.size(nullptr));
    jd::status status;
    jd::psum(me, nullptr, three, two, status);
    EXPECT_TEXT(status, "jd::psum: out has 2 elements; this call needs 3");
    jd::all_gather(me, nullptr, three, three, status);
    if (all > 1)
        EXPECT_TEXT(status, "jd::all_gather: out has 3 elements");
    std::vector<int> many(2 * all + 1);
    jd::psum_scatter(me, nullptr, many, two, status);
    EXPECT_TEXT(status, "jd::psum_scatter: in has ");
    jd::all_gather_2d(me, nullptr, three, many, 2, status);
    EXPECT_TEXT(status, "in has 3 elements, which 2 rows do not divide");
    jd::pshuffle(me, nullptr, two, two, std::vector<int>(all + 1), status);
    EXPECT_TEXT(status, "jd::pshuffle: permutation has ");
    jd::mesh few({ { "data", 2 } }, jd::devices().subspan(0, 1), status);
    EXPECT_TEXT(status, "jd::mesh: devices has 1 elements");
    EXPECT_THROWS(jd::leaf(three, { 2, 2 }), "this call needs 4");
}

/* ---- handles ------------------------------------------------------------ */

template <class T>
constexpr bool only_moves =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_move_constructible_v<T> &&
    std::is_nothrow_move_assignable_v<T>;

static_assert(only_moves<jd::mesh> && only_moves<jd::sharding>);
static_assert(only_moves<jd::device_memory<int>> && only_moves<jd::checkpoint>);
static_assert(std::is_copy_constructible_v<jd::array> &&
              std::is_nothrow_move_constructible_v<jd::array>);

static void move_handles()
{
    jd::mesh a({ { "data", -1 } }), b;
    jd_mesh *handle = a.get();
    b = std::move(a);
    EXPECT(!a && b.get() == handle, "%p", static_cast<void *>(b.get()));
    jd::mesh c(std::move(b));
    EXPECT(!b && c.ndim() == 1, "%d", c.ndim());
    jd::mesh d(c.release());
    d = jd::mesh({ { "x", -1 }, { "y", 1 } });
    EXPECT(!c && d.ndim() == 2, "%d", d.ndim());
    jd::device_memory<int> m(jd::local_devices()[0], 8), n;
    m[7] = 7;
    n = std::move(m);
    EXPECT(m.size() == 0 && n.size() == 8 && n[7] == 7, "%d", n[7]);
    jd::device_copy(n, std::vector<int>{ 1, 2, 3, 4, 5, 6, 7, 8 });
    EXPECT(n[0] == 1 && *(n.end() - 1) == 8, "%d", n[0]);
    jd::device_memory<int> back(std::move(n));
    jd::device_memory<int>().release();
    EXPECT_THROWS((jd::device_memory<int>(jd::devices()[0], SIZE_MAX)),
                  "more than a size_t");
}

static void ask_meshes()
{
    jd::mesh mesh({ { "x", -1 }, { "y", 1 } });
    int all = jd::device_count();
    EXPECT(mesh.axis_sizes()[0] == all && mesh.axis_sizes().size() == 2, "%d",
           mesh.axis_sizes()[0]);
    EXPECT(!std::strcmp(mesh.axis_names()[1], "y"), "%s", mesh.axis_names()[1]);
    EXPECT(mesh.devices().size() == jd::devices().size(), "%zu",
           mesh.devices().size());
    EXPECT(mesh.local_devices()[0] == jd::local_devices()[0], "%s",
           "another device");
    EXPECT(jd::platform_devices("cpu").size() >= 1 &&
               jd::local_device_count() >= 1,
           "%d", jd::local_device_count());
    EXPECT_THROWS(jd::platform_devices("abacus"), "abacus");
    int shape[2] = { 0, 0 };
    jd::mesh_shape(12, shape);
    EXPECT(shape[0] == 4 && shape[1] == 3, "%d x %d", shape[0], shape[1]);
    mesh.set_nccl("minCTAs", 4);
    EXPECT_THROWS(mesh.set_nccl("maxCTAs", 3), "would be 4 and maxCTAs 3");
    std::FILE *out = std::tmpfile();
    mesh.visualize(out);
    mesh.visualize_svg(out);
    EXPECT(std::ftell(out) > 10, "%ld", std::ftell(out));
    std::fclose(out);
}

/* ---- collectives -------------------------------------------------------- */

static void reduce(jd::shard me)
{
    int n = me.size(nullptr), i = me.index(nullptr);
    double sum = jd::psum(me, "data", i + 1.0);
    EXPECT(sum == n * (n + 1) / 2, "%g", sum);
    EXPECT(jd::pmax(me, nullptr, i) == n - 1, "%d", n);
    EXPECT(jd::pmin(me, nullptr, i == 0) == (n == 1), "%d", n);
    EXPECT(jd::pmean(me, std::string("data"), 2.5f) == 2.5f, "%d", n);
    EXPECT(jd::pprod(me, nullptr, 1u) == 1u, "%d", n);
    unsigned bit = 1u << i, all = (1u << n) - 1;
    EXPECT(jd::por(me, nullptr, bit) == all, "%d", n);
    EXPECT(jd::pand(me, nullptr, all ^ bit) == 0, "%d", n);
    EXPECT(jd::pxor(me, nullptr, true) == (n % 2 == 1), "%d", n);
    unsigned bits[1] = { bit };
    jd::por(me, nullptr, bits, bits);
    jd::pand(me, nullptr, bits, bits);
    jd::pxor(me, nullptr, bits, bits);
    EXPECT(bits[0] == (n % 2 ? all : 0), "%u", bits[0]);
    EXPECT(jd::scan(me, nullptr, 1, JD_OP_SUM) == i + 1, "%d", n);
    int before[2] = { 2, i };
    jd::scan(me, "data", before, before, JD_OP_MAX, JD_SCAN_EXCLUSIVE);
    EXPECT(before[1] == (i ? i - 1 : INT_MIN), "%d", before[1]);
    auto last = jd::pmaxloc(me, nullptr, i), first = jd::pminloc(me, "data", i);
    EXPECT(last.value == n - 1 && last.index == n - 1, "%d", last.value);
    EXPECT(first.value == 0 && first.index == 0, "%d", first.value);
    float values[2] = { 1.0f * i, 7 };
    std::int64_t places[2], given[2] = { 10 - i, -i };
    jd::pmaxloc(me, nullptr, values, values, places);
    EXPECT(values[0] == n - 1 && places[0] == n - 1, "%g", values[0]);
    EXPECT(values[1] == 7 && places[1] == 0, "%g", values[1]);
    jd::pminloc(me, nullptr, values, given, values, given);
    EXPECT(given[0] == 11 - n && given[1] == 1 - n, "%d", n);
    jd::pmaxloc(me, nullptr, values, given, values, places);
    EXPECT(places[1] == 1 - n, "%d", n);
    jd::pminloc(me, nullptr, values, values, std::vector<std::int64_t>(2));
    double two[2][1] = { { 1 }, { 2 } }, out[2][1];
    jd::psum(me, nullptr, two, out);
    EXPECT(out[1][0] == 2 * n, "%g", out[1][0]);
    std::vector<std::complex<double>> z = { { 0, 1 } };
    jd::pprod(me, nullptr, z, z);
    jd::pmean(me, nullptr, z, z);
    std::array<long, 2> v = { i, -i };
    jd::pmax(me, nullptr, v, v);
    jd::pmin(me, nullptr, v, v);
    EXPECT(v[0] == n - 1 && v[1] == 0, "%ld", v[0]);
    struct span_of {
        int first, last;
    };
    std::vector<span_of> spans{ { i, i } };
    jd::preduce(me, nullptr, spans, spans, [](span_of a, span_of b) {
        return span_of{ a.first, b.last };
    });
    EXPECT(spans[0].first == 0 && spans[0].last == n - 1, "%d", spans[0].last);
    std::vector<int> each(static_cast<std::size_t>(n), 1);
    int mine = 0;
    jd::psum_scatter(me, nullptr, each, mine);
    EXPECT(mine == n, "%d", mine);
    jd::psum_scatter_2d(me, nullptr, each, mine, 1);
    EXPECT(mine == n, "%d", mine);
}

static void gather(jd::shard me)
{
    std::size_t n = static_cast<std::size_t>(me.size(nullptr));
    int i = me.index(nullptr);
    std::vector<int> all = jd::all_gather(me, "data", i);
    EXPECT(all.size() == n && all.back() == static_cast<int>(n) - 1, "%d",
           all.back());
    jd::status status;
    EXPECT(jd::all_gather(me, "nowhere", i, status).empty() && !status.ok(),
           "%s", status.what());
    std::vector<int> rows(2 * n), again(2 * n);
    jd::all_gather_2d(me, nullptr, std::array<int, 2>{ i, 10 + i }, rows, 2);
    EXPECT(rows[n] == 10, "%d", rows[n]);
    jd::all_gather(me, nullptr, std::array<int, 2>{ i, i }, rows);
    jd::all_to_all(me, nullptr, rows, again);
    EXPECT(again[0] == i, "%d", again[0]);
    jd::all_to_all_2d(me, nullptr, rows, again, n, 2, 0, 0);
    for (std::size_t k = 0; k < 2 * n; k++)
        rows[k] = 100 * i + static_cast<int>(k);
    jd::all_to_all_nd(me, nullptr, rows, again,
                      { 1, static_cast<std::int64_t>(n), 2 }, 1, 2);
    status = {};
    jd::all_to_all_nd(me, nullptr, rows, again, { -1, 4 }, 0, 1, status);
    EXPECT(strstr(status.what(), "shape[0] is -1"), "%s", status.what());
    EXPECT(again[0] == 2 * i &&
               again[2 * n - 1] == 100 * (static_cast<int>(n) - 1) + 2 * i + 1,
           "%d", again[2 * n - 1]);
    std::vector<std::int64_t> ones(n, 1), from(n), to(n, i);
    for (std::size_t k = 0; k < n; k++)
        from[k] = static_cast<std::int64_t>(k);
    std::vector<int> moved(n);
    jd::ragged_all_to_all(me, nullptr, all, moved, 1, { from, ones, to, ones });
    EXPECT(moved[n - 1] == i, "%d", moved[n - 1]);
    std::vector<std::int64_t> counts(n, 1);
    counts[0] = 0;
    std::vector<int> given(i ? 1 : 0, i), others(n - 1);
    jd::ragged_all_gather(me, nullptr, given, others, counts);
    EXPECT(n == 1 || others.back() == static_cast<int>(n) - 1, "%d",
           others.back());
    jd::ragged_all_gather(me, nullptr, given, all, counts, status);
    EXPECT_TEXT(status, "jd::ragged_all_gather: out has ");
}

static void move_values(jd::shard me)
{
    int n = me.size(nullptr), i = me.index(nullptr), got = -1;
    jd::ppermute(me, nullptr, i, got, { { 0, n - 1 } });
    EXPECT(got == 0, "%d", got);
    got = -1;
    jd::ppermute_keep(me, nullptr, i, got, { { 0, n - 1 } });
    EXPECT(got == (i == n - 1 ? 0 : -1), "%d", got);
    std::vector<int> shift;
    for (int k = 0; k < n; k++)
        shift.push_back((k + 1) % n);
    jd::pshuffle(me, nullptr, i, got, shift);
    EXPECT(got == (i + 1) % n, "%d", got);
    jd::shift(me, nullptr, 1, i, got, JD_EDGE_WRAP);
    EXPECT(got == (i + n - 1) % n, "%d", got);
    got = -1;
    jd::shift(me, nullptr, -1, i, got, JD_EDGE_KEEP);
    EXPECT(got == (i == n - 1 ? -1 : i + 1), "%d", got);
    EXPECT(jd::pbroadcast(me, nullptr, n - 1, i) == n - 1, "%d", i);
    jd::pbroadcast(me, nullptr, 0, i, got);
    EXPECT(got == 0, "%d", got);
}

static void send_to_neighbours(jd::shard me)
{
    int n = me.size(nullptr), i = me.index(nullptr), before = -1, after = -1;
    jd::group(me, [&] {
        jd::send(me, nullptr, (i + 1) % n, i);
        jd::recv(me, nullptr, (i + n - 1) % n, before);
    });
    EXPECT(before == (i + n - 1) % n, "%d", before);
    jd::group(me, [&] {
        jd::send_tagged(me, nullptr, (i + n - 1) % n, 1, i);
        jd::recv_tagged(me, nullptr, (i + 1) % n, 1, after);
    });
    EXPECT(after == (i + 1) % n, "%d", after);
    before = -1;
    jd::sendrecv(me, nullptr, i + 1 < n ? i + 1 : -1, i, i - 1, before);
    EXPECT(before == i - 1, "%d", before);
    std::vector<int> some(i + 1, i), got(n + 3, -1);
    std::size_t count = 0;
    jd::group(me, [&] {
        jd::send(me, nullptr, (i + 1) % n, some);
        jd::recv_any_size(me, nullptr, (i + n - 1) % n, got, count);
    });
    EXPECT(count == (i ? i : n) + 0u, "%zu", count);
    EXPECT(got[count - 1] == (i + n - 1) % n && got[count] == -1, "%d",
           got[count]);
    jd::status status;
    jd::recv_any_size(me, nullptr, n, got, count, status);
    EXPECT_TEXT(status, "jd_recv_any_size: from is ");
    jd::group(
        nullptr, [] { EXPECT(false, "%s", "no shard"); }, status);
    EXPECT(!status.ok(), "%s", status.what());
}

static void exchange_halos(jd::shard me)
{
    int n = me.size(nullptr), i = me.index(nullptr);
    std::vector<int> block{ -1, i, i, -2 };
    jd::halo_exchange(me, block, { { 4, 1, 1, "data", 1 } });
    EXPECT(block[0] == (i + n - 1) % n, "%d", block[0]);
    EXPECT(block[3] == (i + 1) % n, "%d", block[3]);
    jd::halo_exchange(me, block, { { 4, 1, 1, "data", 0 } },
                      jd::corners::filled);
    jd::status status;
    jd::halo_exchange(me, block, { { 5, 1, 1, "data", 1 } }, status);
    EXPECT(!status.ok(), "%s", status.what());
}

/* All at once, waited for in another order. */
static void start_calls(jd::shard me)
{
    int n = me.size(nullptr), i = me.index(nullptr), sum = 0, left = -1;
    std::vector<int> all(static_cast<std::size_t>(n), i), turned(all),
        each{ i };
    std::vector<int> ones(all.size(), 1), block{ -1, i, i, -2 }, most{ i };
    jd::request requests[] = {
        jd::psum_start(me, "data", i, sum),
        jd::all_gather_start(me, "data", each, all),
        jd::all_to_all_start(me, "data", turned, turned),
        jd::pmax_start(me, "data", most, most),
        jd::psum_scatter_start(me, nullptr, ones, each),
        jd::halo_start(me, block, { { 4, 1, 1, "data", 1 } }),
        jd::group_start(me,
                        [&] {
                            jd::send(me, "data", (i + 1) % n, i);
                            jd::recv(me, "data", (i + n - 1) % n, left);
                        }),
        jd::barrier_start(me, "data"),
    };
    for (jd::request &request : requests) {
        while (!request.test())
            ;
        EXPECT(!request, "%s", "a request is left");
        request.wait();
    }
    EXPECT(!requests[0], "%s", "it was waited for");
    EXPECT(sum == n * (n - 1) / 2, "%d", sum);
    EXPECT(all.back() == n - 1 && turned.back() == n - 1, "%d", all.back());
    EXPECT(most[0] == n - 1 && each[0] == n, "%d", each[0]);
    EXPECT(block[0] == (i + n - 1) % n && left == block[0], "%d", left);
}

static void start_more(jd::shard me)
{
    int n = me.size(nullptr), one = me.index(nullptr) == 0, least = 5;
    double mean = one, power = 2;
    {
        jd::request mean_of = jd::pmean_start(me, "data", mean, mean);
        jd::request product = jd::pprod_start(me, "data", power, power);
        jd::request least_of = jd::pmin_start(me, "data", one, least);
        jd::request said = jd::pbroadcast_start(me, "data", 0, one, one);
        product = std::move(mean_of);
    }
    int bit = 1 << me.index(nullptr), any = 0, odd = 0, all = 1;
    {
        jd::request any_of = jd::por_start(me, "data", bit, any);
        jd::request odd_of = jd::pxor_start(me, "data", bit, odd);
        jd::request all_of = jd::pand_start(me, "data", bit, all);
    }
    EXPECT(any == (1 << n) - 1 && odd == any, "%d", any);
    EXPECT(all == (n == 1), "%d", all);
    EXPECT(mean * n == 1 && one == 1 && least == (n == 1), "%d", least);
    EXPECT(power == std::pow(2., n), "%g", power);
    jd::status status;
    std::vector<int> two(2), three(3);
    jd::psum_start(me, "data", two, three, status);
    EXPECT(!status.ok(), "%s", status.what());
    EXPECT_THROWS(jd::psum_start(me, "none", two, two).wait(), "none");
    EXPECT_THROWS(jd::barrier_start(nullptr, nullptr), "NULL");
}

static void ask_shard(jd::shard me)
{
    int place[1];
    me.coordinates(place);
    EXPECT(place[0] == me.index("data"), "%d", place[0]);
    EXPECT(me.device()->process_index == own, "%d", own);
    std::vector<std::vector<int>> alone;
    for (int i = 0; i < me.size("data"); i++)
        alone.push_back({ i });
    jd::shard one = me.groups("data", alone);
    EXPECT(jd::psum(one, "data", 5) == 5, "%d", one.size("data"));
    jd::shard_synchronize(me);
    EXPECT_THROWS(jd::shard_stream(me), "stream");
    EXPECT_THROWS(jd::shard_use_stream(me, &own), "stream");
    EXPECT_THROWS(jd::shard().device(), "NULL");
}

/* ---- shard_map ---------------------------------------------------------- */

static void map_shards(const jd::mesh &mesh)
{
    std::atomic<int> runs{ 0 }, sums{ 0 };
    jd::shard_map(mesh, [&](jd::shard me) {
        jd::trace_range range("body");
        reduce(me);
        gather(me);
        move_values(me);
        send_to_neighbours(me);
        exchange_halos(me);
        start_calls(me);
        start_more(me);
        ask_shard(me);
        throw_errors(me);
        fill_status(me);
        refuse_lengths(me);
        sums += jd::psum(me, "data", 1);
        runs++;
    });
    EXPECT(runs == jd::local_device_count(), "%d", runs.load());
    EXPECT(sums == runs * jd::device_count(), "%d", sums.load());
    jd::shard_map(mesh, [](jd::shard me) -> jd_status {
        return jd_barrier(me.get(), nullptr);
    });
    jd::status status;
    jd::shard me = mesh.shard(status);
    EXPECT(status.ok() == (jd::local_device_count() == 1) && !me != status.ok(),
           "%s", status.what());
}

/* ---- processes ---------------------------------------------------------- */

static void share_values()
{
    double x = own, y[2] = { 1.0 * own, 2 };
    EXPECT(jd::broadcast_one_to_all(x, processes - 1) == processes - 1, "%g",
           x);
    jd::broadcast_one_to_all({ x, jd::leaf(y, { 1, 2 }) });
    EXPECT(x == 0 && y[0] == 0, "%g", y[0]);
    std::vector<int> all = jd::process_allgather(own);
    EXPECT(all.back() == processes - 1, "%d", all.back());
    jd::process_allgather({ own }, { all });
    jd::assert_equal({ y, jd::leaf(x) }, "the same");
    jd_equality about = {};
    about.absolute = 1;
    jd::assert_equal_with({ y }, nullptr, about);
    jd::sync_global_devices("shared");
    EXPECT(!jd::reached_preemption_sync_point(1), "%d", own);
    if (processes > 1)
        EXPECT_THROWS(jd::assert_equal({ own }, "indices"), "indices");
}

static std::string key(const char *name)
{
    return name + std::to_string(own);
}

static void use_store()
{
    jd::kv_set(key("a/"), "one");
    EXPECT_THROWS(jd::kv_set(key("a/"), "two"), "a/");
    jd::kv_set(key("a/"), std::string("t\0o", 3), true);
    EXPECT(jd::kv_get(key("a/"), 30s) == std::string("t\0o", 3), "%d", own);
    EXPECT(!jd::kv_try_get("nothing") &&
               jd::kv_try_get(key("a/")) == std::string("t\0o", 3),
           "%d", own);
    EXPECT_THROWS(jd::kv_get("nothing", 10ms), "nothing");
    jd::kv_set_many({ { key("b/"), "1" }, { key("c/"), "2" } });
    std::vector<jd::kv_entry> two =
        jd::kv_get_many({ key("c/"), key("b/") }, 10s);
    EXPECT(two.size() == 2 && two[0].second == "2", "%zu", two.size());
    jd::wait_at_barrier("stored", 1min);
    EXPECT(jd::kv_dir_get("b").size() == static_cast<std::size_t>(processes),
           "%d", own);
    jd::wait_at_barrier("seen", 1min);
    jd::wait_at_barrier(key("alone"), 10s, { own });
    EXPECT(jd::kv_delete(key("b/")) == 1, "%d", own);
    EXPECT(jd::kv_increment(key("n/"), 5) == 5, "%d", own);
    EXPECT(jd::live_processes(1min).size() ==
               static_cast<std::size_t>(processes),
           "%d", own);
    EXPECT_THROWS(jd::cancel_barrier("nobody's"), "nobody's");
}

static void register_callbacks()
{
    int seen = 0;
    jd::on_peer_failure([&seen](const jd_peer_failure &) { seen++; });
    jd::on_peer_failure(nullptr);
    jd::on_preemption([&seen] { seen++; });
    jd::on_preemption(nullptr);
    jd::acknowledge_preemption();
    EXPECT(seen == 0, "%d", seen);
}

/* ---- the program -------------------------------------------------------- */

static int use_all()
{
    processes = jd::process_count();
    own = jd::process_index();
    EXPECT(jd::is_initialized() && jd::wtime() >= 0 && *jd::version(), "%s",
           jd::version());
    EXPECT_THROWS(jd::initialize(), "jd_initialize");
    convert_types();
    move_handles();
    ask_meshes();
    jd::mesh mesh({ { "data", -1 } });
    map_shards(mesh);
    share_values();
    use_store();
    register_callbacks();
    int size = 0;
    MPI_Comm_size(jd::mpi_comm(), &size);
    EXPECT(size == processes, "%d", size);
    return 0;
}

/* A job that was left can be joined again, on the program's own MPI too. */
static void join_again()
{
    jd::initialize_on(MPI_COMM_WORLD);
    jd::shutdown();
    EXPECT(!jd::is_initialized(), "%d", jd::is_initialized());
}

int main()
{
    int result = jd::run(use_all);
    EXPECT(result == 0, "%d", result);
    EXPECT(jd::run([] { return 7; }) == 7, "%d", 7);
    join_again();
    return 0;
}
