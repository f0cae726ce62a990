/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xml.h - whether a text is well-formed XML, as far as pictures use it: tags
 * that are nested, attributes in double quotes, references of four characters.
 */
#ifndef TESTS_UNIT_XML_H
#define TESTS_UNIT_XML_H

#include <stdbool.h>
#include <string.h>

enum { XML_DEPTH = 8, XML_NAME = 16 };

static inline bool xml_skip_reference(const char **at)
{
    static const char *const known[] = { "&lt;", "&gt;", "&amp;", "&quot;" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(*at, known[i], strlen(known[i])) == 0) {
            *at += strlen(known[i]);
            return true;
        }
    return false;
}

static inline bool xml_is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/* From behind a tag's name to behind its ">". */
static inline bool xml_skip_attributes(const char **at, bool *ret_is_closed)
{
    while (**at == ' ') {
        ++*at;
        while (xml_is_name(**at))
            ++*at;
        if (strncmp(*at, "=\"", 2) != 0)
            return false;
        for (*at += 2; **at != '"';)
            if (!**at || **at == '<' ||
                (**at == '&' ? !xml_skip_reference(at) : !++*at))
                return false;
        ++*at;
    }
    *ret_is_closed = **at == '/';
    *at += *ret_is_closed;
    return *(*at)++ == '>';
}

/* The tags that are open. */
struct xml_tags {
    char names[XML_DEPTH][XML_NAME];
    int depth, roots;
};

static inline bool xml_skip_tag(const char **at, struct xml_tags *tags)
{
    bool is_end = (*at)[1] == '/', is_closed = false;
    const char *name = *at + 1 + is_end;
    for (*at = name; xml_is_name(**at);)
        ++*at;
    size_t length = (size_t)(*at - name);
    if (length == 0 || length >= XML_NAME || tags->depth == XML_DEPTH)
        return false;
    if (is_end) {
        const char *open = tags->depth ? tags->names[--tags->depth] : "";
        return strlen(open) == length && strncmp(open, name, length) == 0 &&
               *(*at)++ == '>';
    }
    tags->roots += tags->depth == 0;
    memcpy(tags->names[tags->depth], name, length);
    tags->names[tags->depth++][length] = '\0';
    bool is_good = xml_skip_attributes(at, &is_closed);
    tags->depth -= is_closed;
    return is_good;
}

static inline bool xml_is_well_formed(const char *at)
{
    struct xml_tags tags = { .depth = 0 };
    while (*at) {
        bool is_good = *at == '<'        ? xml_skip_tag(&at, &tags)
                       : *at == '&'      ? xml_skip_reference(&at)
                       : tags.depth == 0 ? *at++ == '\n'
                                         : *at++ != '\0';
        if (!is_good)
            return false;
    }
    return tags.depth == 0 && tags.roots == 1;
}

#endif
