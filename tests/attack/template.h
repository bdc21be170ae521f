/* Families of kernels as data: a spec with holes. tests/attack/pairs/NAME.json is
 * a spec whose strings mention $NAME, and
 *
 *   "x-attack": {
 *     "numbers": {"C": [1, 7, 77], "N1": "C + 1"},
 *     "holes": {"MASK": {"right": ["col < K", "col <= K - 1"], "wrong": ["col <= K"]}}
 *   }
 *
 * Numbers are drawn, or made of others by + - * from left to right. A right
 * member of the family fills every hole with one of its right texts: all of
 * them say the same. A wrong one fills exactly one hole with a wrong text, after
 * which kernel and reference differ for some sizes and inputs; "open" lists wrong
 * texts that the program still takes for right (TEST_OPEN=1 draws them). A string that is
 * only "$NAME" becomes what the hole holds: a number, a list (its elements take
 * the place of the string), any value. An object in place of a text fills the
 * holes that it names. */
#ifndef TESTS_ATTACK_TEMPLATE_H
#define TESTS_ATTACK_TEMPLATE_H

#include <ctype.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "base/rng.h"
#include "tests/unit/support.h"

typedef struct expansion {
    tp_arena *a;
    tp_rng *rng;
    struct json_object *values; /* by name: what was chosen */
    tp_buf note;                /* "MASK: col <= K, C = 77" */
} expansion;

static inline struct json_object *member(struct json_object *o, const char *key)
{
    struct json_object *v = NULL;
    return o && json_object_object_get_ex(o, key, &v) ? v : NULL;
}

static inline const char *value_text(struct json_object *v)
{
    return json_object_is_type(v, json_type_string) ? json_object_get_string(v)
                                                    : json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN);
}

/* "C * 8 + 3": numbers and names, from left to right. */
static inline int64_t number_of(const expansion *x, const char *s)
{
    int64_t total = 0;
    char op = '+';
    while (*s) {
        char name[32];
        size_t n = 0;
        int64_t v;
        while (*s == ' ')
            s++;
        while ((isalnum((unsigned char)*s) || *s == '_') && n < sizeof name - 1)
            name[n++] = *s++;
        name[n] = 0;
        if (n == 0)
            fail_msg("a number is no sum of names and numbers: %s", s);
        v = isdigit((unsigned char)*name) ? strtoll(name, NULL, 10) : json_object_get_int64(member(x->values, name));
        total = op == '+' ? total + v : op == '-' ? total - v : total * v;
        while (*s == ' ')
            s++;
        if (*s)
            op = *s++;
    }
    return total;
}

static inline struct json_object *any_of(expansion *x, struct json_object *list)
{
    return json_object_array_get_idx(list, tp_rng_below(x->rng, json_object_array_length(list)));
}

static inline void draw_numbers(expansion *x, struct json_object *numbers)
{
    if (!numbers)
        return;
    json_object_object_foreach (numbers, key, v) {
        int64_t n = json_object_is_type(v, json_type_string) ? number_of(x, json_object_get_string(v))
                                                             : json_object_get_int64(any_of(x, v));
        json_object_object_add(x->values, key, json_object_new_int64(n));
        tp_buf_printf(&x->note, "%s%s = %lld", x->note.n ? ", " : "", key, (long long)n);
    }
}

/* Text with every $NAME replaced, again and again. */
static inline const char *filled(expansion *x, const char *s)
{
    for (int depth = 0; strchr(s, '$') && depth < 16; depth++) {
        tp_buf b = {.arena = x->a};
        for (; *s; s++) {
            char name[32];
            size_t n = 0;
            if (*s != '$' || !isupper((unsigned char)s[1])) {
                tp_buf_add(&b, s, 1);
                continue;
            }
            while ((isupper((unsigned char)s[1]) || isdigit((unsigned char)s[1])) && n < sizeof name - 1)
                name[n++] = *++s;
            name[n] = 0;
            struct json_object *v = member(x->values, name);
            if (!v)
                fail_msg("no hole of the name %s", name);
            tp_buf_c(&b, value_text(v));
        }
        s = tp_cstr(x->a, tp_buf_view(&b));
    }
    return s;
}

static inline struct json_object *expanded(expansion *x, struct json_object *v);

static inline struct json_object *expanded_string(expansion *x, struct json_object *v)
{
    const char *s = json_object_get_string(v);
    bool whole = *s == '$' && isupper((unsigned char)s[1]);
    for (const char *c = s + 1; whole && *c; c++)
        whole = isupper((unsigned char)*c) || isdigit((unsigned char)*c);
    struct json_object *chosen = whole ? member(x->values, s + 1) : NULL;
    if (chosen)
        return expanded(x, chosen);
    return json_object_new_string(filled(x, s));
}

/* A copy with all holes filled. */
static inline struct json_object *expanded(expansion *x, struct json_object *v)
{
    if (json_object_is_type(v, json_type_string))
        return expanded_string(x, v);
    if (json_object_is_type(v, json_type_array)) {
        struct json_object *list = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(v); i++) {
            struct json_object *old = json_object_array_get_idx(v, i), *e = expanded(x, old);
            bool splice = json_object_is_type(old, json_type_string) && json_object_is_type(e, json_type_array);
            for (size_t j = 0; splice && j < json_object_array_length(e); j++)
                json_object_array_add(list, json_object_get(json_object_array_get_idx(e, j)));
            if (splice)
                json_object_put(e);
            else
                json_object_array_add(list, e);
        }
        return list;
    }
    if (json_object_is_type(v, json_type_object)) {
        struct json_object *o = json_object_new_object();
        json_object_object_foreach (v, key, member_value) {
            if (strcmp(key, "x-attack") != 0)
                json_object_object_add(o, key, expanded(x, member_value));
        }
        return o;
    }
    return json_object_get(v);
}

static inline struct json_object *wrongs_of(struct json_object *hole)
{
    return member(hole, getenv("TEST_OPEN") ? "open" : "wrong");
}

/* One of the wrong texts of all holes, by number. */
static inline void choose(expansion *x, struct json_object *holes, int64_t wrong)
{
    if (!holes)
        return;
    json_object_object_foreach (holes, key, hole) {
        struct json_object *wrongs = wrongs_of(hole);
        int64_t n = wrongs ? (int64_t)json_object_array_length(wrongs) : 0;
        bool here = wrong >= 0 && wrong < n;
        struct json_object *chosen =
            here ? json_object_array_get_idx(wrongs, (size_t)wrong) : any_of(x, member(hole, "right"));
        if (json_object_is_type(chosen, json_type_object)) { /* several holes at once */
            json_object_object_foreach (chosen, name, v)
                json_object_object_add(x->values, name, json_object_get(v));
        } else {
            json_object_object_add(x->values, key, json_object_get(chosen));
        }
        if (here)
            tp_buf_printf(&x->note, "%s%s: %s", x->note.n ? ", " : "", key, value_text(chosen));
        wrong = wrong < 0 ? -1 : wrong < n ? -1 : wrong - n;
    }
}

static inline int64_t count_wrongs(struct json_object *family)
{
    struct json_object *holes = member(member(family, "x-attack"), "holes");
    int64_t n = 0;
    if (!holes)
        return 0;
    json_object_object_foreach (holes, key, hole) {
        (void)key;
        n += wrongs_of(hole) ? (int64_t)json_object_array_length(wrongs_of(hole)) : 0;
    }
    return n;
}

/* A member of the family: wrong < 0: a right one, else with wrong text number
 * `wrong`. *note says what was chosen. Texts live in `a`. */
static inline const char *expand(tp_arena *a, tp_rng *rng, struct json_object *family, int64_t wrong, const char **note)
{
    struct json_object *attack = member(family, "x-attack");
    expansion x = {.a = a, .rng = rng, .values = json_object_new_object(), .note = {.arena = a}};
    draw_numbers(&x, member(attack, "numbers"));
    choose(&x, member(attack, "holes"), wrong);
    struct json_object *spec = expanded(&x, family);
    const char *text = tp_cstr(a, tp_printf(a, "%s", json_object_to_json_string_ext(spec, JSON_C_TO_STRING_PLAIN)));
    json_object_put(spec);
    json_object_put(x.values);
    *note = tp_cstr(a, tp_buf_view(&x.note));
    return text;
}

#endif
