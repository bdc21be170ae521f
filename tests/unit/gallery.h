/* Specs with their cases; those of the gallery, one after the other. */
#ifndef TP_TEST_GALLERY_H
#define TP_TEST_GALLERY_H

#include <glob.h>

#include "kernels/trial/internal.h"
#include "kernels/trial/trial.h"
#include "tests/unit/support.h"

typedef struct reading {
    loaded *l;
    tp_cases cases;
} reading;

static inline void read_cases(void *ctx)
{
    reading *r = ctx;
    r->cases = tp_cases_read(&r->l->ctx, r->l->spec, 1);
}

/* The gallery; no kernel is kept. */
static inline void for_gallery(void (*one)(const reading *k, void *ctx), void *ctx)
{
    glob_t g;
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (strstr(g.gl_pathv[i], "/broken/"))
            continue;
        reading r = {.l = load_file(g.gl_pathv[i])};
        assert_non_null(r.l->spec);
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        one(&r, ctx);
        unload(r.l);
    }
    globfree(&g);
}

#endif
