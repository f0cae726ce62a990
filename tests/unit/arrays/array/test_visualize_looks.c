/* SPDX-License-Identifier: BSD-3-Clause */
/* test_visualize_looks.c - lines and colours of pictures, and who gets them. */
#include "tests/unit/drawing.h"

#include <fcntl.h>
#include <locale.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(lines_are_drawn_where_the_locale_has_them)
{
    if (!setlocale(LC_ALL, "C.UTF-8") && !setlocale(LC_ALL, "en_US.UTF-8"))
        return;
    char *text = draw(&two_by_three, "a,b", SHAPE(2, 3));
    ck_assert_str_eq(strstr(text, "\n\n"), "\n\n"
                                           "        [0,1)   [1,2)   [2,3)\n"
                                           "      ┌───────┬───────┬───────┐\n"
                                           "[0,1) │ 0:0   │ 0:1   │ 0:2   │\n"
                                           "      ├───────┼───────┼───────┤\n"
                                           "[1,2) │ 1:0   │ 1:1   │ 1:2   │\n"
                                           "      └───────┴───────┴───────┘\n");
    free(text);
}
END_TEST

static bool is_coloured(void)
{
    char *text = draw(&two_by_three, "a,b", SHAPE(2, 3));
    bool result = has(text, "\033[");
    free(text);
    return result;
}

START_TEST(colours_are_asked_for)
{
    ck_assert(!is_coloured());
    setenv("CLICOLOR_FORCE", "1", 1);
    ck_assert(is_coloured());
    setenv("NO_COLOR", "", 1);
    ck_assert(is_coloured());
    setenv("NO_COLOR", "1", 1);
    ck_assert(!is_coloured());
    unsetenv("NO_COLOR");
    setenv("CLICOLOR_FORCE", "0", 1);
    ck_assert(!is_coloured());
}
END_TEST

START_TEST(boxes_are_coloured_and_nothing_else)
{
    setenv("CLICOLOR_FORCE", "1", 1);
    char *text = draw(&two_by_three, "a,b", SHAPE(2, 3));
#define ON "\033[38;5;16;48;5;"
#define OFF "\033[0m"
    ck_assert_str_eq(strstr(text, "\n\n"),
                     "\n\n"
                     "        [0,1)   [1,2)   [2,3)\n"
                     "      +-------+-------+-------+\n"
                     "[0,1) |" ON "153m 0:0   " OFF "|" ON "223m 0:1   " OFF
                     "|" ON "157m 0:2   " OFF "|\n"
                     "      +-------+-------+-------+\n"
                     "[1,2) |" ON "159m 1:0   " OFF "|" ON "217m 1:1   " OFF
                     "|" ON "194m 1:2   " OFF "|\n"
                     "      +-------+-------+-------+\n");
    free(text);
    text = draw(&(struct made){ 2, { 32, 32 }, 1 }, "a,b", SHAPE(32, 32));
    ck_assert(has(text, "\n...     | ...     | ...     |"));
    free(text);
}
END_TEST

/* Draws into a new terminal; in a child, which it controls or not. Gives
 * whether there were colours. The child stays until they are read: what has not
 * come through is lost where the one who leads a terminal's session ends. */
static bool terminal_has_colours(bool is_controlling)
{
    int owner = posix_openpt(O_RDWR | O_NOCTTY), status, hold[2];
    ck_assert_int_ge(owner, 0);
    ck_assert_int_eq(pipe(hold), 0);
    ck_assert_int_eq(grantpt(owner), 0);
    ck_assert_int_eq(unlockpt(owner), 0);
    const char *name = ptsname(owner);
    pid_t child = fork();
    if (child == 0) {
        jd_sharding *sharding = make_sharding(&two_by_three, "a,b");
        setsid();
        int terminal = open(name, O_RDWR | (is_controlling ? 0 : O_NOCTTY));
        FILE *out = fdopen(terminal, "w");
        char byte;
        close(hold[1]);
        if (jd_visualize_sharding(sharding, SHAPE(2, 3), out) != JD_OK)
            _exit(1);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 2);
    }
    close(hold[0]);
    char text[4096] = "";
    ssize_t size = 0, more = 1;
    while (more > 0 && !has(text, "1:2") && size < 4000) {
        more = read(owner, text + size, sizeof text - 1 - (size_t)size);
        size += more > 0 ? more : 0;
    }
    close(hold[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(has(text, "1:2"));
    close(owner);
    return has(text, "\033[");
}

START_TEST(a_persons_terminal_has_colours)
{
    setenv("TERM", "xterm", 1);
    ck_assert(terminal_has_colours(true));
    ck_assert(!terminal_has_colours(false));
    setenv("NO_COLOR", "1", 1);
    ck_assert(!terminal_has_colours(true));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    ck_assert(!terminal_has_colours(true));
    unsetenv("TERM");
    ck_assert(!terminal_has_colours(true));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("visualize_looks");
    TCase *lines = plain_case(suite, "lines");
    tcase_add_test(lines, lines_are_drawn_where_the_locale_has_them);
    TCase *colours = plain_case(suite, "colours");
    tcase_add_test(colours, colours_are_asked_for);
    tcase_add_test(colours, boxes_are_coloured_and_nothing_else);
    tcase_add_test(colours, a_persons_terminal_has_colours);
    return unit_main(suite);
}
