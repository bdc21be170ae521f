/* Shared by the unit tests: load a spec from text. */
#ifndef TP_TEST_SUPPORT_H
#define TP_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/analyze.h"
#include "base/budget.h"
#include "base/file.h"
#include "base/tensor.h"
#include "spec/json.h"
#include "spec/kernel.h"

/* A number that the environment may set: TEST_SEED, TEST_TRIALS. */
static inline uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, NULL, 10) : otherwise;
}

/* Of things in a row one in so many, at even distances: TEST_EVERY (1: all of them, make attention), else `otherwise`;
 * TEST_SEED says which is the first. */
typedef struct sample {
    uint64_t every, next, seen, taken;
} sample;

static inline sample sample_of(uint64_t otherwise)
{
    uint64_t every = setting("TEST_EVERY", otherwise);
    assert_true(every > 0);
    return (sample){.every = every, .next = setting("TEST_SEED", 0) % every};
}

static inline bool is_taken(sample *s)
{
    bool taken = s->seen++ % s->every == s->next;
    s->taken += taken;
    return taken;
}

/* What ran, after it. */
static inline void print_sample(const char *what, const sample *s)
{
    print_message("%s: %llu of %llu\n", what, (unsigned long long)s->taken, (unsigned long long)s->seen);
}

typedef struct loaded {
    tp_arena *arena;
    tp_source source;
    tp_ctx ctx;
    tp_spec *spec; /* NULL: see ctx.findings */
} loaded;

static inline loaded *load_text(const char *text)
{
    tp_arena *a = tp_arena_new(0);
    loaded *l = TP_NEW(a, loaded);
    tp_load_options o = {0};
    l->arena = a;
    l->source.path = TP_S("test.tile.json");
    l->source.text = tp_printf(a, "%s", text);
    l->ctx = (tp_ctx){.arena = a, .source = &l->source};
    tp_spec_load(&l->ctx, &o, &l->spec);
    return l;
}

static inline void unload(loaded *l)
{
    tp_arena_free(l->arena);
}

/* A spec that a test made up. NULL: the reader refuses it, which is counted, and told of the first ones. */
static inline loaded *load_random(const char *text, unsigned *refused)
{
    loaded *l = load_text(text);
    if (l->spec)
        return l;
    if ((*refused)++ < 3)
        printf("refused: %.*s\n%s\n", TP_FMT(l->ctx.findings.at[0].message), text);
    unload(l);
    return NULL;
}

/* load_text() of a file. */
static inline loaded *load_file(const char *path)
{
    tp_arena *a = tp_arena_new(0);
    tp_str text, why;
    assert_int_equal(tp_read_file(a, path, TP_JSON_MAX_BYTES, &text, &why), TP_OK);
    loaded *l = load_text(tp_cstr(a, text));
    tp_arena_free(a);
    return l;
}

/* From now on the spec may cost what `lint` lets it cost, counted by work alone: what few specs ask for beyond that
 * takes most of a test's time. */
static inline void allow_work(loaded *l)
{
    tp_budget *b = TP_NEW(l->arena, tp_budget);
    tp_budget_begin(b, TP_LINT_SECONDS, 0);
    b->max_seconds = 0;
    tp_arena_set_budget(l->arena, b);
}

typedef struct analysis_call {
    loaded *l;
    const tp_analysis_options *o;
    tp_analysis_result *r;
} analysis_call;

static inline void analyze_call(void *arg)
{
    analysis_call *c = arg;
    tp_analyze(c->l->arena, c->l->spec, c->o, c->r);
}

/* All rules, by these options. Free the spec behind it: findings live there. */
static inline tp_analysis_result analyze(loaded *l, tp_analysis_options o)
{
    tp_analysis_result r = {0};
    analysis_call c = {l, &o, &r};
    assert_int_equal(tp_try(l->arena, analyze_call, &c), TP_OK);
    return r;
}

/* Violated or unknown somewhere. */
static inline bool open_for(const tp_analysis_result *r, const char *rule)
{
    for (uint32_t i = 0; i < r->findings.len; i++)
        if (strcmp(r->findings.at[i].rule, rule) == 0 && r->findings.at[i].verdict != TP_PROVEN)
            return true;
    return false;
}

/* With one rule only (NULL: all). */
static inline tp_analysis_result analyze_with(loaded *l, const char *rule, tp_prover_options prover)
{
    static const tp_rule *only[1];
    tp_analysis_options o = {.prover = prover};
    if (rule) {
        only[0] = tp_rule_find(tp_str_c(rule));
        o.only = only;
        o.nonly = 1;
    }
    return analyze(l, o);
}

/* Elements of a tensor from *at on, of a nested list: numbers, booleans, "nan", "inf", "-inf". */
static inline void fill_tensor(tp_tensor *t, size_t *at, const tp_json *v)
{
    if (v->type == TP_J_ARRAY) {
        for (uint32_t i = 0; i < v->u.items.n; i++)
            fill_tensor(t, at, v->u.items.at[i]);
        return;
    }
    assert_true(*at < t->n);
    switch (v->type) {
    case TP_J_INT: tp_put_i64(t->dtype, t->data, *at, v->u.integer); break;
    case TP_J_BOOL: tp_put_i64(t->dtype, t->data, *at, v->u.boolean); break;
    case TP_J_REAL: tp_put_f64(t->dtype, t->data, *at, v->u.real); break;
    case TP_J_STRING: tp_put_f64(t->dtype, t->data, *at, strtod(v->u.string.p, NULL)); break;
    case TP_J_NULL:
    case TP_J_OBJECT:
    case TP_J_ARRAY: fail_msg("element %zu is no number", *at);
    }
    ++*at;
}

#endif
