/* A failing spec made smaller: parts are taken out as long as it still fails. */
#ifndef TESTS_MINIMISE_H
#define TESTS_MINIMISE_H

#include <json-c/json.h>

#include "tests/unit/support.h"

/* Does this text still show the failure? A text that is no spec does not. */
typedef bool (*still_fails)(const char *spec, void *ctx);

typedef struct minimiser {
    struct json_object *doc;
    still_fails fails;
    void *ctx;
    int tries; /* left */
} minimiser;

static inline bool keeps_failing(minimiser *m)
{
    return m->tries-- > 0 && m->fails(json_object_to_json_string_ext(m->doc, JSON_C_TO_STRING_PLAIN), m->ctx);
}

/* Take elements of the list under `key` out, halves first. */
static inline bool shorten(minimiser *m, struct json_object *parent, const char *key)
{
    struct json_object *list = NULL;
    bool changed = false;
    if (!json_object_object_get_ex(parent, key, &list) || !json_object_is_type(list, json_type_array))
        return false;
    for (size_t size = json_object_array_length(list) / 2 + 1; size > 0; size /= 2)
        for (size_t from = 0; from < json_object_array_length(list);) {
            struct json_object *shorter = json_object_new_array(), *before = json_object_get(list);
            for (size_t i = 0; i < json_object_array_length(list); i++)
                if (i < from || i >= from + size)
                    json_object_array_add(shorter, json_object_get(json_object_array_get_idx(list, i)));
            json_object_object_add(parent, key, shorter);
            if (keeps_failing(m)) {
                changed = true;
                list = shorter;
                json_object_put(before);
            } else {
                json_object_object_add(parent, key, before);
                from += size;
            }
        }
    return changed;
}

/* Take keys of an object out that it can do without. */
static inline bool strip(minimiser *m, struct json_object *object)
{
    static const char *const KEYS[] = {"valid",     "buffers",     "alias", "revisit", "discard",
                                       "semantics", "multiple_of", "where", "scratch", "block_shape"};
    bool changed = false;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        struct json_object *value = NULL;
        if (!json_object_object_get_ex(object, KEYS[i], &value))
            continue;
        json_object_get(value);
        json_object_object_del(object, KEYS[i]);
        if (keeps_failing(m))
            changed = true, json_object_put(value);
        else
            json_object_object_add(object, KEYS[i], value);
    }
    return changed;
}

static inline bool strip_each(minimiser *m, const char *key)
{
    struct json_object *list = NULL;
    bool changed = false;
    json_object_object_get_ex(m->doc, key, &list);
    for (size_t i = 0; list && i < json_object_array_length(list); i++)
        changed |= strip(m, json_object_array_get_idx(list, i));
    return changed;
}

/* The smallest text found; in the arena. */
static inline const char *minimise(tp_arena *a, const char *spec, still_fails fails, void *ctx)
{
    static const char *const LISTS[] = {"kernel", "where", "scratch", "inputs", "outputs", "grid"};
    minimiser m = {.doc = json_tokener_parse(spec), .fails = fails, .ctx = ctx, .tries = 2000};
    if (!m.doc)
        return spec;
    for (bool again = true; again;) {
        again = strip(&m, m.doc);
        for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++)
            again |= shorten(&m, m.doc, LISTS[i]);
        again |= strip_each(&m, "inputs") | strip_each(&m, "outputs") | strip_each(&m, "grid");
    }
    const char *text = tp_printf(a, "%s", json_object_to_json_string_ext(m.doc, JSON_C_TO_STRING_PLAIN)).p;
    json_object_put(m.doc);
    return text;
}

#endif
