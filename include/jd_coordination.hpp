/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_coordination.hpp - what processes tell each other beside their data.
 *
 *     jd::kv_set("address/3", address);
 *     std::string first = jd::kv_get("address/0", 30s);
 *     jd::wait_at_barrier("loaded", 1min);
 *
 * A value is any bytes, in a std::string. A timeout is any std::chrono
 * duration; none, or 0, is JD_BARRIER_TIMEOUT, a negative one is no deadline.
 */
#ifndef JD_COORDINATION_HPP
#define JD_COORDINATION_HPP

#include "jd_coordination.h"
#include "jd_dtype.hpp"
#include "jd_process.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jd
{

using seconds = std::chrono::duration<double>;

/* A key and its value. */
using kv_entry = std::pair<std::string, std::string>;

namespace detail
{

/* What C gives to be freed. */
struct c_free {
    void operator()(void *memory) const noexcept
    {
        std::free(memory);
    }
};
template <class T> using c_block = std::unique_ptr<T, c_free>;

JD_IN_PLACE std::string bytes(const void *data, std::size_t size)
{
    return { static_cast<const char *>(data), size };
}

JD_IN_PLACE std::string value_of(jd_status code, void *value, std::size_t size,
                                 on_failure failure)
{
    c_block<void> block(value);
    return failure(code) ? bytes(value, size) : std::string();
}

JD_IN_PLACE std::vector<kv_entry> entries_of(jd_status code,
                                             jd_kv_entry *entries,
                                             std::size_t count,
                                             on_failure failure)
{
    c_block<jd_kv_entry> block(entries);
    std::vector<kv_entry> all;
    if (!failure(code))
        return all;
    for (std::size_t i = 0; i < count; i++)
        all.emplace_back(entries[i].key,
                         bytes(entries[i].value, entries[i].size));
    return all;
}

} // namespace detail

/* ---- the key-value store ------------------------------------------------ */

JD_IN_PLACE void kv_set(c_text key, std::string_view value,
                        bool allow_overwrite = false, on_failure failure = {})
{
    failure(jd_kv_set(key, value.data(), value.size(), allow_overwrite));
}

JD_IN_PLACE std::string kv_get(c_text key, seconds timeout = {},
                               on_failure failure = {})
{
    void *value = nullptr;
    std::size_t size = 0;
    jd_status code = jd_kv_get(key, timeout.count(), &value, &size);
    return detail::value_of(code, value, size, failure);
}

/* Nothing where the key is not there, which is no failure here. */
JD_IN_PLACE std::optional<std::string> kv_try_get(c_text key,
                                                  on_failure failure = {})
{
    void *value = nullptr;
    std::size_t size = 0;
    jd_status code = jd_kv_try_get(key, &value, &size);
    if (code == JD_NOT_FOUND) {
        failure(JD_OK);
        return std::nullopt;
    }
    std::string found = detail::value_of(code, value, size, failure);
    if (code != JD_OK)
        return std::nullopt;
    return found;
}

JD_IN_PLACE std::vector<kv_entry> kv_dir_get(c_text directory,
                                             on_failure failure = {})
{
    jd_kv_entry *entries = nullptr;
    std::size_t count = 0;
    jd_status code = jd_kv_dir_get(directory, &entries, &count);
    return detail::entries_of(code, entries, count, failure);
}

JD_IN_PLACE std::size_t kv_delete(c_text key, on_failure failure = {})
{
    std::size_t count = 0;
    failure(jd_kv_delete(key, &count));
    return count;
}

JD_IN_PLACE std::int64_t kv_increment(c_text key, std::int64_t by = 1,
                                      on_failure failure = {})
{
    std::int64_t sum = 0;
    failure(jd_kv_increment(key, by, &sum));
    return sum;
}

JD_IN_PLACE void kv_set_many(span<const kv_entry> entries,
                             bool allow_overwrite = false,
                             on_failure failure = {})
{
    std::vector<jd_kv_entry> list;
    for (const kv_entry &each : entries)
        list.push_back(
            { each.first.c_str(), each.second.data(), each.second.size() });
    failure(jd_kv_set_many(list.data(), list.size(), allow_overwrite));
}

JD_IN_PLACE std::vector<kv_entry> kv_get_many(span<const std::string> keys,
                                              seconds timeout = {},
                                              on_failure failure = {})
{
    std::vector<const char *> list;
    for (const std::string &key : keys)
        list.push_back(key.c_str());
    jd_kv_entry *entries = nullptr;
    jd_status code =
        jd_kv_get_many(list.data(), list.size(), timeout.count(), &entries);
    return detail::entries_of(code, entries, list.size(), failure);
}

/* ---- barriers ----------------------------------------------------------- */

/* Of all processes, or of those of the list. */
JD_IN_PLACE void wait_at_barrier(c_text id, seconds timeout = {},
                                 span<const int> processes = {},
                                 on_failure failure = {})
{
    failure(jd_wait_at_barrier(id, timeout.count(),
                               processes.empty() ? nullptr : processes.data(),
                               processes.size()));
}

JD_IN_PLACE void cancel_barrier(c_text id, on_failure failure = {})
{
    failure(jd_cancel_barrier(id));
}

JD_IN_PLACE std::vector<int> live_processes(seconds timeout = {},
                                            on_failure failure = {})
{
    int *processes = nullptr;
    std::size_t count = 0;
    jd_status code = jd_live_processes(timeout.count(), &processes, &count);
    detail::c_block<int> block(processes);
    if (!failure(code))
        return {};
    return { processes, processes + count };
}

/* ---- failure and preemption --------------------------------------------- */

JD_IN_PLACE void report_error(jd_status code, c_text text,
                              on_failure failure = {})
{
    failure(jd_report_error(code, text));
}

using peer_failure_callback = std::function<void(const jd_peer_failure &)>;
using preemption_callback = std::function<void()>;

namespace detail
{

/* The callable that jd's thread runs. It may run while another one takes its
 * place, or while the program ends, and so is never destroyed under it. */
template <class... Args> class callback_slot
{
  public:
    using callback = std::function<void(Args...)>;

    explicit callback_slot(const char *name) : name_(name)
    {
    }

    /* Its C call is made under the lock: the last one to come stands. */
    template <class Register> jd_status set(callback next, Register call)
    {
        auto made =
            next ? std::make_shared<callback>(std::move(next)) : nullptr;
        std::lock_guard<std::mutex> guard(lock_);
        jd_status code = call(made != nullptr);
        if (code == JD_OK)
            current_ = made;
        return code;
    }

    /* Nobody could take its exception: it ends the job, with what it says. */
    void run(Args... args) noexcept
    {
        carrier carrier;
        jd_status code = carrier.run([&] {
            if (std::shared_ptr<callback> now = get())
                (*now)(args...);
        });
        if (code != JD_OK)
            end(jd_error_message());
    }

  private:
    std::shared_ptr<callback> get()
    {
        std::lock_guard<std::mutex> guard(lock_);
        return current_;
    }

    [[noreturn]] void end(const char *what) noexcept
    {
        jd_abort(
            1, (std::string(name_) + ": the callback threw: " + what).c_str());
    }

    const char *name_;
    std::mutex lock_;
    std::shared_ptr<callback> current_;
};

using peer_failure_slot = callback_slot<const jd_peer_failure &>;
using preemption_slot = callback_slot<>;

} // namespace detail

/* An empty one: no callback any more. One that throws ends the job as
 * jd::abort() does, with what it says. */
JD_IN_PLACE void on_peer_failure(peer_failure_callback callback,
                                 on_failure failure = {})
{
    static auto *slot = new detail::peer_failure_slot("jd::on_peer_failure");
    auto run = [](const jd_peer_failure *what, void *arg) {
        static_cast<detail::peer_failure_slot *>(arg)->run(*what);
    };
    failure(slot->set(std::move(callback), [&](bool is_there) {
        return jd_on_peer_failure(is_there ? +run : nullptr, slot);
    }));
}

/* The same for jd_on_preemption. */
JD_IN_PLACE void on_preemption(preemption_callback callback,
                               on_failure failure = {})
{
    static auto *slot = new detail::preemption_slot("jd::on_preemption");
    auto run = [](void *arg) {
        static_cast<detail::preemption_slot *>(arg)->run();
    };
    failure(slot->set(std::move(callback), [&](bool is_there) {
        return jd_on_preemption(is_there ? +run : nullptr, slot);
    }));
}

JD_IN_PLACE void acknowledge_preemption(on_failure failure = {})
{
    failure(jd_acknowledge_preemption());
}

} // namespace jd

#endif
