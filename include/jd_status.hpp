/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_status.hpp - how calls fail in C++.
 *
 *     jd::psum(me, "data", in, out); // throws jd::error
 *
 *     jd::status status;
 *     jd::psum(me, "data", in, out, status); // throws nothing
 *     if (!status.ok())
 *         std::cerr << status.what() << '\n';
 *
 *     jd::check(jd_barrier(me.get(), nullptr)); // any call of C
 */
#ifndef JD_STATUS_HPP
#define JD_STATUS_HPP

#include "jd_status.h"

#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

/* Of what makes a call of C: it is compiled into who calls it, whatever the
 * optimisation, so that jd sees the program's line and not this header's. */
#if defined(__GNUC__)
#define JD_IN_PLACE [[gnu::always_inline]] inline
#else
#define JD_IN_PLACE inline
#endif

namespace jd
{

/* Where in the program a call stands; "" and 0 where the compiler has no way
 * to tell. Nobody gives the arguments. */
struct place {
#if defined(__GNUC__)
    place(const char *file_ = __builtin_FILE(), int line_ = __builtin_LINE())
#else
    place(const char *file_ = "", int line_ = 0)
#endif
        : file(file_), line(line_)
    {
    }

    const char *file;
    int line;
};

/* A call that has failed; what() is jd's whole sentence. */
class error : public std::runtime_error
{
  public:
    error(jd_status code, const std::string &sentence, place where = {})
        : std::runtime_error(sentence), code_(code), where_(where)
    {
    }

    jd_status code() const noexcept
    {
        return code_;
    }

    /* The call's file and line in the program. */
    place where() const noexcept
    {
        return where_;
    }

  private:
    jd_status code_;
    place where_;
};

/* What a call has come to, for who wants no exception. */
class status
{
  public:
    bool ok() const noexcept
    {
        return code_ == JD_OK;
    }

    jd_status code() const noexcept
    {
        return code_;
    }

    /* The sentence; "" where nothing has failed. */
    const char *what() const noexcept
    {
        return sentence_.c_str();
    }

    /* Takes a call of C's status, with the calling thread's sentence. Where
     * there is no memory for that, the status' name stands in its place. */
    void set(jd_status code) noexcept
    {
        code_ = code;
        sentence_.clear();
        if (code == JD_OK)
            return;
        try {
            sentence_ = jd_error_message();
        } catch (...) {
            sentence_ = "no memory";
        }
    }

  private:
    jd_status code_ = JD_OK;
    std::string sentence_;
};

/*
 * The last argument of every call that can fail: nothing, and a failure is
 * thrown; a jd::status, and it goes there.
 */
class on_failure
{
  public:
    on_failure(place where = {}) : where_(where)
    {
    }

    on_failure(status &out, place where = {}) : out_(&out), where_(where)
    {
    }

    /* Deals with what a call of C has returned; true where that is JD_OK. */
    bool operator()(jd_status code) const
    {
        if (out_)
            out_->set(code);
        else if (code != JD_OK)
            throw error(code, jd_error_message(), where_);
        return code == JD_OK;
    }

    bool throws() const noexcept
    {
        return !out_;
    }

  private:
    status *out_ = nullptr;
    place where_;
};

/* What a call of C has returned: JD_OK, or an exception. */
inline void check(jd_status code, on_failure failure = {})
{
    failure(code);
}

/* A text that C takes; NULL is allowed where C allows it. */
class c_text
{
  public:
    c_text(const char *text) noexcept : text_(text)
    {
    }

    c_text(const std::string &text) noexcept : text_(text.c_str())
    {
    }

    operator const char *() const noexcept
    {
        return text_;
    }

  private:
    const char *text_;
};

namespace detail
{

/* For the calls of C that say by their value alone that they have failed. */
template <class T> T value_or(bool ok, jd_status code, T value, on_failure f)
{
    f(ok ? JD_OK : code);
    return value;
}

/* What the program's callables throw, brought from where C calls them to where
 * the program called C: perhaps on several threads, of which the first counts.
 */
class carrier
{
  public:
    /* Runs one; of what it throws C gets the status and the sentence. */
    template <class Body> jd_status run(Body &&body) noexcept
    {
        try {
            if constexpr (std::is_convertible_v<decltype(body()), jd_status>)
                return note(body());
            else
                body();
            return JD_OK;
        } catch (const error &e) {
            return keep(e.code(), e.what(), true);
        } catch (const std::bad_alloc &) {
            return keep(JD_RESOURCE_EXHAUSTED, "std::bad_alloc", false);
        } catch (const std::exception &e) {
            return keep(JD_UNKNOWN, e.what(), false);
        } catch (...) {
            return keep(JD_UNKNOWN, "an exception that is no std::exception",
                        false);
        }
    }

    /* Ends the call that ran them: its status, or what was thrown. An error of
     * jd is made anew, for C's sentence says also where it happened. */
    void finish(jd_status code, on_failure failure)
    {
        if (code != JD_OK && failure.throws() && thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
        failure(code);
    }

  private:
    jd_status note(jd_status code)
    {
        std::lock_guard<std::mutex> guard(lock_);
        is_settled_ = is_settled_ || code != JD_OK;
        return code;
    }

    jd_status keep(jd_status code, const char *sentence, bool is_jds) noexcept
    {
        std::lock_guard<std::mutex> guard(lock_);
        if (!is_settled_ && !is_jds)
            thrown_ = std::current_exception();
        is_settled_ = true;
        return jd_fail_with(code == JD_OK ? JD_UNKNOWN : code, "%s", sentence);
    }

    std::mutex lock_;
    bool is_settled_ = false;
    std::exception_ptr thrown_;
};

} // namespace detail
} // namespace jd

#endif
