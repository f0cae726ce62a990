/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_run_output.c - the pipes of all processes, and the two outputs that
 * their lines are passed on to. Whole lines wait in a stream's buffer until
 * the output may be another's; a line without an end is passed on in pieces,
 * and meanwhile the output is its stream's.
 */
#include "base/clock.h"
#include "tools/jd-run/jd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE = 65536,       /* the longest part of a line that is kept */
    QUEUE_FULL = 262144, /* then pipes are not read */
    PIPE_WRITE = 4096,   /* a pipe that can be written takes so many bytes */
    WRITES = 64,         /* per round, so that signals are seen meanwhile */
};

#define MOMENT 0.2       /* how long the end of a line is waited for */
#define LINE_SECONDS 1.0 /* how long one line may keep others waiting */

struct sink {
    int fd; /* -1: closed */
    size_t write_size;
    char *queue;
    size_t begin, end, capacity;
    bool is_mid_line;
    const struct stream *owner; /* whose line it is in; NULL: nobody's */
    double owned_since, last_piece;
};

struct stream {
    int fd; /* -1: closed */
    int index;
    struct sink *sink;
    char *buffer; /* PIECE bytes */
    size_t size;
    double since; /* when its first byte came */
    bool is_mid_line;
};

struct run_output {
    struct sink sinks[2]; /* where both are one file, the first is used */
    struct stream *streams;
    size_t num_streams;
    bool tag, is_lost, is_ended;
};

/* ---- making ------------------------------------------------------------- */

static bool are_same_file(int a, int b)
{
    struct stat left, right;
    return fstat(a, &left) == 0 && fstat(b, &right) == 0 &&
           left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

static void make_sink(struct sink *sink, int fd)
{
    struct stat file;
    bool is_file = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
    *sink =
        (struct sink){ .fd = fd, .write_size = is_file ? PIECE : PIPE_WRITE };
}

struct run_output *run_output_create(int count, bool tag)
{
    struct run_output *output = calloc(1, sizeof *output);
    if (!output)
        return NULL;
    output->tag = tag;
    output->num_streams = 2 * (size_t)count;
    output->streams = calloc(output->num_streams, sizeof *output->streams);
    if (!output->streams) {
        free(output);
        return NULL;
    }
    make_sink(&output->sinks[0], STDOUT_FILENO);
    make_sink(&output->sinks[1], STDERR_FILENO);
    bool is_one = are_same_file(STDOUT_FILENO, STDERR_FILENO);
    for (size_t i = 0; i < output->num_streams; i++) {
        output->streams[i] = (struct stream){
            .fd = -1,
            .index = (int)(i / 2),
            .sink = &output->sinks[is_one ? 0 : i % 2],
        };
    }
    return output;
}

void run_output_destroy(struct run_output *output)
{
    if (!output)
        return;
    for (size_t i = 0; i < output->num_streams; i++) {
        if (output->streams[i].fd >= 0)
            close(output->streams[i].fd);
        free(output->streams[i].buffer);
    }
    free(output->streams);
    free(output->sinks[0].queue);
    free(output->sinks[1].queue);
    free(output);
}

static bool open_stream(struct stream *stream, int *ret_end)
{
    int ends[2];
    stream->buffer = malloc(PIECE);
    if (!stream->buffer || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->fd = ends[0];
    *ret_end = ends[1];
    return true;
}

jd_status run_output_open(struct run_output *output, int index, int *ret_out,
                          int *ret_err)
{
    struct stream *streams = output->streams + 2 * (size_t)index;
    int out, err;
    if (open_stream(&streams[0], &out)) {
        if (open_stream(&streams[1], &err)) {
            *ret_out = out;
            *ret_err = err;
            return JD_OK;
        }
        int error = errno;
        close(out);
        errno = error;
    }
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "process %d cannot be started: a pipe for its output: %s",
                   index, strerror(errno));
}

/* ---- a sink's queue ----------------------------------------------------- */

/* What does not fit in memory is lost, and jd-run says so by its status. */
static bool make_room(struct sink *sink, size_t size)
{
    if (sink->begin) {
        memmove(sink->queue, sink->queue + sink->begin,
                sink->end - sink->begin);
        sink->end -= sink->begin;
        sink->begin = 0;
    }
    if (sink->capacity - sink->end >= size)
        return true;
    size_t capacity = 2 * (sink->end + size);
    char *queue = realloc(sink->queue, capacity);
    if (!queue)
        return false;
    sink->queue = queue;
    sink->capacity = capacity;
    return true;
}

static void append(struct run_output *output, struct sink *sink,
                   const char *text, size_t size)
{
    if (sink->fd < 0 || size == 0)
        return;
    if (sink->capacity - sink->end < size && !make_room(sink, size)) {
        output->is_lost = true;
        return;
    }
    memcpy(sink->queue + sink->end, text, size);
    sink->end += size;
    sink->is_mid_line = text[size - 1] != '\n';
}

static struct sink *error_sink(struct run_output *output)
{
    return output->streams[1].sink;
}

void run_output_say(struct run_output *output, const char *format, ...)
{
    char text[1024] = "\njd-run: ";
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used - 1, format, arguments);
    va_end(arguments);
    strcat(text, "\n");
    struct sink *sink = error_sink(output);
    size_t skipped = !sink->is_mid_line;
    append(output, sink, text + skipped, strlen(text) - skipped);
    sink->owner = NULL;
}

/* Its writers then have a pipe without a reader, as without jd-run. */
static void close_sink(struct run_output *output, struct sink *sink)
{
    sink->fd = -1;
    sink->begin = sink->end = 0;
    for (size_t i = 0; i < output->num_streams; i++) {
        struct stream *stream = &output->streams[i];
        if (stream->sink != sink || stream->fd < 0)
            continue;
        close(stream->fd);
        stream->fd = -1;
        stream->size = 0;
    }
}

static void fail_sink(struct run_output *output, struct sink *sink, int error)
{
    const char *name =
        sink == &output->sinks[0] ? "standard output" : "standard error";
    close_sink(output, sink);
    if (error == EPIPE)
        return;
    output->is_lost = true;
    run_output_say(output, "%s cannot be written: %s", name, strerror(error));
}

static bool can_be_written(const struct sink *sink)
{
    struct pollfd wait = { .fd = sink->fd, .events = POLLOUT };
    return sink->fd >= 0 && sink->begin < sink->end && poll(&wait, 1, 0) == 1;
}

static void write_sink(struct run_output *output, struct sink *sink)
{
    for (int i = 0; i < WRITES && can_be_written(sink); i++) {
        size_t size = sink->end - sink->begin;
        size = size < sink->write_size ? size : sink->write_size;
        ssize_t written = write(sink->fd, sink->queue + sink->begin, size);
        if (written > 0)
            sink->begin += (size_t)written;
        else if (errno != EAGAIN && errno != EINTR)
            fail_sink(output, sink, errno);
        else
            return;
    }
    if (sink->begin == sink->end)
        sink->begin = sink->end = 0;
}

/* ---- from a stream to its sink ------------------------------------------ */

/* With the tag, a line of another that has no end gets one; without it, the
 * bytes stay as they are. */
static void begin_line(struct run_output *output, struct stream *stream)
{
    char tag[32];
    struct sink *sink = stream->sink;
    if (!output->tag || (stream->is_mid_line && sink->owner == stream))
        return;
    if (sink->is_mid_line)
        append(output, sink, "\n", 1);
    int length = snprintf(tag, sizeof tag, "[%d] ", stream->index);
    append(output, sink, tag, (size_t)length);
}

static void pass_lines(struct run_output *output, struct stream *stream,
                       size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *line = stream->buffer + at;
        const char *end = memchr(line, '\n', size - at);
        size_t length = end ? (size_t)(end - line) + 1 : size - at;
        begin_line(output, stream);
        append(output, stream->sink, line, length);
        stream->is_mid_line = !end;
        stream->sink->owner = end ? NULL : stream;
        at += length;
    }
}

/* Passes on the first size bytes. */
static void pass(struct run_output *output, struct stream *stream, size_t size,
                 double now)
{
    struct sink *sink = stream->sink;
    const struct stream *before = sink->owner;
    if (output->tag) {
        pass_lines(output, stream, size);
    } else {
        append(output, sink, stream->buffer, size);
        stream->is_mid_line = stream->buffer[size - 1] != '\n';
        sink->owner = stream->is_mid_line ? stream : NULL;
    }
    if (sink->owner && sink->owner != before)
        sink->owned_since = now;
    sink->last_piece = now;
    stream->size -= size;
    memmove(stream->buffer, stream->buffer + size, stream->size);
    stream->since = now;
}

/* When the sink is free for others than its owner. */
static double free_at(const struct sink *sink)
{
    if (!sink->owner || (sink->owner->fd < 0 && sink->owner->size == 0))
        return 0;
    return fmin(sink->last_piece + MOMENT, sink->owned_since + LINE_SECONDS);
}

static bool is_mine(const struct stream *stream, double now)
{
    const struct sink *sink = stream->sink;
    return sink->owner == stream || now >= free_at(sink);
}

/* How many bytes may be passed on now. */
static size_t count_ready(const struct stream *stream, double now)
{
    const struct sink *sink = stream->sink;
    if (!stream->size || sink->end - sink->begin >= QUEUE_FULL ||
        !is_mine(stream, now))
        return 0;
    if (stream->fd < 0 || stream->since + MOMENT <= now)
        return stream->size;
    const char *last = memrchr(stream->buffer, '\n', stream->size);
    if (last)
        return (size_t)(last - stream->buffer) + 1;
    return stream->size == PIECE ? PIECE : 0;
}

/* Returns how many bytes came; 0 where none did. */
static size_t take(struct stream *stream, double now)
{
    if (stream->fd < 0 || stream->size == PIECE)
        return 0;
    ssize_t size =
        read(stream->fd, stream->buffer + stream->size, PIECE - stream->size);
    if (size > 0) {
        stream->since = stream->size ? stream->since : now;
        stream->size += (size_t)size;
        return (size_t)size;
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(stream->fd);
        stream->fd = -1;
    }
    return 0;
}

/* All that is in the pipe, whoever's turn it is. A grandchild may write on
 * and on, so there is an end to it. */
static void take_all(struct run_output *output, struct stream *stream,
                     double now)
{
    enum { MOST = 64 };
    if (stream->size)
        pass(output, stream, stream->size, now);
    for (int i = 0; i < MOST && take(stream, now); i++)
        pass(output, stream, stream->size, now);
}

void run_output_show_last(struct run_output *output, int index, double now)
{
    struct stream *out = output->streams + 2 * (size_t)index, *err = out + 1;
    take_all(output, out, now);
    if (err->sink->is_mid_line && err->sink->owner != err)
        append(output, err->sink, "\n", 1);
    take_all(output, err, now);
}

void run_output_end(struct run_output *output, double now)
{
    if (output->is_ended)
        return;
    output->is_ended = true;
    for (size_t i = 0; i < output->num_streams; i++) {
        struct stream *stream = &output->streams[i];
        take_all(output, stream, now);
        if (stream->fd >= 0)
            close(stream->fd);
        stream->fd = -1;
    }
    for (int i = 0; i < 2; i++) {
        if (output->tag && output->sinks[i].is_mid_line)
            append(output, &output->sinks[i], "\n", 1);
        write_sink(output, &output->sinks[i]);
    }
}

/* ---- the loop's side ---------------------------------------------------- */

size_t run_output_size(const struct run_output *output)
{
    return 2 + output->num_streams;
}

void run_output_poll(const struct run_output *output, struct pollfd *fds)
{
    for (int i = 0; i < 2; i++) {
        const struct sink *sink = &output->sinks[i];
        *fds++ = (struct pollfd){
            .fd = sink->begin < sink->end ? sink->fd : -1,
            .events = POLLOUT,
        };
    }
    for (size_t i = 0; i < output->num_streams; i++) {
        const struct stream *stream = &output->streams[i];
        *fds++ = (struct pollfd){
            .fd = stream->size < PIECE ? stream->fd : -1,
            .events = POLLIN,
        };
    }
}

static void pass_ready(struct run_output *output, double now)
{
    for (size_t i = 0; i < output->num_streams; i++) {
        struct stream *stream = &output->streams[i];
        for (size_t size; (size = count_ready(stream, now)) > 0;)
            pass(output, stream, size, now);
    }
}

void run_output_serve(struct run_output *output, const struct pollfd *fds,
                      double now)
{
    for (size_t i = 0; i < output->num_streams; i++)
        if (fds[2 + i].fd >= 0 && fds[2 + i].revents)
            take(&output->streams[i], now);
    pass_ready(output, now);
    write_sink(output, &output->sinks[0]);
    write_sink(output, &output->sinks[1]);
}

double run_output_deadline(const struct run_output *output, double now)
{
    double deadline = HUGE_VAL;
    for (size_t i = 0; i < output->num_streams; i++) {
        const struct stream *stream = &output->streams[i];
        if (!stream->size ||
            stream->sink->end - stream->sink->begin >= QUEUE_FULL)
            continue;
        double at = stream->since + MOMENT;
        if (!is_mine(stream, now))
            at = fmax(at, free_at(stream->sink));
        deadline = fmin(deadline, at);
    }
    return deadline;
}

bool run_output_is_written(const struct run_output *output)
{
    return output->sinks[0].begin == output->sinks[0].end &&
           output->sinks[1].begin == output->sinks[1].end;
}

bool run_output_is_lost(const struct run_output *output)
{
    return output->is_lost;
}
