/* A case of one kernel against another kernel in place of its reference: two
 * versions at the same sizes, with the same tables, by name. */
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"
#include "spec/range.h"
#include "spec/table.h"

static bool in_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool tp_speaks_of(const tp_json *v, tp_str name)
{
    if (!v)
        return false;
    if (v->type == TP_J_ARRAY || v->type == TP_J_OBJECT) {
        for (uint32_t i = 0; i < v->u.items.n; i++)
            if (tp_speaks_of(v->u.items.at[i], name))
                return true;
        return false;
    }
    if (v->type != TP_J_STRING)
        return false;
    tp_str s = v->u.string;
    for (size_t i = 0; i + name.n <= s.n; i++)
        if (memcmp(s.p + i, name.p, name.n) == 0 && (i == 0 || !in_name(s.p[i - 1])) &&
            (i + name.n == s.n || !in_name(s.p[i + name.n])))
            return true;
    return false;
}

bool tp_size_is_free(const tp_kernel *k, tp_str name)
{
    static const char *const ARRAYS[] = {"inputs", "outputs", "scalar_prefetch"};
    const tp_json *reference = tp_json_get(k->doc, "reference"), *sizes = tp_json_get(k->doc, "sizes"),
                  *prepare = tp_json_get(k->doc, "prepare");
    if (!reference || tp_speaks_of(reference, name) || (prepare && tp_speaks_of(prepare, name)))
        return false;
    for (size_t a = 0; a < sizeof ARRAYS / sizeof *ARRAYS; a++) {
        const tp_json *list = tp_json_get(k->doc, ARRAYS[a]);
        for (uint32_t i = 0; list && i < list->u.items.n; i++)
            if (tp_speaks_of(tp_json_get(list->u.items.at[i], "shape"), name) ||
                tp_speaks_of(tp_json_get(list->u.items.at[i], "valid"), name))
                return false;
    }
    for (uint32_t i = 0; sizes && i < sizes->u.items.n; i++) /* derived ones; acyclic */
        if (tp_speaks_of(sizes->u.items.at[i], name) && !tp_size_is_free(k, sizes->u.items.at[i]->key))
            return false;
    return true;
}

static bool admits(const tp_size *s, int64_t v)
{
    bool listed = s->kind == TP_SIZE_RANGE;
    for (uint32_t i = 0; i < s->nchoices; i++)
        listed |= s->choices[i] == v;
    return listed && v >= s->min && v <= s->max && (s->kind != TP_SIZE_RANGE || v % s->multiple_of == 0);
}

static int64_t least_of(const tp_size *s)
{
    return s->kind == TP_SIZE_CHOICE ? s->choices[0] : tp_size_least(s);
}

/* The sizes of the other kernel: those of c where both have a name; where
 * neither result nor shapes depend on a size, any that it may have. */
static bool sizes_of(tp_arena *a, const tp_case *c, const tp_kernel *other, int64_t *env, tp_str *why)
{
    for (uint32_t i = 0; i < other->nsizes; i++) {
        const tp_size *s = &other->sizes[i], *mine = tp_size_find(c->kernel, s->name);
        bool open = tp_is_open_size(s);
        bool free = tp_size_is_free(other, s->name) && (!mine || tp_size_is_free(c->kernel, s->name));
        int64_t is, v = 0;
        bool known = mine && tp_expr_eval(c->kernel->exprs, mine->expr, c->env, &v) == TP_EVAL_OK;
        if (open)
            env[s->sym] = known && admits(s, v) ? v : least_of(s);
        if (free || !known)
            continue;
        if (tp_expr_eval(other->exprs, s->expr, env, &is) != TP_EVAL_OK || is != v) {
            *why = tp_printf(a, "%.*s = %lld is outside the domain of one of them", TP_FMT(s->name), (long long)v);
            return false;
        }
    }
    return tp_in_domain(other, env, why);
}

static bool tables_of(const tp_case *c, const tp_kernel *other, int64_t *env, tp_arena *a, tp_str *why)
{
    if (!other->ntables)
        return true;
    if (!tp_tables_new(a, other, env, why))
        return false;
    for (uint32_t i = 0; i < other->ntables; i++) {
        int at = tp_table_find(c->kernel, other->tables[i].name);
        const tp_table_data *is = at < 0 ? NULL : tp_bound_table(c->env, c->kernel->tables[at].sym),
                            *room = tp_bound_table(env, other->tables[i].sym);
        bool same = is && is->rank == room->rank && memcmp(is->dims, room->dims, is->rank * sizeof *is->dims) == 0;
        if (!same) {
            *why = tp_printf(a, "the table `%.*s` is not the same array in both", TP_FMT(other->tables[i].name));
            return false;
        }
        tp_bind_table(env, other->tables[i].sym, is);
    }
    return tp_tables_hold(a, other, env, why);
}

/* What one of them may be given, the other may, too. */
static bool inputs_of(tp_arena *a, const tp_kernel *k, const tp_kernel *other, tp_str *why)
{
    for (uint32_t i = 0; i < k->ninputs; i++) {
        int at = tp_operand_find(other, k->operands[i].name);
        if (at >= 0 && !tp_str_eq(tp_array_name(k, i), tp_array_name(other, (uint32_t)at))) {
            *why = tp_printf(a, "\"array\" of `%.*s` is not the same in both", TP_FMT(k->operands[i].name));
            return false;
        }
        if (at < 0 || tp_str_eq(tp_range_text(a, k, &k->operands[i]), tp_range_text(a, other, &other->operands[at])))
            continue;
        *why = tp_printf(a, "\"values\" of `%.*s` are not the same in both", TP_FMT(k->operands[i].name));
        return false;
    }
    return true;
}

/* Elements that only one of them leaves open have no result to compare. */
static bool outputs_of(tp_arena *a, const tp_kernel *k, const tp_kernel *other, tp_str *why)
{
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_operand *o = &k->operands[k->ninputs + i];
        int at = tp_operand_find(other, o->name);
        const tp_operand *x = at < 0 ? NULL : &other->operands[at];
        bool same = !x || (o->discard == x->discard && !o->valid.id == !x->valid.id);
        if (same && x && o->valid.id)
            same = tp_str_eq(tp_expr_text(k->exprs, o->valid), tp_expr_text(other->exprs, x->valid));
        if (same)
            continue;
        *why = tp_printf(a, "`valid` or `discard` of `%.*s` is not the same in both", TP_FMT(o->name));
        return false;
    }
    return true;
}

bool tp_case_against(tp_arena *a, tp_case *c, const tp_kernel *other, tp_str *why)
{
    tp_case *there = TP_NEW(a, tp_case);
    *there = (tp_case){.kernel = other, .env = TP_NEWN(a, int64_t, tp_sym_count(other->exprs)), .seed = c->seed};
    c->against = there;
    return inputs_of(a, c->kernel, other, why) && outputs_of(a, c->kernel, other, why) &&
           sizes_of(a, c, other, there->env, why) && tables_of(c, other, there->env, a, why);
}

int64_t tp_case_elements(const tp_case *c)
{
    return tp_elements_of(c->kernel, c->env);
}
