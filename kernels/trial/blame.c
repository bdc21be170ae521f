/* What a difference depends on. D = kernel - reference of one element, as a
 * residue; an input takes part in it when D changes with that input's residue. */
#include "kernels/trial/equiv.h"

enum { PROBES = 400 };

typedef struct search {
    tp_arena *a;
    const tp_kernel *k;
    tp_probe probe;
    void *ctx;
    uint64_t kernel, reference; /* as they are */
    int probes;
} search;

static uint64_t minus(uint64_t x, uint64_t y)
{
    x &= 0xffffffff;
    y &= 0xffffffff;
    return x >= y ? x - y : x + TP_FIELD_P - y;
}

/* What a new draw of some part of an input changes. */
typedef struct change {
    bool known, kernel, reference, difference;
    uint64_t dk, dr;
} change;

static change draw(search *s, const tp_part *part)
{
    uint64_t k, r;
    if (s->probes++ >= PROBES || !s->probe(s->ctx, part, &k, &r) || k == TP_FIELD_UNKNOWN || r == TP_FIELD_UNKNOWN)
        return (change){.known = false};
    change c = {.known = true, .dk = minus(k, s->kernel), .dr = minus(r, s->reference)};
    c.kernel = c.dk != 0;
    c.reference = c.dr != 0;
    c.difference = c.dk != c.dr;
    return c;
}

/* Narrow dimension d of the part to its first (or last) index that takes part. */
static void narrow(search *s, tp_part *part, uint32_t d, bool last)
{
    while (part->hi[d] - part->lo[d] > 1) {
        tp_part half = *part;
        int64_t mid = part->lo[d] + (part->hi[d] - part->lo[d]) / 2;
        *(last ? &half.lo[d] : &half.hi[d]) = mid;
        bool inside = draw(s, &half).difference;
        if (inside == last)
            part->lo[d] = mid;
        else
            part->hi[d] = mid;
    }
}

/* A statement that reads or writes an operand. */
typedef struct reading {
    uint32_t operand;
    const tp_syntax *found;
    bool several; /* read it */
} reading;

static bool writes(const tp_statement *s, void *ctx)
{
    reading *r = ctx;
    if (tp_writes(s) && s->access->operand == r->operand)
        r->found = s->syntax;
    return false;
}

tp_loc tp_last_store(const tp_kernel *k, uint32_t operand)
{
    reading r = {.operand = operand};
    if (k->body)
        tp_region_any(&k->body->statements, writes, &r);
    return r.found ? tp_json_place(r.found->line) : (tp_loc){0};
}

static bool reads(const tp_statement *s, void *ctx)
{
    reading *r = ctx;
    if (s->kind == TP_COMPUTE && s->inst->prim == TP_P_LOAD && s->inst->access->operand == r->operand) {
        r->several |= r->found && r->found != s->syntax;
        r->found = r->found ? r->found : s->syntax;
    }
    return false;
}

/* Which of several copies moved an element is not known. */
static void name_statement(search *s, uint32_t operand, tp_blame *out)
{
    reading r = {.operand = operand};
    tp_buf b = {.arena = s->a};
    tp_region_any(&s->k->body->statements, reads, &r);
    out->statement = (tp_str){NULL, 0}; /* that of another input */
    out->loc = (tp_loc){0};
    if (!r.found || (r.several && tp_is_far(&s->k->operands[operand])))
        return;
    tp_print_stmt_head(&b, r.found);
    out->statement = tp_buf_view(&b);
    out->loc = tp_json_place(r.found->line);
}

/* Factor c with dk = c dr, when it is a small one; 0: none. */
static int factor(const change *c)
{
    for (int f = 2; f <= 64; f++)
        if (c->dk == c->dr * (uint64_t)f % TP_FIELD_P)
            return f;
    return c->dk == minus(0, c->dr) ? -1 : 0;
}

/* The elements of an input that take part: the first and the last by dimension. */
typedef struct span {
    const tp_operand *operand;
    int64_t first[TP_MAX_RANK], last[TP_MAX_RANK], dims[TP_MAX_RANK];
} span;

static bool is_loop(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_LOOP;
}

/* May an element of the output be made of several steps, or turns? */
static bool adds_up(const tp_kernel *k, uint32_t output)
{
    const tp_operand *o = &k->operands[k->ninputs + output];
    for (uint32_t n = 0; n < k->naxes; n++) {
        bool moves = false;
        for (uint32_t d = 0; d < o->rank; d++)
            moves |= o->dims[d].index.id && tp_expr_mentions(k->exprs, o->dims[d].index, k->axes[n].sym);
        if (!moves)
            return true;
    }
    return tp_region_any(&k->body->statements, is_loop, NULL);
}

static tp_str missing_hint(const span *p, bool sums)
{
    bool one = true, from_start = true, to_end = true;
    for (uint32_t d = 0; d < p->operand->rank; d++)
        if (p->first[d] != p->last[d]) {
            one = false;
            from_start &= p->first[d] == 0;
            to_end &= p->last[d] == p->dims[d] - 1;
        }
    if (one)
        return TP_S("a mask that is off by one, or a term that is skipped");
    if (to_end && !from_start)
        return TP_S("the tail is left out: a // that has to be a cdiv, or a mask that is too narrow");
    if (from_start && !to_end && sums)
        return TP_S(
            "earlier contributions are overwritten: set the accumulator to zero in the first step only, and add to it");
    return TP_S("that input is not used there: check its index map and the mask");
}

static void describe(search *s, tp_str element, const span *p, const change *c, tp_blame *out)
{
    tp_str at = tp_element_at(s->a, p->operand, p->dims, p->first);
    const char *others = memcmp(p->first, p->last, p->operand->rank * sizeof *p->first) == 0 ? "" : " and others";
    int f = factor(c);
    if (c->reference && !c->kernel) {
        out->evidence = tp_printf(s->a, "%.*s depends on %.*s%s in the reference, not in the kernel", TP_FMT(element),
                                  TP_FMT(at), others);
        out->hint = missing_hint(p, adds_up(s->k, out->output));
    } else if (c->kernel && !c->reference) {
        out->evidence = tp_printf(s->a, "%.*s depends on %.*s%s in the kernel, not in the reference", TP_FMT(element),
                                  TP_FMT(at), others);
        out->hint = TP_S("a block in the wrong place (index map, order of operands), or a mask that is too wide");
    } else if (f) {
        out->evidence = tp_printf(s->a, "%.*s weights %.*s%s by %d times the factor of the reference", TP_FMT(element),
                                  TP_FMT(at), others, f);
        out->hint = f < 0 ? TP_S("a sign, or swapped operands of - or /")
                          : TP_S("a constant factor, or a term that is added several times");
    } else {
        out->evidence =
            tp_printf(s->a, "%.*s weights %.*s%s differently from the reference", TP_FMT(element), TP_FMT(at), others);
        out->hint = TP_S("a missing factor or rescale, another constant, or another function");
    }
}

void tp_blame_find(tp_arena *a, const tp_kernel *k, const int64_t *env, uint32_t output, size_t element, tp_probe probe,
                   void *ctx, tp_blame *out)
{
    search s = {.a = a, .k = k, .probe = probe, .ctx = ctx};
    const tp_operand *o = &k->operands[k->ninputs + output];
    int64_t dims[TP_MAX_RANK], at[TP_MAX_RANK];
    tp_str why;
    *out = (tp_blame){.output = output};
    if (!k->body || !probe(ctx, NULL, &s.kernel, &s.reference) || !tp_operand_dims(k, o, env, dims, &why))
        return;
    for (uint32_t d = o->rank; d-- > 0; element /= (size_t)dims[d])
        at[d] = (int64_t)(element % (size_t)dims[d]);
    tp_str name = tp_element_at(a, o, dims, at);
    for (uint32_t i = 0; i < k->ninputs; i++) { /* one that takes part in one of the two alone says most */
        span p = {.operand = &k->operands[i]};
        tp_part all = {.input = i}, first, last;
        if (tp_array_of(k, i) != i || !tp_is_float(p.operand->dtype) ||
            !tp_operand_dims(k, p.operand, env, p.dims, &why))
            continue;
        memcpy(all.hi, p.dims, sizeof all.hi);
        if (!draw(&s, &all).difference)
            continue;
        first = last = all;
        for (uint32_t d = 0; d < p.operand->rank; d++) {
            narrow(&s, &first, d, false);
            narrow(&s, &last, d, true);
        }
        change c = draw(&s, &first);
        if (!c.difference || (out->evidence.n && c.kernel && c.reference))
            continue;
        memcpy(p.first, first.lo, sizeof p.first);
        memcpy(p.last, last.lo, sizeof p.last);
        describe(&s, name, &p, &c, out);
        out->step = (tp_str){NULL, 0};
        reading r = {.operand = i};
        if (!tp_is_far(p.operand) && !tp_region_any(&k->body->statements, reads, &r) && !r.found) {
            out->evidence =
                tp_printf(a, "%.*s; the body never uses `%.*s`", TP_FMT(out->evidence), TP_FMT(p.operand->name));
            out->hint = TP_S("use it");
        } else if (!tp_is_far(p.operand)) /* an earlier step may have copied it */
            out->step = tp_step_of(a, k, env, p.operand, p.first, o, at, false);
        name_statement(&s, i, out);
        if (!c.kernel || !c.reference)
            return;
        out->loc = (tp_loc){0}; /* it is what happens to it that differs */
    }
    if (!out->evidence.n && tp_is_float(o->dtype) && minus(s.kernel, s.reference)) {
        out->constant = true;
        out->evidence = tp_printf(a, "%.*s differs by a term that depends on no input", TP_FMT(name));
        out->hint = TP_S("a constant, or a value that is never added");
    }
}
