/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/svg.h"
#include "base/colour.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts -------------------------------------------------------------- */

/* How many bytes the letter of UTF-8 at text has; 0: there is none. */
static size_t letter_length(const unsigned char *text, size_t left)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned first = text[0];
    size_t length = first < 0x80   ? 1
                    : first < 0xc0 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf8 ? 4
                                   : 0;
    if (length < 2 || length > left)
        return length > left ? 0 : length;
    unsigned code = first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fU);
    }
    bool is_letter = code >= least[length] && code <= 0x10ffff &&
                     (code < 0xd800 || code > 0xdfff) && (code & ~1U) != 0xfffe;
    return is_letter ? length : 0;
}

static void escape_byte(FILE *out, char byte)
{
    switch (byte) {
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '&':
        fputs("&amp;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    default:
        fputc((unsigned char)byte < ' ' && !strchr("\t\n", byte) ? '?' : byte,
              out);
    }
}

void jd__svg_escape_part(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0, step; i < length; i += step) {
        step = letter_length((const unsigned char *)text + i, length - i);
        if (step == 1)
            escape_byte(out, text[i]);
        else if (step)
            fwrite(text + i, 1, step, out);
        else
            fputc('?', out);
        step += step == 0;
    }
}

void jd__svg_escape(FILE *out, const char *text)
{
    jd__svg_escape_part(out, text, strlen(text));
}

/* ---- the sheet ---------------------------------------------------------- */

/* Grounds of boxes under dark letters, as a terminal has them; and under light
 * ones. */
static const char *const grounds[JD_COLOURS][2] = {
    { "#afd7ff", "#1f4e79" }, { "#ffd7af", "#7a4a1d" },
    { "#afffaf", "#1f6b2e" }, { "#ffd7ff", "#6b2f6b" },
    { "#ffffaf", "#5e5e18" }, { "#afffff", "#1a6666" },
    { "#ffafaf", "#7a2a2a" }, { "#d7ffd7", "#3d6b3d" },
    { "#d7d7ff", "#3a3a7a" }, { "#ffd787", "#705300" },
    { "#afd7d7", "#2f5f5f" }, { "#ffafd7", "#7a2a5a" },
};

/* Without style sheets letters are dark on a white sheet all the same. */
static void print_scheme(FILE *out, bool is_dark)
{
    fprintf(out, "text{fill:%s}.s{fill:%s}.o{fill:none}rect{stroke:%s}",
            is_dark ? "#f0f0f0" : "#1a1a1a", is_dark ? "#15181c" : "#ffffff",
            is_dark ? "#8a9099" : "#666666");
    for (int i = 0; i < JD_COLOURS; i++)
        fprintf(out, ".c%d{fill:%s}", i, grounds[i][is_dark]);
    fputc('\n', out);
}

static void print_head(const struct jd_svg *svg, const char *title, FILE *out)
{
    int width = svg->width + JD_SVG_MARGIN;
    int height = svg->height + JD_SVG_MARGIN;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
            "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>",
            width, height, width, height);
    jd__svg_escape(out, title);
    fputs("</title>\n<style>\ntext{font:13px monospace;white-space:pre}"
          ".s{stroke:none}\n",
          out);
    print_scheme(out, false);
    fputs("@media (prefers-color-scheme:dark){\n", out);
    print_scheme(out, true);
    fprintf(out,
            "}\n</style>\n<rect class=\"s\" width=\"%d\" height=\"%d\" "
            "fill=\"#ffffff\"/>\n",
            width, height);
}

jd_status jd__svg_begin(struct jd_svg *svg, const char *operation)
{
    *svg = (struct jd_svg){ .width = 0 };
    return jd__text_begin(&svg->body) ? JD_OK
                                      : jd__fail_no_memory(operation, BUFSIZ);
}

jd_status jd__svg_write(struct jd_svg *svg, const char *title, FILE *out,
                        const char *operation)
{
    struct jd_text whole;
    char *body = jd__text_end(&svg->body);
    FILE *page = body ? jd__text_begin(&whole) : NULL;
    if (page) {
        print_head(svg, title, page);
        fputs(body, page);
        fputs("</svg>\n", page);
    }
    free(body);
    return page ? jd__text_write(&whole, out, operation, "picture")
                : jd__fail_no_memory(operation, svg->body.length);
}

/* ---- what is on it ------------------------------------------------------ */

static void make_room(struct jd_svg *svg, int right, int bottom)
{
    svg->width = right > svg->width ? right : svg->width;
    svg->height = bottom > svg->height ? bottom : svg->height;
}

/* Bytes that go on with a letter are none. */
int jd__svg_width(const char *words)
{
    int letters = 0;
    for (; *words; words++)
        letters += (*words & 0xc0) != 0x80;
    return letters * JD_SVG_LETTER;
}

void jd__svg_words(struct jd_svg *svg, int x, int y, const char *words)
{
    fprintf(svg->body.out, "<text x=\"%d\" y=\"%d\">", x, y + 13);
    jd__svg_escape(svg->body.out, words);
    fputs("</text>\n", svg->body.out);
    make_room(svg, x + jd__svg_width(words), y + JD_SVG_LINE);
}

int jd__svg_lines(struct jd_svg *svg, int y, const char *lines)
{
    while (*lines) {
        int length = (int)strcspn(lines, "\n");
        char *line = strndup(lines, (size_t)length);
        if (line)
            jd__svg_words(svg, JD_SVG_MARGIN, y, line);
        free(line);
        y += JD_SVG_LINE;
        lines += length + (lines[length] == '\n');
    }
    return y;
}

int jd__svg_end_lines(struct jd_svg *svg, int y, struct jd_text *lines)
{
    char *text = jd__text_end(lines);
    int below = jd__svg_lines(svg, y, text ? text : "");
    free(text);
    return below;
}

void jd__svg_box(struct jd_svg *svg, const struct jd_svg_box *box)
{
    FILE *out = svg->body.out;
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" ", box->x,
            box->y, box->width, box->height);
    if (box->colour < 0)
        fputs("class=\"o\" fill=\"none\" stroke=\"#666666\"/>\n", out);
    else
        fprintf(out, "class=\"c%d\" fill=\"%s\"/>\n", box->colour % JD_COLOURS,
                grounds[box->colour % JD_COLOURS][0]);
    make_room(svg, box->x + box->width, box->y + box->height);
}
