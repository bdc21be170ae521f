#include "smt/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/map.h"
#include "smt/trust/certificates.h"
#include "smt/internal.h"

/* Raised when keys or entries come to mean something else. */
#define NAME "tileproof cache "
#define HEADER NAME "4\n"

enum { UNTRIED, GOOD, BAD };

typedef struct entry {
    tp_str key;     /* hexadecimal digits: of a canonical text, or a caller's */
    tp_str payload; /* 'c' certificate, 'w' values of the variables, 'm' mark, 'r' note */
    atomic_int state;
} entry;

struct tp_cache {
    tp_arena *arena; /* its own */
    tp_str lines;    /* of the file that are kept */
    bool pruned;     /* these are not all */
    tp_map map;      /* key -> number of the entry, from 1; read only after tp_cache_new() */
    entry *entries;
    uint32_t n;
    pthread_mutex_t learning;
    tp_map learned; /* keys, so that nothing is written twice */
    tp_buf more;
    uint32_t nlearned;
    atomic_uint hits, refused;
};

/* ---- canonical text ---- */

typedef struct keyer {
    tp_prover *v;
    const tp_obligation *o;
    tp_buf *out;
    uint32_t before; /* the prover's numbers up to this one are of earlier texts */
    bool failed;
} keyer;

static void put(keyer *k, int64_t value)
{
    uint64_t u = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    static const char DIGITS[] = "0123456789abcdef";
    char text[24];
    size_t n = 0;
    do { /* base 8, the fourth bit says that more follows */
        text[n++] = DIGITS[(u & 7) | (u > 7 ? 8 : 0)];
        u >>= 3;
    } while (u);
    tp_buf_add(k->out, text, n);
}

static int64_t variable(keyer *k, uint32_t sym)
{
    for (uint32_t i = 0; i < k->o->nvars; i++)
        if (k->o->vars[i].sym == sym)
            return i;
    k->failed = true; /* a symbol without bounds */
    return 0;
}

/* Writes a node after its operands; its number. */
static uint32_t node(keyer *k, tp_expr e)
{
    if (!e.id || k->failed)
        return 0;
    uint32_t *number = &k->v->number[e.id]; /* operands are older than what is made of them: there is one for all */
    if (*number > k->before)
        return *number - k->before;
    const tp_expr_node n = *tp_expr_get(k->v->p, e);
    if (n.op == TP_E_READ || n.op == TP_E_TOO_LARGE)
        k->failed = true;
    uint32_t a = node(k, n.a), b = node(k, n.b), c = node(k, n.c);
    put(k, n.op);
    put(k, a);
    put(k, b);
    put(k, c);
    put(k, n.op == TP_E_SYM ? variable(k, (uint32_t)n.value) : n.value);
    *number = ++k->v->numbered;
    return *number - k->before;
}

static uint32_t newest_of(const tp_obligation *o)
{
    uint32_t n = o->goal.id;
    for (uint32_t i = 0; i < o->nvars; i++) {
        n = o->vars[i].lo.id > n ? o->vars[i].lo.id : n;
        n = o->vars[i].hi.id > n ? o->vars[i].hi.id : n;
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        n = o->premises[i].id > n ? o->premises[i].id : n;
    return n;
}

/* Numbers of texts before count no more: none has to be cleared. */
static void make_room_for_numbers(tp_prover *v, uint32_t n)
{
    if (v->nnumber < n) {
        v->nnumber = n < UINT32_MAX / 2 ? 2 * n : n;
        v->number = TP_NEWN(v->arena, uint32_t, v->nnumber);
    } else if (v->numbered > UINT32_MAX / 2) {
        memset(v->number, 0, v->nnumber * sizeof *v->number);
        v->numbered = 0;
    }
}

bool tp_obligation_text(tp_prover *v, const tp_obligation *o, tp_buf *text)
{
    keyer k = {.v = v, .o = o, .out = text};
    make_room_for_numbers(v, newest_of(o) + 1);
    k.before = v->numbered;
    /* what else decides the answer */
    put(&k, v->o.only_proof);
    put(&k, v->o.no_z3);
    put(&k, v->o.no_solver);
    put(&k, v->o.second != NULL);
    put(&k, (int64_t)v->o.rlimit);
    put(&k, o->any_case);
    put(&k, o->nvars);
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        uint32_t lo = node(&k, x->lo), hi = node(&k, x->hi);
        put(&k, lo);
        put(&k, hi);
        put(&k, x->multiple_of);
        put(&k, x->nchoices);
        for (uint32_t c = 0; c < x->nchoices; c++)
            put(&k, x->choices[c]);
    }
    put(&k, o->npremises);
    for (uint32_t i = 0; i < o->npremises; i++)
        put(&k, node(&k, o->premises[i]));
    put(&k, node(&k, o->goal));
    return !k.failed;
}

bool tp_cache_key(tp_prover *v, const tp_obligation *o, tp_buf *key)
{
    tp_buf text = {.arena = key->arena};
    bool ok = tp_obligation_text(v, o, &text);
    tp_buf_str(key, tp_sha256(key->arena, tp_buf_view(&text)));
    return ok;
}

/* ---- the file ---- */

bool tp_is_cache(tp_str text)
{
    return text.n >= sizeof NAME - 1 && memcmp(text.p, NAME, sizeof NAME - 1) == 0;
}

/* The newest lines of the file: all, or those that fit half of what it may have. */
static tp_str newest(tp_str text, size_t head, size_t most_bytes)
{
    size_t from = head;
    if (text.n > most_bytes) {
        const char *end = memchr(text.p + text.n - most_bytes / 2, '\n', most_bytes / 2);
        from = end ? (size_t)(end - text.p) + 1 : text.n;
    }
    return (tp_str){text.p + from, text.n - from};
}

tp_cache *tp_cache_new(tp_arena *a, tp_str text, size_t most_bytes)
{
    static const size_t HEAD = sizeof HEADER - 1;
    tp_cache *c = TP_NEW(a, tp_cache);
    c->arena = tp_arena_child(a);
    c->more.arena = c->arena;
    pthread_mutex_init(&c->learning, NULL);
    if (text.n < HEAD || memcmp(text.p, HEADER, HEAD) != 0)
        return c;
    c->pruned = text.n > most_bytes;
    text = c->lines = newest(text, HEAD, most_bytes);
    uint32_t lines = 0;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    c->entries = TP_NEWN(c->arena, entry, lines + 1);
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
        const char *blank = end ? memchr(text.p + at, ' ', n) : NULL;
        if (blank && (size_t)(blank - text.p) + 1 < at + n) { /* else the line was cut off */
            tp_str key = {text.p + at, (size_t)(blank - text.p) - at};
            if (!tp_map_get(&c->map, key)) {
                entry *e = &c->entries[c->n++];
                e->key = key;
                e->payload = (tp_str){blank + 1, n - key.n - 1};
                tp_map_set(c->arena, &c->map, key, c->n);
            }
        }
        at += n + 1;
    }
    return c;
}

void tp_cache_free(tp_cache *c)
{
    pthread_mutex_destroy(&c->learning);
    tp_arena_free(c->arena);
}

tp_str tp_cache_text(tp_cache *c, tp_arena *a)
{
    tp_buf b = {.arena = a};
    if (!c->nlearned && !c->pruned)
        return (tp_str){NULL, 0};
    tp_buf_c(&b, HEADER);
    tp_buf_str(&b, c->lines);
    if (b.p[b.n - 1] != '\n')
        tp_buf_c(&b, "\n");
    tp_buf_str(&b, tp_buf_view(&c->more));
    return tp_buf_view(&b);
}

tp_cache_counts tp_cache_count(const tp_cache *c)
{
    return (tp_cache_counts){c->n, c->hits, c->nlearned, c->refused};
}

/* ---- belief ---- */

typedef struct belief {
    tp_prover *v;
    tp_str key, payload;
    bool good;
} belief;

static bool has_key(tp_prover *v, const tp_obligation *o, tp_str key)
{
    tp_buf own = {.arena = v->arena};
    return tp_cache_key(v, o, &own) && tp_str_eq(tp_buf_view(&own), key);
}

/* A pool of its own: the entry's expressions have nothing to do with ours. */
static void check_certificate(void *arg)
{
    belief *b = arg;
    tp_source source = {TP_S("cache"), {b->payload.p + 1, b->payload.n - 1}};
    tp_arena *a = tp_arena_child(b->v->scratch);
    tp_ctx ctx = {.arena = a, .source = &source};
    tp_certificate k = tp_certificate_read(&ctx);
    tp_prover reader = {.arena = a, .scratch = a, .p = k.exprs, .o = b->v->o};
    tp_obligation any = k.obligation; /* which case is wanted does not matter to a proof */
    any.any_case = true;
    b->good = k.proof && (has_key(&reader, &k.obligation, b->key) || has_key(&reader, &any, b->key)) &&
              tp_check_proof(a, k.exprs, &k.obligation, k.proof, NULL, NULL);
}

static bool believe(tp_prover *v, tp_cache *c, entry *e)
{
    int state = e->state;
    if (state == UNTRIED) {
        belief b = {v, e->key, e->payload, false};
        bool read = tp_try(v->scratch, check_certificate, &b) == TP_OK;
        state = read && b.good ? GOOD : BAD;
        e->state = state;
        c->refused += state == BAD;
    }
    return state == GOOD;
}

static bool read_case(tp_prover *v, const tp_obligation *o, tp_str payload, tp_decision *d)
{
    int64_t *env = TP_NEWN(v->arena, int64_t, tp_sym_count(v->p));
    const char *p = tp_cstr(v->scratch, (tp_str){payload.p + 1, payload.n - 1});
    for (uint32_t i = 0; i < o->nvars; i++) {
        char *end;
        env[o->vars[i].sym] = strtoll(p, &end, 10);
        if (end == p)
            return false;
        p = end;
    }
    *d = (tp_decision){.verdict = TP_VIOLATED, .env = env};
    return tp_refutes(v, o, env);
}

bool tp_cache_find(tp_prover *v, const tp_obligation *o, tp_str key, tp_decision *d)
{
    tp_cache *c = v->o.cache;
    uint32_t number = tp_map_get(&c->map, key);
    if (!number)
        return false;
    entry *e = &c->entries[number - 1];
    bool good = false;
    switch (e->payload.p[0]) {
    case 'c':
        *d = (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_CERT, .recalled = true};
        good = believe(v, c, e);
        break;
    case 'w': good = !v->o.only_proof && read_case(v, o, e->payload, d); break;
    default: break;
    }
    c->hits += good;
    return good;
}

static void learn(tp_cache *c, tp_str key, char kind, tp_str payload)
{
    tp_assert(key.n && !memchr(key.p, ' ', key.n) && !(payload.n && memchr(payload.p, '\n', payload.n))); /* a line */
    pthread_mutex_lock(&c->learning);
    if (!tp_map_get(&c->learned, key) && !tp_map_get(&c->map, key)) {
        tp_buf kept = {.arena = c->arena};
        tp_buf_str(&kept, key);
        tp_map_set(c->arena, &c->learned, tp_buf_view(&kept), 1);
        tp_buf_str(&c->more, key);
        tp_buf_c(&c->more, " ");
        tp_buf_add(&c->more, &kind, 1);
        tp_buf_str(&c->more, payload);
        tp_buf_c(&c->more, "\n");
        c->nlearned++;
    }
    pthread_mutex_unlock(&c->learning);
}

bool tp_cache_marked(tp_cache *c, tp_str key)
{
    uint32_t number = tp_map_get(&c->map, key);
    bool marked = number && c->entries[number - 1].payload.p[0] == 'm';
    c->hits += marked;
    return marked;
}

void tp_cache_mark(tp_cache *c, tp_str key)
{
    learn(c, key, 'm', (tp_str){NULL, 0});
}

tp_str tp_cache_note(const tp_cache *c, tp_str key)
{
    uint32_t number = tp_map_get(&c->map, key);
    tp_str payload = number ? c->entries[number - 1].payload : (tp_str){NULL, 0};
    return payload.n && payload.p[0] == 'r' ? (tp_str){payload.p + 1, payload.n - 1} : (tp_str){NULL, 0};
}

void tp_cache_count_note(tp_cache *c, bool used)
{
    c->hits += used;
    c->refused += !used;
}

void tp_cache_add_note(tp_cache *c, tp_str key, tp_str text)
{
    learn(c, key, 'r', text);
}

static bool has_certificate(const tp_decision *d)
{
    return d->verdict == TP_PROVEN && d->grade == TP_GRADE_CERT && d->proof;
}

bool tp_cache_learns(const tp_decision *d)
{
    return has_certificate(d) || (d->verdict == TP_VIOLATED && d->env);
}

void tp_cache_learn(tp_prover *v, const tp_obligation *o, tp_str key, const tp_decision *d)
{
    tp_cache *c = v->o.cache;
    bool proof = has_certificate(d), violated = !proof;
    tp_assert(tp_cache_learns(d));
    tp_buf line = {.arena = v->scratch}; /* the payload */
    for (uint32_t i = 0; i < o->nvars && violated; i++)
        tp_buf_printf(&line, " %lld", (long long)d->env[o->vars[i].sym]);
    if (proof) {
        tp_certificates *text = tp_certificates_new(v->scratch);
        tp_certificates_add(text, v->p, NULL,
                            &(tp_obligation){o->vars, o->nvars, o->premises, o->npremises, o->goal, ""}, d->proof,
                            d->grade);
        tp_str row = tp_certificates_rows(text);
        tp_buf_add(&line, row.p, row.n - 1);
    }
    learn(c, key, proof ? 'c' : 'w', tp_buf_view(&line));
}
