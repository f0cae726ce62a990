/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psum.cpp - psum.c in C++: statistics of numbers that no process holds all of.
 *
 * What to look at: types and counts are nowhere said; a number in is a number
 * out; a call that fails throws, and jd::run() ends the job with its sentence.
 */
#include <jd.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace
{

constexpr int bins = 10;   /* numbers are 0..9: one bin each */
constexpr int failed = 1;  /* exit status: a result is wrong */
constexpr int misused = 2; /* exit status: the command line is */
constexpr std::int64_t max_count = 10'000'000'000;

constexpr char usage[] =
    "usage: psum [COUNT]\n"
    "Adds up COUNT numbers (default 1000000) spread over all devices.\n";

/* Number i of the data set: 0, 1, ..., 9, 0, 1, ... */
int number(std::int64_t i)
{
    return static_cast<int>(i % bins);
}

/* The share of one device: numbers first..end of 0, 1, 2, ..., as even as can
 * be, in member order. */
struct block {
    std::int64_t first, end;

    block(std::int64_t total, int index, int size)
    {
        std::int64_t each = total / size, rest = total % size;
        first = each * index + std::min<std::int64_t>(index, rest);
        end = first + each + (index < rest);
    }
};

struct moments {
    double mean, deviation;
};

moments compute_moments(jd::shard me, block mine, std::int64_t total)
{
    std::array<double, 2> sums{}; /* of the numbers, of their squares */
    for (auto i = mine.first; i < mine.end; i++) {
        sums[0] += number(i);
        sums[1] += number(i) * number(i);
    }
    jd::psum(me, "data", sums, sums);
    double n = static_cast<double>(total), mean = sums[0] / n;
    return { mean, std::sqrt(std::max(0.0, sums[1] / n - mean * mean)) };
}

using histogram = std::array<std::int64_t, bins>;

/* Every member's numbers, counted by value. */
histogram count_numbers(jd::shard me, block mine)
{
    histogram counts{};
    for (auto i = mine.first; i < mine.end; i++)
        counts[number(i)]++;
    jd::psum(me, "data", counts, counts);
    return counts;
}

/* Whether each bin holds what counting 0..total - 1 by hand would give. */
bool is_right(const histogram &counts, std::int64_t end, std::int64_t total)
{
    for (int i = 0; i < bins; i++)
        if (counts[i] != total / bins + (i < total % bins))
            return false;
    return end == total;
}

template <class List> void print_list(const char *name, const List &values)
{
    std::printf("%-10s", name);
    for (std::int64_t value : values)
        std::printf(" %lld", static_cast<long long>(value));
    std::printf("\n");
}

int compute(std::int64_t total)
{
    jd::mesh mesh({ { "data", -1 } });
    jd::shard me = mesh.shard();
    int size = me.size("data"), index = me.index("data");
    block mine(total, index, size);
    auto [mean, deviation] = compute_moments(me, mine, total);
    auto counts = count_numbers(me, mine);
    auto shares = jd::all_gather(me, "data", mine.end - mine.first);
    auto end = jd::pbroadcast(me, "data", size - 1, mine.end);
    bool right = is_right(counts, end, total);
    if (index == 0) {
        std::printf("%d devices, %lld numbers\n", size,
                    static_cast<long long>(total));
        print_list("counts", shares);
        print_list("histogram", counts);
        std::printf("%-10s %.6f\n%-10s %.6f\n", "mean", mean, "deviation",
                    deviation);
        std::printf("result: %s\n", right ? "right" : "WRONG");
    }
    return right ? 0 : failed;
}

/* The whole of the text as a number of 1..max_count. */
std::optional<std::int64_t> parse_count(std::string_view text)
{
    std::int64_t value = 0;
    const char *end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 1 ||
        value > max_count)
        return std::nullopt;
    return value;
}

/* Says on process 0 what is wrong with the command line. */
int explain_usage(const std::vector<std::string> &arguments)
{
    bool help = arguments.size() == 1 && arguments[0] == "--help";
    if (jd::process_index() != 0)
        return help ? 0 : misused;
    if (arguments.size() > 1)
        std::fprintf(stderr, "psum: too many arguments\n");
    else if (!help)
        std::fprintf(stderr,
                     "psum: COUNT must be a whole number from 1 to %lld, not "
                     "\"%s\"\n",
                     static_cast<long long>(max_count), arguments[0].c_str());
    std::fputs(usage, help ? stdout : stderr);
    return help ? 0 : misused;
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> arguments(argv + 1, argv + argc);
    return jd::run([&] {
        std::optional<std::int64_t> total = 1000000;
        if (!arguments.empty())
            total = arguments.size() == 1 ? parse_count(arguments[0])
                                          : std::nullopt;
        int result = total ? compute(*total) : explain_usage(arguments);
        /* A launcher may end the job as soon as one process has failed: nobody
         * leaves before process 0 has said why. */
        jd::sync_global_devices("the end");
        return result;
    });
}
