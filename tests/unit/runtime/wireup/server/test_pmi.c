/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pmi.c - the parts of PMI-1 that need no connection: lines in their
 * pieces, what has been put, and the processes' hosts in MPICH's words.
 */
#include "runtime/wireup/server/pmi.h"
#include "runtime/wireup/server/pmi_kvs.h"
#include "runtime/wireup/server/pmi_v1_wire.h"
#include "tests/unit/unit.h"

#include <stdio.h>

/* ---- lines -------------------------------------------------------------- */

static const struct {
    const char *line;
    struct pmi_request request;
} lines[] = {
    { "cmd=init pmi_version=1 pmi_subversion=1",
      { PMI_INIT, "init", "", "", "", "1" } },
    { "cmd=put kvsname=jd key=bc-0 value=#a=b c$",
      { PMI_PUT, "put", "bc-0", "#a=b c$", "", "" } },
    { "  cmd=get   kvsname=jd key=bc-0  ",
      { PMI_GET, "get", "bc-0", "", "", "" } },
    { "cmd=barrier_in", { PMI_BARRIER_IN, "barrier_in", "", "", "", "" } },
    { "cmd=abort exitcode=7 because", { PMI_ABORT, "abort", "", "", "7", "" } },
    { "mcmd=spawn", { PMI_REFUSED, "spawn_result", "", "", "", "" } },
    { "cmd=lookup_name service=x",
      { PMI_REFUSED, "lookup_result", "", "", "", "" } },
    { "cmd=dance", { PMI_UNKNOWN, "dance", "", "", "", "" } },
    { "cmd=", { PMI_UNKNOWN, "", "", "", "", "" } },
    { "=", { PMI_UNKNOWN, "", "", "", "", "" } },
    { "", { PMI_UNKNOWN, "", "", "", "", "" } },
    { "barrier_in", { PMI_UNKNOWN, "", "", "", "", "" } },
};

START_TEST(a_line_has_its_pieces)
{
    char line[128];
    struct pmi_request got;
    const struct pmi_request *wanted = &lines[_i].request;
    strcpy(line, lines[_i].line);
    pmi_v1_wire_read(line, &got);
    ck_assert_int_eq(got.command, wanted->command);
    ck_assert_str_eq(got.name, wanted->name);
    ck_assert_str_eq(got.key, wanted->key);
    ck_assert_str_eq(got.value, wanted->value);
    ck_assert_str_eq(got.code, wanted->code);
    ck_assert_str_eq(got.version, wanted->version);
}
END_TEST

/* ---- what has been put -------------------------------------------------- */

static void expect_fresh(const struct pmi_kvs *kvs, const char *text)
{
    ck_assert_uint_eq(jd__bytes_size(&kvs->fresh), strlen(text));
    ck_assert_mem_eq(kvs->fresh.data + kvs->fresh.begin, text, strlen(text));
}

START_TEST(what_is_put_is_known_and_fresh)
{
    struct pmi_kvs kvs = { .tree = NULL };
    ck_assert_ptr_null(pmi_kvs_get(&kvs, "a"));
    ck_assert(pmi_kvs_put(&kvs, "a", "1 = one"));
    ck_assert(pmi_kvs_put(&kvs, "b", ""));
    ck_assert(pmi_kvs_know(&kvs, "c", "3"));
    ck_assert_str_eq(pmi_kvs_get(&kvs, "a"), "1 = one");
    ck_assert_str_eq(pmi_kvs_get(&kvs, "b"), "");
    ck_assert_str_eq(pmi_kvs_get(&kvs, "c"), "3");
    expect_fresh(&kvs, "a=1 = one\nb=\n");
    ck_assert(pmi_kvs_put(&kvs, "a", "uno"));
    ck_assert_str_eq(pmi_kvs_get(&kvs, "a"), "uno");
    pmi_kvs_finish(&kvs);
}
END_TEST

START_TEST(what_another_host_has_put_is_known)
{
    static const char text[] = "a=1\nb==\n";
    struct pmi_kvs kvs = { .tree = NULL };
    ck_assert(pmi_kvs_merge(&kvs, text, sizeof text - 1));
    ck_assert(pmi_kvs_merge(&kvs, NULL, 0));
    ck_assert_str_eq(pmi_kvs_get(&kvs, "a"), "1");
    ck_assert_str_eq(pmi_kvs_get(&kvs, "b"), "=");
    ck_assert_uint_eq(jd__bytes_size(&kvs.fresh), 0);
    ck_assert(!pmi_kvs_merge(&kvs, "no pair\n", 8));
    pmi_kvs_finish(&kvs);
}
END_TEST

static const char *const bad_keys[] = { "", "a b", "a=b", "a\nb" };

START_TEST(a_bad_key_is_not_put)
{
    struct pmi_kvs kvs = { .tree = NULL };
    ck_assert(!pmi_kvs_put(&kvs, bad_keys[_i], "1"));
    ck_assert(!pmi_kvs_put(&kvs, "a", "1\n2"));
    ck_assert_ptr_null(kvs.tree);
    ck_assert_uint_eq(jd__bytes_size(&kvs.fresh), 0);
}
END_TEST

/* ---- hosts -------------------------------------------------------------- */

enum { MOST = 8 };

/* "0,1;2,3" as a plan. */
struct played_plan {
    Jd__Plan plan;
    Jd__PlanHost hosts[MOST], *pointers[MOST];
    uint32_t processes[MOST][MOST];
};

static void play_plan(const char *text, struct played_plan *ret_played)
{
    struct played_plan *p = ret_played;
    size_t h = 0;
    jd__plan__init(&p->plan);
    for (size_t i = 0; i < MOST; i++) {
        jd__plan_host__init(&p->hosts[i]);
        p->hosts[i].processes = p->processes[i];
        p->pointers[i] = &p->hosts[i];
    }
    for (; *text; text++) {
        if (*text == ';')
            h++;
        if (*text < '0' || *text > '9')
            continue;
        p->processes[h][p->hosts[h].n_processes++] = (uint32_t)(*text - '0');
        p->plan.count++;
    }
    p->plan.hosts = p->pointers;
    p->plan.n_hosts = h + 1;
}

static const struct {
    const char *hosts;
    const char *mapping;
} mappings[] = {
    { "0", "(vector,(0,1,1))" },
    { "0,1,2,3", "(vector,(0,1,4))" },
    { "0,1;2,3", "(vector,(0,2,2))" },
    { "0,1;2,3;4", "(vector,(0,2,2),(2,1,1))" },
    { "0;1,2,3", "(vector,(0,1,1),(1,1,3))" },
    { "0,2;1,3", "(vector,(0,2,1),(0,2,1))" },
    { "0,3,4;1;2", "(vector,(0,3,1),(0,1,2))" },
};

START_TEST(hosts_are_blocks)
{
    static struct played_plan played;
    char text[64];
    play_plan(mappings[_i].hosts, &played);
    ck_assert(pmi_print_mapping(&played.plan, text, sizeof text));
    ck_assert_str_eq(text, mappings[_i].mapping);
    ck_assert(!pmi_print_mapping(&played.plan, text, 12));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("pmi");
    TCase *tcase = unit_case(suite, "pmi");
    tcase_add_loop_test(tcase, a_line_has_its_pieces, 0, COUNT(lines));
    tcase_add_test(tcase, what_is_put_is_known_and_fresh);
    tcase_add_test(tcase, what_another_host_has_put_is_known);
    tcase_add_loop_test(tcase, a_bad_key_is_not_put, 0, COUNT(bad_keys));
    tcase_add_loop_test(tcase, hosts_are_blocks, 0, COUNT(mappings));
    return unit_main(suite);
}
