#include "kernels/machine/coverage.h"

#include "kernels/machine/internal.h"

const char *tp_point_kind_name(tp_point_kind k)
{
    static const char *const NAMES[] = {"guards", "masks", "loops", "arms", "comparisons"};
    return NAMES[k];
}

/* ---- points ---- */

static void add(tp_arena *a, tp_coverage *v, const tp_kernel *k, tp_point p, tp_loc loc)
{
    p.offset = loc.start;
    p.line = loc.end ? tp_linecol_of(k->source, loc.start).line : 0;
    p.all = p.kind == TP_POINT_LOOP ? 7 : 3;
    tp_push(a, v->points, p);
    v->unseen += p.kind == TP_POINT_LOOP ? 3 : 2;
}

static tp_loc place_of(const tp_statement *s)
{
    return s->syntax ? tp_json_place(s->syntax->line) : (tp_loc){0};
}

/* A loop of so many turns at all sizes, which is no place that can go another way. */
static bool is_fixed(const tp_kernel *k, const tp_statement *loop)
{
    tp_expr lo = k->body->values.at[loop->lo].meaning, hi = k->body->values.at[loop->hi].meaning;
    int64_t turns;
    return lo.id && hi.id &&
           tp_expr_is_const(k->exprs, tp_expr_normal(k->exprs, tp_op2(k->exprs, TP_E_SUB, hi, lo)), &turns);
}

static void add_region(tp_arena *a, tp_coverage *v, const tp_kernel *k, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        tp_loc loc = place_of(s);
        if (s->syntax && !s->syntax->number) /* not what the author wrote */
            continue;
        if (s->kind == TP_COMPUTE && (s->inst->prim == TP_P_WHERE || s->inst->prim == TP_P_MASKED_LOAD))
            add(a, v, k, (tp_point){.kind = TP_POINT_MASK, .of = s->inst}, loc);
        if (s->kind == TP_IF)
            add(a, v, k, (tp_point){.kind = TP_POINT_GUARD, .of = s}, loc);
        if (s->kind == TP_WHILE || (s->kind == TP_LOOP && !is_fixed(k, s)))
            add(a, v, k, (tp_point){.kind = TP_POINT_LOOP, .of = s}, loc);
        add_region(a, v, k, &s->test);
        add_region(a, v, k, &s->body);
        add_region(a, v, k, &s->orelse);
    }
}

typedef struct adding {
    tp_arena *a;
    tp_coverage *v;
    const tp_kernel *k;
} adding;

static void add_comparison(void *ctx, const tp_statement *s)
{
    const adding *x = ctx;
    if (s->syntax && !s->syntax->number)
        return;
    add(x->a, x->v, x->k, (tp_point){.kind = TP_POINT_COMPARISON, .of = s->inst}, place_of(s));
}

static void add_arms(tp_arena *a, tp_coverage *v, const tp_kernel *k, tp_expr e, tp_loc loc)
{
    if (!e.id || tp_expr_size(k->exprs, e) > TP_ARMS_SIZE)
        return;
    const tp_expr_node n = *tp_expr_get(k->exprs, e);
    if (n.op == TP_E_CONST || n.op == TP_E_SYM)
        return;
    for (uint32_t i = 0; i < v->points.len; i++)
        if (tp_same(v->points.at[i].arm, e))
            return;
    if (n.op == TP_E_MIN || n.op == TP_E_MAX)
        add(a, v, k, (tp_point){.kind = TP_POINT_ARM, .arm = e}, loc);
    add_arms(a, v, k, n.a, loc);
    add_arms(a, v, k, n.b, loc);
    add_arms(a, v, k, n.c, loc);
}

static uint32_t slot(const tp_coverage *v, const void *of)
{
    uint32_t at = (uint32_t)((uintptr_t)of >> 4) * 2654435761u;
    for (at &= v->size - 1; v->table[at] && v->points.at[v->table[at] - 1].of != of; at = (at + 1) & (v->size - 1))
        ;
    return at;
}

tp_coverage *tp_coverage_new(tp_arena *a, const tp_kernel *k)
{
    tp_coverage *v = TP_NEW(a, tp_coverage);
    if (k->body)
        add_region(a, v, k, &k->body->statements);
    if (k->body)
        tp_each_comparison(a, k, add_comparison, &(adding){a, v, k});
    for (uint32_t i = 0; i < k->naxes; i++)
        add_arms(a, v, k, k->axes[i].steps, k->axes[i].steps_loc);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank; d++)
            add_arms(a, v, k, k->operands[i].dims[d].index, k->operands[i].dims[d].index_loc);
    for (v->size = 16; v->size < 2 * v->points.len + 2; v->size *= 2)
        ;
    v->table = TP_NEWN(a, uint32_t, v->size);
    for (uint32_t i = 0; i < v->points.len; i++)
        if (v->points.at[i].of)
            v->table[slot(v, v->points.at[i].of)] = i + 1;
    return v;
}

/* ---- counting ---- */

static void see(tp_coverage *v, tp_point *p, uint32_t way)
{
    uint8_t bit = (uint8_t)(1u << way);
    v->unseen -= !(p->seen & bit);
    p->seen |= bit;
}

void tp_cover(tp_coverage *v, const void *of, uint32_t way)
{
    uint32_t number = v->unseen ? v->table[slot(v, of)] : 0;
    if (number)
        see(v, &v->points.at[number - 1], way);
}

void tp_cover_lanes(tp_coverage *v, const void *of, const uint8_t *lanes, size_t n)
{
    uint32_t number = v->unseen ? v->table[slot(v, of)] : 0;
    tp_point *p = number ? &v->points.at[number - 1] : NULL;
    for (uint32_t way = 0; p && n && way < 2; way++)
        if (!(p->seen & (1u << way)) && memchr(lanes, (int)way, n))
            see(v, p, way);
}

tp_coverage *tp_coverage_copy(tp_arena *a, const tp_coverage *v)
{
    tp_coverage *copy = TP_NEW(a, tp_coverage);
    *copy = *v;
    copy->points.at = TP_NEWN(a, tp_point, v->points.len + 1);
    if (v->points.len)
        memcpy(copy->points.at, v->points.at, v->points.len * sizeof *v->points.at);
    copy->points.cap = v->points.len;
    return copy;
}

void tp_cover_as(tp_coverage *v, const tp_coverage *other)
{
    tp_assert(v->points.len == other->points.len);
    for (uint32_t i = 0; i < v->points.len; i++)
        for (uint32_t way = 0; way < 8; way++)
            if (other->points.at[i].seen >> way & 1)
                see(v, &v->points.at[i], way);
}

void tp_cover_arms(tp_arena *a, tp_coverage *v, const tp_kernel *k, const int64_t *env)
{
    enum { STEPS = 4096 };
    uint32_t arms = 0;
    int64_t steps[TP_MAX_AXES], total = 1;
    for (uint32_t i = 0; i < v->points.len; i++)
        arms += v->points.at[i].kind == TP_POINT_ARM && v->points.at[i].seen != v->points.at[i].all;
    if (!arms)
        return;
    int64_t *at = tp_env_copy(a, k, env);
    for (uint32_t x = 0; x < k->naxes; x++)
        if (tp_expr_eval(k->exprs, k->axes[x].steps, env, &steps[x]) != TP_EVAL_OK || steps[x] < 1 ||
            __builtin_mul_overflow(total, steps[x], &total))
            total = 0;
    for (int64_t s = 0; s < total && s < STEPS; s++) {
        int64_t rest = s;
        for (uint32_t x = k->naxes; x-- > 0; rest /= steps[x])
            at[k->axes[x].sym] = rest % steps[x];
        for (uint32_t i = 0; i < v->points.len; i++) {
            tp_point *p = &v->points.at[i];
            int64_t first, second;
            if (p->kind != TP_POINT_ARM)
                continue;
            const tp_expr_node *n = tp_expr_get(k->exprs, p->arm);
            if (tp_expr_eval(k->exprs, n->a, at, &first) != TP_EVAL_OK ||
                tp_expr_eval(k->exprs, n->b, at, &second) != TP_EVAL_OK || first == second)
                continue; /* equal ones do not tell which arm it was */
            see(v, p, (first < second) == (n->op == TP_E_MIN) ? 0 : 1);
        }
    }
}

/* ---- the summary ---- */

static const char *never(tp_point_kind k, uint32_t way)
{
    static const char *const LOOP[] = {"without a turn", "with one turn", "with more turns"},
                             *const ARM[] = {"the first arm", "the second arm"}, *const WAY[] = {"false", "true"};
    return k == TP_POINT_LOOP ? LOOP[way] : k == TP_POINT_ARM ? ARM[way] : WAY[way];
}

static const char *one_of(tp_point_kind k)
{
    static const char *const ONE[] = {"branch", "mask", "loop", "min or max", "comparison"};
    return ONE[k];
}

tp_str tp_point_text(tp_arena *a, const tp_point *p)
{
    tp_buf b = {.arena = a};
    tp_buf_printf(&b, "%s: ", one_of(p->kind));
    for (uint32_t way = 0, n = 0; way < 3; way++)
        if (p->all & ~p->seen & (1u << way))
            tp_buf_printf(&b, "%snever %s", n++ ? ", " : "", never(p->kind, way));
    if (p->seen == p->all)
        tp_buf_c(&b, "every way");
    return tp_buf_view(&b);
}

/* "never false: line 12, never true: line 14" of one kind of points. */
static void say_gaps(tp_arena *a, const tp_point *points, uint32_t n, tp_point_kind kind, tp_coverage_count *out,
                     tp_buf *text)
{
    bool any = false;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t way = 0; way < 3; way++) {
            const tp_point *p = &points[i];
            if (p->kind != kind || !(p->all & ~p->seen & (1u << way)))
                continue;
            tp_str place = p->line ? tp_printf(a, "line %u", p->line) : TP_S("a default");
            tp_buf_printf(text, "%snever %s: %.*s", any ? ", " : " (", never(kind, way), TP_FMT(place));
            tp_str gap = tp_printf(a, "%s, %.*s: never %s", one_of(kind), TP_FMT(place), never(kind, way));
            tp_push(a, out->gaps, gap);
            any = true;
        }
    if (any)
        tp_buf_c(text, ")");
}

static tp_coverage_count summarise(tp_arena *a, const tp_point *points, uint32_t len, tp_str dtypes)
{
    tp_coverage_count out = {.dtypes = dtypes};
    tp_buf text = {.arena = a};
    for (uint32_t kind = 0; kind < TP_POINT_KINDS; kind++) {
        for (uint32_t i = 0; i < len; i++) {
            out.points[kind] += points[i].kind == kind;
            out.covered[kind] += points[i].kind == kind && points[i].seen == points[i].all;
        }
        if (!out.points[kind])
            continue;
        tp_buf_printf(&text, "%s%s %u of %u", text.n ? ", " : "", tp_point_kind_name((tp_point_kind)kind),
                      out.covered[kind], out.points[kind]);
        say_gaps(a, points, len, (tp_point_kind)kind, &out, &text);
    }
    out.text = tp_buf_view(&text);
    return out;
}

/* "T=bfloat16, T=float32: guards 2 of 2"; without names where all say the same. */
static tp_str text_of_each(tp_arena *a, const tp_coverage_summary *s)
{
    tp_buf text = {.arena = a};
    for (uint32_t i = 0; i < s->each.len; i++) {
        const tp_coverage_count *c = &s->each.at[i];
        tp_buf names = {.arena = a};
        uint32_t same = 0;
        bool again = false;
        for (uint32_t j = 0; j < s->each.len; j++) {
            if (!tp_str_eq(s->each.at[j].text, c->text))
                continue;
            again |= j < i;
            tp_buf_printf(&names, "%s%.*s", same++ ? " or " : "", TP_FMT(s->each.at[j].dtypes));
        }
        if (again)
            continue;
        if (same == s->each.len)
            return same == 1 || !c->text.n ? c->text : tp_printf(a, "%.*s, in each dtype combination", TP_FMT(c->text));
        tp_buf_printf(&text, "%s%.*s: %.*s", text.n ? "; " : "", TP_FMT(tp_buf_view(&names)), TP_FMT(c->text));
    }
    return tp_buf_view(&text);
}

void tp_coverage_summarise(tp_arena *a, const tp_kernel *const *kernels, tp_coverage *const *all, uint32_t n,
                           tp_coverage_summary *out)
{
    if (!n)
        return;
    uint32_t len = all[0]->points.len;
    tp_point *points = TP_NEWN(a, tp_point, len);
    if (len)
        memcpy(points, all[0]->points.at, len * sizeof *points);
    for (uint32_t k = 0; k < n; k++) {
        tp_push(a, out->each, summarise(a, all[k]->points.at, all[k]->points.len, tp_dtypes_text(kernels[k])));
        for (uint32_t i = 0; all[k]->points.len == len && i < len; i++)
            if (all[k]->points.at[i].kind == points[i].kind && all[k]->points.at[i].line == points[i].line)
                points[i].seen |= all[k]->points.at[i].seen;
    }
    out->points = points;
    out->npoints = len;
    out->any = summarise(a, points, len, (tp_str){NULL, 0});
    out->text = text_of_each(a, out);
}
