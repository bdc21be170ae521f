/* Arrays that are cut among devices ("shard"): random meshes, arrays and cuts. The kernel adds to each element a number
 * that its device makes of its coordinates. The reference says what that is for each element of the whole array: which
 * device has it, as jax.shard_map cuts. The two have to agree; where the reference takes the axes of one dimension in
 * another order, they must not. And TP109 against every point of a box. The seed is printed; TEST_SEED and TEST_TRIALS
 * change it. */
#define _GNU_SOURCE
#include "base/rng.h"
#include "tests/unit/files.h"

enum { TRIALS = 30, MOST_RANK = 3, MOST_MESH = 3 };

typedef struct array {
    uint32_t rank, mesh;
    int64_t steps[MOST_MESH];                            /* devices along each axis, */
    uint32_t ncut[MOST_RANK], cut[MOST_RANK][MOST_MESH]; /* ... and the axes along which each dimension is cut */
    int64_t part[MOST_RANK];                             /* what a device has of it */
    bool product;                                        /* extents are written as products, not as multiples */
} array;

static array some_array(tp_rng *rng)
{
    array x = {.rank = 1 + (uint32_t)tp_rng_below(rng, MOST_RANK), .mesh = 1 + (uint32_t)tp_rng_below(rng, MOST_MESH)};
    uint32_t order[MOST_MESH] = {0, 1, 2};
    for (uint32_t a = x.mesh; a-- > 1;) {
        uint32_t b = (uint32_t)tp_rng_below(rng, a + 1), t = order[a];
        order[a] = order[b];
        order[b] = t;
    }
    for (uint32_t a = 0; a < x.mesh; a++) {
        uint32_t d = (uint32_t)tp_rng_below(rng, x.rank);
        x.cut[d][x.ncut[d]++] = order[a];
        x.steps[a] = 1 + (int64_t)tp_rng_below(rng, 4);
    }
    for (uint32_t d = 0; d < x.rank; d++)
        x.part[d] = 1 + (int64_t)tp_rng_below(rng, 4);
    x.product = tp_rng_below(rng, 2);
    return x;
}

/* "A * B * P": what dimension d has, or "A * B", among how many devices it is cut. */
static const char *devices(tp_arena *a, const array *x, uint32_t d, const char *behind)
{
    const char *s = "";
    for (uint32_t i = 0; i < x->ncut[d]; i++)
        s = tp_printf(a, "%s%sD%u", s, i ? " * " : "", x->cut[d][i]).p;
    return tp_printf(a, "%s%s%s", s, x->ncut[d] && *behind ? " * " : "", x->ncut[d] || *behind ? behind : "1").p;
}

static const char *extent(tp_arena *a, const array *x, uint32_t d)
{
    return x->product ? devices(a, x, d, tp_printf(a, "P%u", d).p) : tp_printf(a, "M%u", d).p;
}

static const char *part(tp_arena *a, const array *x, uint32_t d)
{
    if (x->product || !x->ncut[d])
        return tp_printf(a, "%s%u", x->product ? "P" : "M", d).p;
    return x->ncut[d] > 1 ? tp_printf(a, "M%u // (%s)", d, devices(a, x, d, "")).p
                          : tp_printf(a, "M%u // %s", d, devices(a, x, d, "")).p;
}

static void print_array(tp_arena *a, tp_buf *b, const array *x, const char *name, bool far)
{
    tp_buf_printf(b, "[{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [", name);
    for (uint32_t d = 0; d < x->rank; d++)
        tp_buf_printf(b, "%s\"%s\"", d ? ", " : "", extent(a, x, d));
    tp_buf_c(b, "], \"shard\": [");
    for (uint32_t d = 0; d < x->rank; d++) {
        tp_buf_c(b, d ? ", " : "");
        tp_buf_c(b, x->ncut[d] == 0 ? "null" : x->ncut[d] > 1 ? "[" : "");
        for (uint32_t i = 0; i < x->ncut[d]; i++)
            tp_buf_printf(b, "%s\"a%u\"", i ? ", " : "", x->cut[d][i]);
        tp_buf_c(b, x->ncut[d] > 1 ? "]" : "");
    }
    tp_buf_c(b, "]");
    if (!far) { /* blocks of 2, of which the last may leave the part */
        tp_buf_c(b, ", \"block_shape\": [");
        for (uint32_t d = 0; d < x->rank; d++)
            tp_buf_printf(b, d ? ", \"%s\"" : "2", part(a, x, d));
        tp_buf_c(b, "], \"index_map\": [\"i\"");
        for (uint32_t d = 1; d < x->rank; d++)
            tp_buf_c(b, ", 0");
        tp_buf_c(b, "]");
    }
    tp_buf_c(b, far ? ", \"memory_space\": \"any\"}], " : "}], ");
}

/* What the reference adds. `swapped`: axes of one dimension are taken in another order. */
static void print_reference(tp_arena *a, tp_buf *b, const array *x, bool swapped)
{
    tp_buf_c(b, "\"reference\": [\"o = x * 2\"");
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!x->ncut[d])
            continue;
        tp_buf_printf(b, ", \"n%u = arange(%s) // (%s)\"", d, extent(a, x, d), part(a, x, d));
        for (uint32_t i = 0; i < x->ncut[d]; i++) {
            uint32_t axis = x->cut[d][swapped ? i : x->ncut[d] - 1 - i]; /* the last one is fastest */
            tp_buf_printf(b, ", \"c%u = n%u %% D%u\", \"n%u = n%u // D%u\", \"o = o + (c%u * %d)[", axis, d, axis, d, d,
                          axis, axis,
                          axis == 0   ? 1
                          : axis == 1 ? 10
                                      : 100);
            for (uint32_t e = 0; e < x->rank; e++)
                tp_buf_printf(b, "%s%s", e ? ", " : "", e == d ? ":" : "None");
            tp_buf_c(b, "]\"");
        }
    }
    tp_buf_c(b, "]");
}

static tp_str spec_of(tp_arena *a, const array *x, bool far, bool swapped)
{
    tp_buf b = {.arena = a};
    tp_buf_c(&b, "{\"tileproof\": 1, \"name\": \"cut\", \"target\": \"none\", \"sizes\": {");
    for (uint32_t i = 0; i < x->mesh; i++)
        tp_buf_printf(&b, "\"D%u\": {\"max\": 4}, ", i);
    for (uint32_t d = 0; d < x->rank; d++)
        tp_buf_printf(&b, "%s\"%s%u\": {\"max\": 256}", d ? ", " : "",
                      x->product || !x->ncut[d] ? (x->product ? "P" : "M") : "M", d);
    tp_buf_c(&b, "}, \"where\": [");
    for (uint32_t d = 0, any = 0; d < x->rank; d++)
        if (x->ncut[d] && !x->product)
            tp_buf_printf(&b, "%s\"M%u %% (%s) == 0\"", any++ ? ", " : "", d, devices(a, x, d, ""));
    tp_buf_c(&b, "], \"grid\": [");
    for (uint32_t i = 0; i < x->mesh; i++)
        tp_buf_printf(&b, "{\"axis\": \"a%u\", \"steps\": \"D%u\", \"semantics\": \"device\"}, ", i, i);
    tp_buf_printf(&b, "{\"axis\": \"i\", \"steps\": \"%s\"}], \"inputs\": ",
                  far ? "1" : tp_printf(a, "cdiv(%s, 2)", part(a, x, 0)).p);
    print_array(a, &b, x, "x", far);
    tp_buf_c(&b, "\"outputs\": ");
    print_array(a, &b, x, "o", far);
    if (far) {
        tp_buf_c(&b, "\"scratch\": [{\"name\": \"buf\", \"dtype\": \"float32\", \"shape\": [");
        for (uint32_t d = 0; d < x->rank; d++)
            tp_buf_printf(&b, "%s\"%s\"", d ? ", " : "", part(a, x, d));
        tp_buf_c(&b, "]}], ");
    }
    tp_buf_c(&b, "\"kernel\": [\"n = a0\"");
    for (uint32_t i = 1; i < x->mesh; i++)
        tp_buf_printf(&b, ", \"n = n + a%u * %d\"", i, i == 1 ? 10 : 100);
    tp_buf_c(&b, far ? ", \"copy(x[...], buf[...])\", \"buf[...] = buf[...] * 2 + n.astype(float32)\", "
                       "\"copy(buf[...], o[...])\"], "
                     : ", \"o[...] = x[...] * 2 + n.astype(float32)\"], ");
    print_reference(a, &b, x, swapped);
    tp_buf_c(&b, ", \"cases\": [{\"sizes\": {");
    for (uint32_t i = 0; i < x->mesh; i++)
        tp_buf_printf(&b, "\"D%u\": %lld, ", i, (long long)x->steps[i]);
    for (uint32_t d = 0; d < x->rank; d++) {
        int64_t n = x->part[d];
        for (uint32_t i = 0; i < x->ncut[d] && !x->product; i++)
            n *= x->steps[x->cut[d][i]];
        tp_buf_printf(&b, "%s\"%s%u\": %lld", d ? ", " : "", x->product ? "P" : "M", d, (long long)n);
    }
    tp_buf_c(&b, "}}]}");
    return tp_buf_view(&b);
}

/* Do devices of some dimension have other numbers where its axes are taken in another order? */
static bool order_matters(const array *x)
{
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t several = 0;
        for (uint32_t i = 0; i < x->ncut[d]; i++)
            several += x->steps[x->cut[d][i]] > 1;
        if (several > 1)
            return true;
    }
    return false;
}

static uint64_t seed_of(void)
{
    const char *s = getenv("TEST_SEED");
    uint64_t seed = s ? strtoull(s, NULL, 10) : 20;
    print_message("TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static unsigned trials(void)
{
    const char *s = getenv("TEST_TRIALS");
    return s ? (unsigned)strtoul(s, NULL, 10) : TRIALS;
}

/* Elements lie on the devices on which shard_map puts them. */
static void devices_have_their_parts(void **state)
{
    place *p = *state;
    tp_rng rng = tp_rng_new(seed_of(), 1);
    unsigned refuted = 0;
    for (unsigned t = 0; t < trials(); t++) {
        array x = some_array(&rng);
        bool far = tp_rng_below(&rng, 2), wrong = order_matters(&x) && tp_rng_below(&rng, 2);
        tp_str text = spec_of(p->a, &x, far, wrong);
        outcome o = RUN(p->a, "verify", put(p, "cut.tile.json", text.p, text.n), "-q", "--cases", "2", "--box", "6");
        if (o.exit != (wrong ? 1 : 0))
            fail_msg("exit %d: %.*s%.*s\n%.*s", o.exit, TP_FMT(o.out), TP_FMT(o.err), TP_FMT(text));
        refuted += wrong;
    }
    print_message("%u of %u with their axes in another order\n", refuted, trials());
    assert_true(refuted > 0 || trials() < TRIALS);
}

/* ---- TP109 at every point of a box ---- */

enum { BOX = 8 };

typedef struct cut {
    const char *extent, *where;
    bool two; /* along two axes */
} cut;

static int64_t extent_at(const char *e, int64_t m, int64_t d, int64_t c)
{
    return strcmp(e, "M") == 0           ? m
           : strcmp(e, "M * D") == 0     ? m * d
           : strcmp(e, "M + D") == 0     ? m + d
           : strcmp(e, "2 * M") == 0     ? 2 * m
           : strcmp(e, "M * D * C") == 0 ? m * d * c
                                         : m * c;
}

static bool holds_at(const char *w, int64_t m, int64_t d, int64_t c)
{
    return strcmp(w, "M % D == 0") == 0         ? m % d == 0
           : strcmp(w, "M % (C * D) == 0") == 0 ? m % (c * d) == 0
           : strcmp(w, "D == 2") == 0           ? d == 2
                                                : true;
}

static void unequal_shards_are_found(void **state)
{
    static const char *const EXTENTS[] = {"M", "M * D", "M + D", "2 * M", "M * D * C", "M * C"}, *const WHERE[] = {
                                                                                                     "M % D == 0",
                                                                                                     "M % (C * D) == 0",
                                                                                                     "D == 2",
                                                                                                     "M >= 1"};
    place *p = *state;
    unsigned proven = 0;
    for (size_t n = 0; n < 6 * 4 * 2; n++) {
        cut x = {EXTENTS[n % 6], WHERE[n / 6 % 4], n >= 24};
        tp_str text = tp_printf(
            p->a,
            "{\"tileproof\": 1, \"name\": \"cut\", \"target\": \"none\", \"sizes\": {\"M\": {\"max\": %d}, \"D\": "
            "{\"max\": %d}, "
            "\"C\": {\"max\": %d}}, \"where\": [\"%s\"], \"grid\": [{\"axis\": \"d\", \"steps\": \"D\", \"semantics\": "
            "\"device\"}, {\"axis\": \"c\", \"steps\": \"C\", \"semantics\": \"device\"}], \"outputs\": [{\"name\": "
            "\"o\", "
            "\"dtype\": \"float32\", \"shape\": [\"%s\", \"C\"], \"shard\": [%s]}], \"kernel\": [\"o[...] = 0\"]}",
            BOX, BOX, BOX, x.where, x.extent, x.two ? "[\"d\", \"c\"], null" : "\"d\", \"c\"");
        outcome o = RUN(p->a, "lint", put(p, "cut.tile.json", text.p, text.n), "--select", "TP109", "--format", "json");
        struct json_object *r = record_of(p->a, &o),
                           *findings = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
        bool equal = true, violated = false, open = false;
        for (int64_t m = 1; m <= BOX; m++)
            for (int64_t d = 1; d <= BOX; d++)
                for (int64_t c = 1; c <= BOX; c++)
                    if (holds_at(x.where, m, d, c))
                        equal &= extent_at(x.extent, m, d, c) % (x.two ? d * c : d) == 0;
        for (size_t i = 0; i < json_object_array_length(findings); i++) {
            struct json_object *f = json_object_array_get_idx(findings, i);
            if (strcmp(string_of(f, "rule"), TP_RULE_UNEQUAL_SHARDS) != 0)
                continue;
            violated |= strcmp(string_of(f, "verdict"), "violated") == 0;
            open |= strcmp(string_of(f, "verdict"), "unknown") == 0;
            if (strcmp(string_of(f, "verdict"), "violated") != 0)
                continue;
            struct json_object *sizes = member(member(f, "witness"), "sizes");
            int64_t m = json_object_get_int64(member(sizes, "M")), d = json_object_get_int64(member(sizes, "D")),
                    c = json_object_get_int64(member(sizes, "C"));
            assert_true(holds_at(x.where, m, d, c) && extent_at(x.extent, m, d, c) % (x.two ? d * c : d) != 0);
        }
        if (open || violated == equal)
            fail_msg("%s where %s: equal %d, violated %d, open %d", x.extent, x.where, equal, violated, open);
        proven += equal;
        json_object_put(r);
    }
    assert_true(proven >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(devices_have_their_parts),
        IN_PLACE(unequal_shards_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
