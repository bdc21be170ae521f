/* Specs with their cases; those of the gallery, one after the other. */
#ifndef TP_TEST_GALLERY_H
#define TP_TEST_GALLERY_H

#include <glob.h>

#include "kernels/trial/internal.h"
#include "kernels/trial/trial.h"
#include "tests/unit/support.h"

typedef struct reading {
    loaded *l;
    uint32_t per_kernel;
    tp_cases cases;
} reading;

static inline void read_cases(void *ctx)
{
    reading *r = ctx;
    r->cases = tp_cases_read(&r->l->ctx, r->l->spec, r->per_kernel);
}

/* Files of a pattern, but for broken kernels, with the cases that tp_cases_read() gives them; none is kept. */
static inline void for_specs(const char *pattern, uint32_t per_kernel, void (*one)(const reading *k, void *ctx),
                             void *ctx)
{
    glob_t g;
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (strstr(g.gl_pathv[i], "/broken/"))
            continue;
        reading r = {.l = load_file(g.gl_pathv[i]), .per_kernel = per_kernel};
        assert_non_null(r.l->spec);
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        one(&r, ctx);
        unload(r.l);
    }
    globfree(&g);
}

static inline void for_gallery(void (*one)(const reading *k, void *ctx), void *ctx)
{
    for_specs("examples/*/*.tile.json", 1, one, ctx);
}

#endif
