/* What objects a spec is made of: rows of members.def. */
#ifndef TP_MEMBERS_H
#define TP_MEMBERS_H

#include "spec/json.h"

typedef enum tp_object {
#define O(object, what) TP_OBJECT_##object,
#define M(object, key, need, schema, text)
#include "spec/members.def"
#undef O
#undef M
    TP_OBJECTS
} tp_object;

typedef enum tp_need { TP_OPTIONAL, TP_REQUIRED, TP_LATER } tp_need;
typedef struct tp_member_row {
    tp_object object;
    const char *key;
    tp_need need;
    const char *schema, *text;
} tp_member_row;
const tp_member_row *tp_members(size_t *n);
const char *tp_object_name(tp_object o); /* "axis", for definitions */
const char *tp_object_what(tp_object o); /* "a grid axis", for messages */

/* Raises TP001 when v is no object, has other members, or lacks one. */
void tp_check_members(tp_ctx *c, const tp_json *v, tp_object o);

#endif
