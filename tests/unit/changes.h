/* Specs with text changes: what tests plant. */
#ifndef TP_TEST_CHANGES_H
#define TP_TEST_CHANGES_H

#include <glob.h>

#include "tests/unit/files.h"

/* The one file that `pattern` names, with the first of each pair of `changes`,
 * where it stands first, replaced by the second. */
static inline tp_str changed(place *p, const char *pattern, struct json_object *changes)
{
    tp_str text, why;
    glob_t g;
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    assert_int_equal(tp_read_file(p->a, g.gl_pathv[0], TP_JSON_MAX_BYTES, &text, &why), TP_OK);
    globfree(&g);
    for (size_t i = 0; i < json_object_array_length(changes); i++) {
        struct json_object *pair = json_object_array_get_idx(changes, i);
        const char *from = json_object_get_string(json_object_array_get_idx(pair, 0)),
                   *to = json_object_get_string(json_object_array_get_idx(pair, 1));
        const char *at = memmem(text.p, text.n, from, strlen(from));
        if (!at)
            fail_msg("%s has no %s", pattern, from);
        tp_buf b = {.arena = p->a};
        tp_buf_add(&b, text.p, (size_t)(at - text.p));
        tp_buf_c(&b, to);
        tp_buf_add(&b, at + strlen(from), text.n - (size_t)(at - text.p) - strlen(from));
        text = tp_buf_view(&b);
    }
    return text;
}

#endif
