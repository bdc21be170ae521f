#include "spec/members.h"

#include "spec/scope.h"

const tp_member_row *tp_members(size_t *n)
{
    static const tp_member_row ROWS[] = {
#define O(object, what)
#define M(object, key, need, schema, text) {TP_OBJECT_##object, key, TP_##need, schema, text},
#include "spec/members.def"
#undef O
#undef M
    };
    *n = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}

const char *tp_object_name(tp_object o)
{
    static const char *const NAMES[] = {
#define O(object, what) #object,
#define M(object, key, need, schema, text)
#include "spec/members.def"
#undef O
#undef M
    };
    return NAMES[o];
}

const char *tp_object_what(tp_object o)
{
    static const char *const WHAT[] = {
#define O(object, what) what,
#define M(object, key, need, schema, text)
#include "spec/members.def"
#undef O
#undef M
    };
    return WHAT[o];
}

void tp_check_members(tp_ctx *c, const tp_json *v, tp_object o)
{
    const char *names[64] = {NULL}, *later[8] = {NULL};
    size_t n, k = 0, l = 0;
    const tp_member_row *rows = tp_members(&n);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].object == o && rows[i].need == TP_LATER)
            later[l++] = rows[i].key;
        else if (rows[i].object == o)
            names[k++] = rows[i].key;
    }
    tp_expect_type(c, v, TP_J_OBJECT, tp_object_what(o));
    tp_check_keys(c, v, names, later, tp_object_what(o));
}
