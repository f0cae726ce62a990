/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * excerpt.h - what pictures show of a long list: its beginning and its end,
 * and "..." for what is between.
 *
 *     struct jd_excerpt shown = jd__excerpt(count, 16);
 *     for (int i = jd__excerpt_first(&shown); i < shown.count;
 *          i = jd__excerpt_next(&shown, i))
 *         ... i is -1 for "..." ...
 */
#ifndef BASE_EXCERPT_H
#define BASE_EXCERPT_H

/* The first `first` and the last `last` of count things. */
struct jd_excerpt {
    int first, last, count;
};

/* All, where they are at most `most`; else the last one, and before it as many
 * as fit into most; one of these is "...". */
static inline struct jd_excerpt jd__excerpt(int count, int most)
{
    if (count <= most)
        return (struct jd_excerpt){ count, 0, count };
    return (struct jd_excerpt){ most > 2 ? most - 2 : 1, 1, count };
}

/* The next one to show; -1: "..."; count: no more. */
static inline int jd__excerpt_next(const struct jd_excerpt *e, int i)
{
    if (i == -1)
        return e->count - e->last;
    return i + 1 == e->first && e->last > 0 ? -1 : i + 1;
}

static inline int jd__excerpt_first(const struct jd_excerpt *e)
{
    return e->first > 0 ? 0 : -1;
}

#endif
