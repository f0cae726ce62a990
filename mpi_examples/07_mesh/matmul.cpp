/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * matmul.cpp - matmul.c in C++: the product of two matrices that no device
 * holds all of.
 *
 * What to look at: the body of jd::shard_map() is a lambda that sees what is
 * around it; device memory frees itself; what a body throws comes out of
 * jd::shard_map(), and ends the job with its sentence.
 */
#include <jd.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace
{

constexpr int misused = 2; /* exit status: the command line is wrong */
constexpr std::size_t max_size = 8192;

constexpr char usage[] =
    "usage: matmul [SIZE]\n"
    "Multiplies two matrices of SIZE x SIZE numbers (default 512) that are\n"
    "spread over a grid of all devices. SIZE is rounded up so that blocks are\n"
    "equal.\n";

/* What all devices know of the task. */
struct task {
    std::size_t rows, columns; /* of the grid */
    std::size_t size;          /* of the matrices */
    std::size_t height = size / rows, width = size / columns; /* of a block */
};

/* From jd::device_memory: the devices of a host read each other's blocks in
 * place. */
using matrix = jd::device_memory<double>;

/* One device's matrices, row by row. */
struct blocks {
    matrix a;        /* height x size / columns */
    matrix a_row;    /* height x size: all of the row's */
    matrix b;        /* size / rows x width */
    matrix b_column; /* size x width: all of the column's */
    matrix c;        /* height x width */

    blocks(const task &t, const jd_device *device)
        : a(device, t.height * t.size / t.columns),
          a_row(device, t.height * t.size),
          b(device, t.size / t.rows * t.width),
          b_column(device, t.size * t.width), c(device, t.height * t.width)
    {
    }
};

/* ---- numbers ------------------------------------------------------------ */

/* Small whole numbers: every sum below is exact. */
double a_at(std::size_t i, std::size_t k)
{
    return static_cast<double>((i * 7 + k * 3) % 11) - 5;
}

double b_at(std::size_t k, std::size_t j)
{
    return static_cast<double>((k * 5 + j * 2) % 13) - 6;
}

void fill(const task &t, jd::shard me, blocks &m)
{
    std::size_t r = me.index("rows"), c = me.index("columns");
    std::size_t a_width = t.size / t.columns, b_height = t.size / t.rows;
    for (std::size_t i = 0; i < t.height; i++)
        for (std::size_t k = 0; k < a_width; k++)
            m.a[i * a_width + k] = a_at(r * t.height + i, c * a_width + k);
    for (std::size_t k = 0; k < b_height; k++)
        for (std::size_t j = 0; j < t.width; j++)
            m.b[k * t.width + j] = b_at(r * b_height + k, c * t.width + j);
}

/* ---- the product -------------------------------------------------------- */

void gather(const task &t, jd::shard me, blocks &m)
{
    jd::all_gather_2d(me, "columns", m.a, m.a_row, t.height);
    jd::all_gather(me, "rows", m.b, m.b_column);
}

/* The order of the loops goes through all three matrices row by row; C is zero
 * as device memory is. */
void multiply(const task &t, blocks &m)
{
    for (std::size_t i = 0; i < t.height; i++)
        for (std::size_t k = 0; k < t.size; k++) {
            double factor = m.a_row[i * t.size + k];
            const double *b = m.b_column.data() + k * t.width;
            double *c = m.c.data() + i * t.width;
            for (std::size_t j = 0; j < t.width; j++)
                c[j] += factor * b[j];
        }
}

/* ---- the check ---------------------------------------------------------- */

/* Sums of C's rows: each device adds its part, the row's devices the rest.
 * They must be those of A x (B x ones), which one device can work out. */
bool is_right(const task &t, jd::shard me, const blocks &m)
{
    std::size_t first = me.index("rows") * t.height;
    std::vector<double> sums(t.height), b_sums(t.size);
    for (std::size_t i = 0; i < t.height; i++)
        for (std::size_t j = 0; j < t.width; j++)
            sums[i] += m.c[i * t.width + j];
    jd::psum(me, "columns", sums, sums);
    for (std::size_t k = 0; k < t.size; k++)
        for (std::size_t j = 0; j < t.size; j++)
            b_sums[k] += b_at(k, j);
    bool right = true;
    for (std::size_t i = 0; i < t.height; i++) {
        double expected = 0;
        for (std::size_t k = 0; k < t.size; k++)
            expected += a_at(first + i, k) * b_sums[k];
        right = right && std::abs(sums[i] - expected) < 0.5;
    }
    /* "All" of truth values is their minimum. */
    return jd::pmin(me, nullptr, right);
}

/* ---- the program -------------------------------------------------------- */

void report(const task &t, double gathered, double multiplied, bool right)
{
    double work = 2.0 * t.height * t.width * t.size;
    std::printf("%zu x %zu devices, %zu x %zu numbers, blocks of %zu x %zu\n",
                t.rows, t.columns, t.size, t.size, t.height, t.width);
    std::printf(
        "gathering %.2f ms, multiplying %.2f ms (%.2f Gflop/s per device)\n",
        1e3 * gathered, 1e3 * multiplied, 1e-9 * work / multiplied);
    std::printf("result: %s\n", right ? "right" : "WRONG");
}

/* What every device does: one thread each where a process has several. */
void work_on(const task &t, jd::shard me)
{
    blocks m(t, me.device());
    fill(t, me, m);
    jd::barrier(me, nullptr);
    double begin = jd::wtime();
    gather(t, me, m);
    double gathered = jd::wtime();
    multiply(t, m);
    double multiplied = jd::wtime();
    bool right = is_right(t, me, m);
    if (me.index(nullptr) == 0)
        report(t, gathered - begin, multiplied - gathered, right);
    if (!right)
        throw std::logic_error("the product is wrong");
}

void multiply_matrices(std::size_t size)
{
    /* As square as can be, the larger factor last: rows then stay inside a host
     * where they fit. */
    int devices = jd::device_count(), factors[2] = {};
    jd::mesh_shape(devices, factors);
    auto [columns, rows] = factors;
    std::size_t unit = devices; /* a multiple of rows and of columns */
    task t{ static_cast<std::size_t>(rows), static_cast<std::size_t>(columns),
            (size + unit - 1) / unit * unit };

    jd::mesh mesh({ { "rows", rows }, { "columns", columns } });
    if (jd::process_index() == 0)
        mesh.visualize(stdout);
    std::fflush(stdout);
    jd::shard_map(mesh, [&](jd::shard me) { work_on(t, me); });
}

/* The whole of the text as a number of 1..max_size; 0 where it is none. */
std::size_t parse_size(std::string_view text)
{
    std::size_t value = 0;
    const char *end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, value);
    bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
    return is_number && value <= max_size ? value : 0;
}

} // namespace

int main(int argc, char **argv)
{
    return jd::run([&] {
        bool help = argc == 2 && argv[1] == std::string_view("--help");
        std::size_t size = argc == 1            ? 512
                           : argc == 2 && !help ? parse_size(argv[1])
                                                : 0;
        if (size)
            multiply_matrices(size);
        else if (jd::process_index() == 0 && help)
            std::fputs(usage, stdout);
        else if (jd::process_index() == 0)
            std::fprintf(
                stderr, "matmul: SIZE must be a whole number from 1 to %zu\n%s",
                max_size, usage);
        jd::sync_global_devices("the end");
        return size || help ? 0 : misused;
    });
}
