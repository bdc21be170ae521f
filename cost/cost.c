/* Counts at given sizes, of forms and of sums. */
#include "cost/cost.h"

#include "analyzer/claim/claim.h"
#include "base/checked.h"
#include "cost/internal.h"

/* ---- numbers ---- */

static tp_cost_count number(int64_t n)
{
    return (tp_cost_count){.known = true, .n = n};
}

static tp_cost_count no_number(tp_str why)
{
    return (tp_cost_count){.why = why};
}

static const char TOO_LARGE[] = "the number is beyond 2^63";

static tp_cost_count plus(tp_cost_count a, tp_cost_count b)
{
    int64_t n;
    if (!a.known || !b.known)
        return a.known ? b : a;
    return tp_add(a.n, b.n, &n) ? number(n) : no_number(tp_str_c(TOO_LARGE));
}

static tp_cost_count minus(tp_cost_count a, tp_cost_count b)
{
    if (!a.known || !b.known)
        return a.known ? b : a;
    return number(a.n - b.n); /* both count something, and b no more than a */
}

static tp_cost_count times(tp_cost_count a, tp_cost_count b)
{
    int64_t n;
    if ((a.known && !a.n) || (b.known && !b.n))
        return number(0);
    if (!a.known || !b.known)
        return a.known ? b : a;
    return tp_mul(a.n, b.n, &n) ? number(n) : no_number(tp_str_c(TOO_LARGE));
}

static tp_cost_count bytes_of(tp_cost_count elements, tp_dtype d)
{
    tp_cost_count bits = times(elements, number(tp_storage_bits(d)));
    return bits.known ? number(bits.n / 8 + (bits.n % 8 != 0)) : bits;
}

static tp_cost_count align(tp_cost_count n, int64_t to)
{
    int64_t blocks;
    if (!n.known || !to)
        return n.known ? no_number(TP_S("the matrix unit of the target is not known")) : n;
    return tp_ceildiv(n.n, to, &blocks) ? times(number(blocks), number(to)) : no_number(tp_str_c(TOO_LARGE));
}

/* ---- counting ---- */

typedef struct tally {
    tp_cost *c;
    tp_arena *a;
    int64_t work;
    bool counting;
} tally;

static tp_cost_count value(tally *t, tp_expr e)
{
    int64_t n;
    tp_eval_error err = tp_expr_eval(t->c->p, e, t->c->env, &n);
    return err == TP_EVAL_OK         ? number(n)
           : err == TP_EVAL_OVERFLOW ? no_number(tp_str_c(TOO_LARGE))
           : err == TP_EVAL_TABLE    ? no_number(TP_S("it depends on a table without contents"))
                                     : no_number(tp_str_c(tp_eval_error_text(err)));
}

static tp_cost_count sum(tally *t, const tp_sum *s)
{
    int64_t n;
    tp_str why;
    return tp_sum_value(t->c, s, &t->work, &n, &why) ? number(n) : no_number(why);
}

static tp_cost_count total(tally *t, const tp_total *x)
{
    return x->form.e.id && !t->counting ? value(t, x->form.e) : sum(t, &x->sum);
}

static tp_cost_count executions(tally *t, const tp_context *x)
{
    return x->opaque.n ? no_number(x->opaque) : total(t, &x->executions);
}

/* ---- windows ---- */

static tp_cost_count move_count(tally *t, const tp_move *m, bool elements)
{
    if (m->never)
        return number(0);
    tp_cost_count all = sum(t, elements ? &m->all_elements : &m->all);
    return m->subtract ? minus(all, sum(t, elements ? &m->same_elements : &m->same)) : all;
}

static tp_cost_count over_jumps(tally *t, const tp_window_cost *w, bool elements)
{
    tp_cost_count n = number(0);
    for (uint32_t j = 0; j <= t->c->k->naxes; j++)
        n = plus(n, move_count(t, &w->moves[j], elements));
    return n;
}

static tp_cost_count of_windows(tally *t, const tp_window_cost *w, bool elements)
{
    const tp_form *f = elements ? &w->elements : &w->times;
    if (w->why.n)
        return no_number(w->why);
    return f->e.id && !t->counting ? value(t, f->e) : over_jumps(t, w, elements);
}

static void add_transfers(tally *t, uint32_t operand, tp_operand_cost *x)
{
    const tp_body_cost *b = &t->c->body;
    for (uint32_t i = 0; i < b->transfers.len; i++) {
        const tp_transfer *m = &b->transfers.at[i];
        tp_str opaque = b->contexts.at[m->context].opaque;
        if (m->operand != operand)
            continue;
        tp_cost_count n = opaque.n ? no_number(opaque) : total(t, &m->executions),
                      e = opaque.n ? no_number(opaque) : total(t, &m->elements);
        *(m->in ? &x->fetches : &x->writes) = plus(m->in ? x->fetches : x->writes, n);
        *(m->in ? &x->fetched : &x->written) = plus(m->in ? x->fetched : x->written, e);
    }
}

/* A device that names itself sends, too. */
static void count_links(tally *t, tp_cost_numbers *n, bool any)
{
    n->links = n->bytes_linked = number(0);
    n->devices = number(tp_is_connected(t->c->k));
    for (uint32_t i = 0; tp_is_connected(t->c->k) && i < tp_mesh_rank(t->c->k); i++)
        n->devices = times(n->devices, value(t, t->c->k->axes[i].steps));
    for (uint32_t i = 0; any && i < t->c->body.links.len; i++) {
        const tp_transfer *m = &t->c->body.links.at[i];
        tp_str opaque = t->c->body.contexts.at[m->context].opaque;
        tp_cost_count all = opaque.n ? no_number(opaque) : total(t, &m->elements);
        n->links = plus(n->links, opaque.n ? all : total(t, &m->executions));
        n->bytes_linked = plus(n->bytes_linked, bytes_of(all, t->c->k->operands[m->operand].dtype));
    }
}

tp_cost_count tp_cost_step_copies(tp_cost *c, const int64_t *env, uint32_t operand, int64_t *work)
{
    const tp_kernel *k = c->k;
    tally t = {c, c->arena, *work, true};
    tp_cost_count n = number(0);
    memcpy(c->env, env, c->ngiven * sizeof *c->env);
    for (uint32_t x = 0; x < k->naxes; x++)
        c->env[k->axes[x].sym] = env[k->axes[x].sym];
    for (uint32_t i = 0; i < c->body.transfers.len; i++) {
        const tp_transfer *m = &c->body.transfers.at[i];
        tp_str opaque = c->body.contexts.at[m->context].opaque;
        tp_sum turns = m->executions.sum; /* of this step: its axes, which come first, are given */
        turns.over.at += k->naxes;
        turns.over.len -= k->naxes;
        if (m->operand == operand)
            n = plus(n, opaque.n ? no_number(opaque) : sum(&t, &turns));
    }
    *work = t.work;
    return n;
}

static tp_operand_cost operand_cost(tally *t, uint32_t i, bool any)
{
    const tp_operand *o = &t->c->k->operands[i];
    const tp_window_cost *w = &t->c->windows[i];
    tp_operand_cost x = {
        .operand = o, .fetches = number(0), .fetched = number(0), .writes = number(0), .written = number(0)};
    x.array = bytes_of(value(t, t->c->arrays[i]), o->dtype);
    if (any && w->far) {
        add_transfers(t, i, &x);
    } else if (any && !(o->role == TP_OUTPUT && o->discard)) {
        tp_cost_count times_moved = of_windows(t, w, false), elements = of_windows(t, w, true);
        *(o->role == TP_INPUT ? &x.fetches : &x.writes) = times_moved;
        *(o->role == TP_INPUT ? &x.fetched : &x.written) = elements;
        if (w->why.n)
            x.fetches = x.fetched = no_number(w->why);
    }
    return x;
}

static tp_jump jump_cost(tally *t, uint32_t j, bool any)
{
    tp_sum steps = tp_jump_steps(t->c, j);
    tp_jump x = {.steps = any ? sum(t, &steps) : number(0), .bytes_in = number(0), .bytes_out = number(0)};
    for (uint32_t i = 0; any && i < t->c->k->ninputs + t->c->k->noutputs; i++) {
        const tp_operand *o = &t->c->k->operands[i];
        if (t->c->windows[i].far || (o->role == TP_OUTPUT && o->discard))
            continue;
        tp_cost_count n = t->c->windows[i].why.n ? no_number(t->c->windows[i].why)
                                                 : bytes_of(move_count(t, &t->c->windows[i].moves[j], true), o->dtype);
        *(o->role == TP_INPUT ? &x.bytes_in : &x.bytes_out) = plus(o->role == TP_INPUT ? x.bytes_in : x.bytes_out, n);
    }
    return x;
}

/* ---- operations ---- */

static tp_cost_count operations(tally *t, int which, bool any)
{
    tp_cost_count n = number(0);
    for (uint32_t i = 0; any && i < t->c->body.contexts.len; i++) {
        const tp_context *x = &t->c->body.contexts.at[i];
        if (x->per[which].id)
            n = plus(n, times(executions(t, x), value(t, x->per[which])));
    }
    return n;
}

static void count_dots(tally *t, tp_cost_numbers *out, bool any)
{
    const tp_body_cost *b = &t->c->body;
    int64_t mxu = t->c->k->target.mxu;
    out->ndots = b->dots.len;
    out->dots = TP_NEWN(t->a, tp_dot_cost, out->ndots);
    out->mxu_flops = number(0);
    for (uint32_t i = 0; i < b->dots.len; i++) {
        const tp_dot *d = &b->dots.at[i];
        tp_dot_cost *x = &out->dots[i];
        *x = (tp_dot_cost){.peak = d->peak,
                           .executions = any ? executions(t, &b->contexts.at[d->context]) : number(0),
                           .batch = value(t, d->batch),
                           .m = value(t, d->m),
                           .k = value(t, d->k),
                           .n = value(t, d->n)};
        if (mxu)
            out->mxu_flops = plus(out->mxu_flops, tp_dot_on_tiles(x, mxu));
    }
}

tp_cost_count tp_dot_on_tiles(const tp_dot_cost *x, int64_t side)
{
    tp_cost_count one =
        times(times(number(2), x->batch), times(align(x->m, TP_SUBLANES), times(align(x->k, side), align(x->n, side))));
    return times(x->executions, one);
}

static void add_up(tp_cost_numbers *n)
{
    n->bytes_in = n->bytes_out = number(0);
    for (uint32_t i = 0; i < n->noperands; i++) {
        tp_operand_cost *o = &n->operands[i];
        o->bytes_in = bytes_of(o->fetched, o->operand->dtype);
        o->bytes_out = bytes_of(o->written, o->operand->dtype);
        n->bytes_in = plus(n->bytes_in, o->bytes_in);
        n->bytes_out = plus(n->bytes_out, o->bytes_out);
    }
}

static tp_cost_count one_of(tp_cost_count n, int64_t other)
{
    return n.known ? n : number(other);
}

void tp_cost_put_moved(tp_cost_numbers *n, uint32_t operand, int64_t fetches, int64_t fetched, int64_t writes,
                       int64_t written)
{
    tp_operand_cost *o = &n->operands[operand];
    o->fetches = one_of(o->fetches, fetches);
    o->fetched = one_of(o->fetched, fetched);
    o->writes = one_of(o->writes, writes);
    o->written = one_of(o->written, written);
    add_up(n);
}

static void count_memory(tally *t, tp_cost_numbers *n)
{
    const tp_vmem_life *l = &t->c->forms.life;
    for (int early = 0; early < 2; early++)
        n->vmem_of[early] = value(t, t->c->vmem[early]);
    n->vmem = n->vmem_of[tp_early_generation(&t->c->k->target)];
    n->vmem_limit = t->c->k->vmem_limit ? t->c->k->vmem_limit : tp_target_vmem(&t->c->k->target);
    n->vmem_buffers = TP_NEWN(t->a, tp_cost_count, l->buffers.len + 1);
    n->vmem_moments = TP_NEWN(t->a, tp_cost_count, l->moments.len);
    for (uint32_t i = 0; i < l->buffers.len; i++)
        n->vmem_buffers[i] = value(t, l->buffers.at[i].bytes);
    for (uint32_t i = 0; i < l->moments.len; i++) {
        n->vmem_moments[i] = value(t, l->moments.at[i].bytes);
        if (n->vmem_moments[i].n > n->vmem_moments[n->vmem_peak].n)
            n->vmem_peak = i;
    }
}

tp_cost_numbers tp_cost_at(tp_cost *c, tp_arena *a, const tp_cost_request *r)
{
    tally t = {c, a, r->work ? r->work : TP_COST_WORK, r->counting};
    tp_cost_numbers n = {.steps = number(1), .noperands = c->k->ninputs + c->k->noutputs};
    memcpy(c->env, r->env, c->ngiven * sizeof *c->env);
    for (uint32_t x = 0; x < c->k->naxes; x++)
        n.steps = times(n.steps, value(&t, c->k->axes[x].steps));
    bool any = !n.steps.known || n.steps.n > 0;
    n.operands = TP_NEWN(a, tp_operand_cost, n.noperands);
    n.ideal_in = n.ideal_out = number(0);
    for (uint32_t i = 0; i < n.noperands; i++) {
        n.operands[i] = operand_cost(&t, i, any);
        tp_cost_count *ideal = i < c->k->ninputs ? &n.ideal_in : &n.ideal_out;
        if (!(c->k->operands[i].role == TP_OUTPUT && c->k->operands[i].discard) && c->k->operands[i].array < 0)
            *ideal = plus(*ideal, n.operands[i].array);
    }
    add_up(&n);
    n.njumps = c->k->naxes + 1;
    n.jumps = TP_NEWN(a, tp_jump, n.njumps);
    for (uint32_t j = 0; j < n.njumps; j++)
        n.jumps[j] = jump_cost(&t, j, any);
    n.flops = operations(&t, TP_OP_FLOPS, any);
    n.dot_flops = operations(&t, TP_OP_DOT, any);
    n.transcendental = operations(&t, TP_OP_TRANSCENDENTAL, any);
    count_dots(&t, &n, any);
    if (!c->k->body)
        n.flops = n.dot_flops = n.mxu_flops = n.transcendental = no_number(TP_S("the spec has no kernel"));
    count_memory(&t, &n);
    count_links(&t, &n, any);
    return n;
}

/* ---- forms ---- */

static tp_form form_sum(tp_cost *c, tp_form a, tp_form b)
{
    int64_t zero;
    if (!a.e.id || !b.e.id)
        return a.e.id ? b : a;
    if (tp_expr_is_const(c->p, a.e, &zero) && !zero)
        return b;
    if (tp_expr_is_const(c->p, b.e, &zero) && !zero)
        return a;
    return (tp_form){.e = tp_cost_op(c, TP_E_ADD, a.e, b.e)};
}

static tp_form form_product(tp_cost *c, tp_form a, tp_expr b)
{
    int64_t one;
    if (!a.e.id || (tp_expr_is_const(c->p, b, &one) && one == 1))
        return a;
    return (tp_form){.e = tp_expr_is_const(c->p, a.e, &one) && one == 1 ? b : tp_cost_op(c, TP_E_MUL, a.e, b)};
}

static tp_form form_bytes(tp_cost *c, tp_form elements, tp_dtype d)
{
    int bits = tp_storage_bits(d);
    if (bits >= 8)
        return form_product(c, elements, tp_cost_num(c, bits / 8));
    return elements.e.id ? (tp_form){.e = tp_cost_op(c, TP_E_CDIV, elements.e, tp_cost_num(c, 8 / bits))} : elements;
}

static tp_form form_operations(tp_cost *c, int which)
{
    tp_form n = {.e = tp_cost_num(c, 0)};
    for (uint32_t i = 0; i < c->body.contexts.len; i++) {
        const tp_context *x = &c->body.contexts.at[i];
        if (x->per[which].id)
            n = form_sum(c, n, form_product(c, x->executions.form, tp_expr_normal(c->p, x->per[which])));
    }
    return c->k->body ? n : (tp_form){.why = TP_S("the spec has no kernel")};
}

static tp_form form_mxu(tp_cost *c)
{
    tp_form n = {.e = tp_cost_num(c, 0)};
    tp_expr side = tp_cost_num(c, c->k->target.mxu);
    if (!c->k->body || !c->k->target.mxu)
        return (tp_form){.why = c->k->body ? TP_S("the target has no matrix unit") : TP_S("the spec has no kernel")};
    for (uint32_t i = 0; i < c->body.dots.len; i++) {
        const tp_dot *d = &c->body.dots.at[i];
        tp_expr one = tp_cost_op(c, TP_E_MUL, tp_cost_num(c, 2), d->batch);
        one = tp_cost_op(c, TP_E_MUL, one, tp_cost_op(c, TP_E_ALIGN_UP, d->m, tp_cost_num(c, TP_SUBLANES)));
        one = tp_cost_op(c, TP_E_MUL, one, tp_cost_op(c, TP_E_ALIGN_UP, d->k, side));
        one = tp_cost_op(c, TP_E_MUL, one, tp_cost_op(c, TP_E_ALIGN_UP, d->n, side));
        n = form_sum(c, n, form_product(c, c->body.contexts.at[d->context].executions.form, tp_expr_normal(c->p, one)));
    }
    return n;
}

static tp_operand_forms operand_forms(tp_cost *c, uint32_t i)
{
    const tp_operand *o = &c->k->operands[i];
    const tp_window_cost *w = &c->windows[i];
    tp_form zero = {.e = tp_cost_num(c, 0)};
    tp_operand_forms f = {zero, zero, zero, zero};
    for (uint32_t t = 0; w->far && t < c->body.transfers.len; t++) {
        const tp_transfer *m = &c->body.transfers.at[t];
        if (m->operand != i)
            continue;
        tp_form *times_moved = m->in ? &f.fetches : &f.writes, *bytes = m->in ? &f.bytes_in : &f.bytes_out;
        *times_moved = form_sum(c, *times_moved, m->executions.form);
        *bytes = form_sum(c, *bytes, form_bytes(c, m->elements.form, o->dtype));
    }
    if (w->far || (o->role == TP_OUTPUT && o->discard))
        return f;
    tp_form elements = form_bytes(c, w->elements, o->dtype);
    if (w->why.n)
        f.fetches = f.bytes_in = f.writes = f.bytes_out = (tp_form){.why = w->why};
    else if (o->role == TP_INPUT)
        f = (tp_operand_forms){w->times, elements, zero, zero};
    else
        f = (tp_operand_forms){zero, zero, w->times, elements};
    return f;
}

static void find_forms(tp_cost *c)
{
    uint32_t n = c->k->ninputs + c->k->noutputs;
    tp_form zero = {.e = tp_cost_num(c, 0)};
    tp_cost_forms *f = &c->forms;
    f->steps.e = c->steps;
    f->operands = TP_NEWN(c->arena, tp_operand_forms, n);
    f->bytes_in = f->bytes_out = f->ideal_in = f->ideal_out = zero;
    for (uint32_t i = 0; i < n; i++) {
        const tp_operand *o = &c->k->operands[i];
        f->operands[i] = operand_forms(c, i);
        f->bytes_in = form_sum(c, f->bytes_in, f->operands[i].bytes_in);
        f->bytes_out = form_sum(c, f->bytes_out, f->operands[i].bytes_out);
        tp_form *ideal = o->role == TP_INPUT ? &f->ideal_in : &f->ideal_out;
        if (!(o->role == TP_OUTPUT && o->discard))
            *ideal = form_sum(c, *ideal, form_bytes(c, (tp_form){.e = c->arrays[i]}, o->dtype));
    }
    f->links = f->bytes_linked = zero;
    for (uint32_t i = 0; i < c->body.links.len; i++) {
        const tp_transfer *m = &c->body.links.at[i];
        f->links = form_sum(c, f->links, m->executions.form);
        f->bytes_linked =
            form_sum(c, f->bytes_linked, form_bytes(c, m->elements.form, c->k->operands[m->operand].dtype));
    }
    f->flops = form_operations(c, TP_OP_FLOPS);
    f->dot_flops = form_operations(c, TP_OP_DOT);
    f->transcendental = form_operations(c, TP_OP_TRANSCENDENTAL);
    f->mxu_flops = form_mxu(c);
    f->life = tp_vmem_life_of(c->arena, c->k);
    f->vmem.e = c->vmem[tp_early_generation(&c->k->target)];
}

const tp_cost_forms *tp_cost_forms_of(const tp_cost *c)
{
    return &c->forms;
}

/* Symbols of sizes, tables and axes come first, and every env of the kernel has them. */
static uint32_t given_symbols(const tp_kernel *k)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            n = k->sizes[i].sym >= n ? k->sizes[i].sym + 1 : n;
    for (uint32_t i = 0; i < k->ntables; i++)
        n = k->tables[i].sym >= n ? k->tables[i].sym + 1 : n;
    return n;
}

tp_cost *tp_cost_new(tp_arena *a, const tp_kernel *k)
{
    tp_cost *c = TP_NEW(a, tp_cost);
    *c = (tp_cost){.arena = a, .k = k, .p = k->exprs, .nsyms = tp_sym_count(k->exprs), .ngiven = given_symbols(k)};
    c->steps = tp_cost_num(c, 1);
    for (uint32_t x = 0; x < k->naxes; x++) {
        int64_t one;
        bool first = tp_expr_is_const(c->p, c->steps, &one) && one == 1;
        c->steps = first ? k->axes[x].steps : tp_cost_op(c, TP_E_MUL, c->steps, k->axes[x].steps);
    }
    c->vmem[0] = tp_vmem_bytes(a, k, false);
    c->vmem[1] = tp_vmem_bytes(a, k, true);
    tp_cost_windows(c);
    tp_cost_body(c);
    c->nsyms = tp_sym_count(k->exprs);
    c->env = TP_NEWN(a, int64_t, c->nsyms);
    find_forms(c);
    return c;
}

bool tp_cost_windows_move(tp_arena *arena, const tp_kernel *k, const int64_t *env, int64_t work, double *bytes)
{
    tp_kernel windows = *k; /* alone */
    tp_arena *a = tp_arena_child(arena);
    bool known = true;
    windows.body = NULL;
    tp_cost *c = tp_cost_new(a, &windows);
    tally t = {c, a, work, false};
    memcpy(c->env, env, c->ngiven * sizeof *c->env);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        tp_operand_cost x = operand_cost(&t, i, true);
        const tp_cost_count *n = x.operand->role == TP_INPUT ? &x.fetched : &x.written;
        known = known && n->known;
        bytes[i] = (double)n->n * tp_storage_bits(x.operand->dtype) / 8;
    }
    tp_arena_free(a);
    return known;
}
