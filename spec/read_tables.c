/* "scalar_prefetch" and "contracts": tables of integers, and what holds for
 * their contents. */
#include "spec/prepare.h"

static bool integral(tp_dtype d)
{
    return d == TP_I8 || d == TP_I16 || d == TP_I32 || d == TP_U8 || d == TP_U16 || d == TP_BOOL;
}

static void read_values(tp_reader *r, tp_table *t, const tp_json *v)
{
    if (!v)
        return;
    tp_check_members(r->c, v, TP_OBJECT_VALUES);
    const tp_json *min = tp_json_get(v, "min"), *max = tp_json_get(v, "max");
    t->values_loc = v->loc;
    if (min)
        t->min = tp_read_int_expr(r, min, TP_NAME_SIZE, "the least value");
    if (max)
        t->max = tp_read_int_expr(r, max, TP_NAME_SIZE, "the greatest value");
}

static int64_t *read_entries(tp_reader *r, const tp_table *t, const tp_table_data *d, uint32_t dim, const tp_json *v,
                             int64_t *at)
{
    if (dim < d->rank) {
        tp_expect_type(r->c, v, TP_J_ARRAY, "a dimension of \"contents\"");
        if (v->u.items.n != d->dims[dim])
            tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "%u entr%s in dimension %u of `%.*s`, which has %lld",
                     v->u.items.n, v->u.items.n == 1 ? "y" : "ies", dim, TP_FMT(t->name), (long long)d->dims[dim]);
        for (uint32_t i = 0; i < v->u.items.n; i++)
            at = read_entries(r, t, d, dim + 1, v->u.items.at[i], at);
        return at;
    }
    if (v->type != TP_J_BOOL)
        tp_expect_type(r->c, v, TP_J_INT, "an entry of a table");
    *at = v->type == TP_J_BOOL ? v->u.boolean : v->u.integer;
    if (t->dtype == TP_BOOL ? *at < 0 || *at > 1 : *at < tp_dtype_min(t->dtype) || *at > tp_dtype_max(t->dtype))
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "%lld does not fit %s", (long long)*at,
                 tp_dtype_info(t->dtype)->name);
    return at + 1;
}

/* "contents": the table as the spec fixes it. */
static void read_contents(tp_reader *r, tp_table *t, const tp_json *v)
{
    tp_table_data *d = TP_NEW(r->c->arena, tp_table_data);
    int64_t n = 1;
    d->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (!tp_expr_is_const(r->k->exprs, t->shape[i], &d->dims[i]) || d->dims[i] < 0)
            tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "write its shape in numbers",
                     "\"contents\" of a table whose shape is symbolic");
        if (d->dims[i] > TP_MAX_CONTENTS || (n *= d->dims[i]) > TP_MAX_CONTENTS)
            tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "\"contents\" of more than %d entries", TP_MAX_CONTENTS);
    }
    d->readable = t->rank ? d->dims[0] : 1;
    d->at = TP_NEWN(r->c->arena, int64_t, (size_t)n);
    read_entries(r, t, d, 0, v, d->at);
    t->contents = d;
    int64_t lo = n ? d->at[0] : 0, hi = lo;
    for (int64_t i = 1; i < n; i++) {
        lo = d->at[i] < lo ? d->at[i] : lo;
        hi = d->at[i] > hi ? d->at[i] : hi;
    }
    t->min = tp_const(r->k->exprs, lo);
    t->max = tp_const(r->k->exprs, hi);
}

static void read_table(tp_reader *r, uint32_t i, const tp_json *v, bool given)
{
    tp_table *t = &r->k->tables[i];
    tp_check_members(r->c, v, given ? TP_OBJECT_GIVEN : TP_OBJECT_TABLE);
    t->given = given;
    const tp_json *name = tp_member(r->c, v, "name", TP_J_STRING, true),
                  *dtype = tp_member(r->c, v, "dtype", TP_J_STRING, true),
                  *shape = tp_member(r->c, v, "shape", TP_J_ARRAY, true),
                  *sorted = tp_member(r->c, v, "sorted", TP_J_BOOL, false), *extent = tp_json_get(v, "extent");
    t->name = name->u.string;
    t->loc = name->loc;
    t->dtype = tp_read_dtype(r, dtype);
    if (!integral(t->dtype))
        tp_raise(r->c, TP_RULE_SPEC_TYPE, dtype->loc, "int32, int16, int8, uint16, uint8 or bool", "a table of %s",
                 tp_dtype_info(t->dtype)->name);
    t->rank = shape->u.items.n;
    if (t->rank > TP_TABLE_RANK)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, shape->loc, "reshape it",
                 "a table of rank %u; at most %d dimensions are read", t->rank, TP_TABLE_RANK);
    for (uint32_t d = 0; d < t->rank; d++)
        t->shape[d] = tp_read_int_expr(r, shape->u.items.at[d], TP_NAME_SIZE, "a dimension");
    t->sorted = sorted && sorted->u.boolean;
    if (t->sorted && t->rank != 1)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, sorted->loc, NULL, "\"sorted\" is for tables of rank 1");
    if (extent && !t->rank)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, extent->loc, NULL, "\"extent\" of a table without dimensions");
    if (extent) {
        t->extent = tp_read_int_expr(r, extent, TP_NAME_SIZE | TP_NAME_TABLE, "\"extent\"");
        t->extent_loc = extent->loc;
    }
    const tp_json *contents = tp_json_get(v, "contents");
    if (contents)
        read_contents(r, t, contents);
    read_values(r, t, tp_member(r->c, v, "values", TP_J_OBJECT, false));
    t->sym = (uint32_t)tp_expr_get(r->k->exprs, tp_sym_new(r->k->exprs, t->name))->value;
    const tp_json *written = tp_member(r->c, v, "mutable", TP_J_BOOL, false);
    t->is_mutable = written && written->u.boolean;
    t->name_string = name;
    if (t->is_mutable && (t->dtype != TP_I32 || !t->rank))
        tp_raise(r->c, TP_RULE_SPEC_VALUE, t->rank ? dtype->loc : shape->loc, t->rank ? "use int32" : "use [1]",
                 t->rank ? "a mutable table of %s" : "a mutable table of %s without dimensions",
                 tp_dtype_info(t->dtype)->name);
    if (t->is_mutable && extent)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, extent->loc, "remove it", "\"extent\" of a mutable table");
    tp_scope_add(r->c, &r->names, t->name,
                 t->is_mutable ? TP_NAME_MUTABLE
                 : given       ? TP_NAME_GIVEN
                               : TP_NAME_TABLE,
                 i, name->loc);
}

/* What contracts read. */
enum { CONTRACT = TP_NAME_SIZE | TP_NAME_TABLE | TP_NAME_GIVEN | TP_NAME_ELEMENT };

static tp_name *axis_named(tp_reader *r, tp_str name)
{
    for (uint32_t i = 0; i < r->names.len; i++)
        if (r->names.at[i].kind == TP_NAME_AXIS && tp_str_eq(r->names.at[i].name, name))
            return &r->names.at[i];
    return NULL;
}

/* A symbol's name that no other has. */
static tp_str free_name(tp_reader *r, tp_str name)
{
    tp_str free = name;
    for (uint32_t n = 1; n == 1 || tp_scope_find(&r->names, free); n++)
        free = tp_printf(r->c->arena, "%.*s_%u", TP_FMT(name), n);
    return free;
}

/* Does e read entry i + by of a table? */
static bool reads_at(const tp_exprs *p, tp_expr e, tp_expr i, int64_t by, int64_t *table)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    if (n->op != TP_E_READ)
        return false;
    *table = n->value;
    const tp_expr_node *at = tp_expr_get(p, n->a);
    int64_t one;
    if (!by)
        return tp_same(n->a, i);
    return at->op == TP_E_ADD && ((tp_same(at->a, i) && tp_expr_is_const(p, at->b, &one) && one == by) ||
                                  (tp_same(at->b, i) && tp_expr_is_const(p, at->a, &one) && one == by));
}

/* forall i < n - 1: t[i] <= t[i + 1], of all entries but the last: by induction t is "sorted". */
static void note_ascending(tp_kernel *k, const tp_contract *x)
{
    tp_exprs *p = k->exprs;
    const tp_expr_node fact = *tp_expr_get(p, x->fact);
    bool up = fact.op == TP_E_LE || fact.op == TP_E_LT, down = fact.op == TP_E_GE || fact.op == TP_E_GT;
    int64_t table, other;
    if (x->nbound != 1 || (!up && !down))
        return;
    tp_expr i = tp_sym(p, x->bound[0]);
    if (!reads_at(p, up ? fact.a : fact.b, i, 0, &table) || !reads_at(p, up ? fact.b : fact.a, i, 1, &other) ||
        table != other)
        return;
    for (uint32_t t = 0; t < k->ntables; t++) {
        tp_table *own = &k->tables[t];
        if ((int64_t)own->sym != table || own->rank != 1)
            continue;
        tp_expr count = own->extent.id ? own->extent : own->shape[0];
        tp_expr pairs = tp_op2(p, TP_E_SUB, count, tp_const(p, 1));
        own->sorted |= tp_same(tp_expr_normal(p, x->extent[0]), tp_expr_normal(p, pairs)) ||
                       tp_same(tp_expr_normal(p, x->extent[0]), tp_expr_normal(p, count));
    }
}

static void read_contract(tp_reader *r, tp_contract *x, const tp_json *v, uint32_t i)
{
    tp_check_members(r->c, v, TP_OBJECT_CONTRACT);
    const tp_json *id = tp_member(r->c, v, "id", TP_J_STRING, true),
                  *fact = tp_member(r->c, v, "fact", TP_J_STRING, true),
                  *where = tp_member(r->c, v, "where", TP_J_STRING, false);
    for (uint32_t k = 0; k < i; k++)
        if (tp_str_eq(r->k->contracts[k].id, id->u.string))
            tp_raise(r->c, TP_RULE_SPEC_NAME, id->loc, "number them C1, C2, …", "two contracts are called \"%.*s\"",
                     TP_FMT(id->u.string));
    uint32_t mark = r->names.len, naxes = 0;
    tp_name *axes[TP_MAX_BOUND]; /* whose names are bound here: contracts see no axes */
    tp_forall f = tp_parse_forall(r->c, fact);
    x->id = id->u.string;
    x->text = fact->u.string;
    if (where)
        x->text = tp_printf(r->c->arena, "%.*s where %.*s", TP_FMT(x->text), TP_FMT(where->u.string));
    x->loc = fact->loc;
    if (f.n > TP_TABLE_RANK)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, fact->loc, NULL, "more than %d bound names", TP_TABLE_RANK);
    for (; x->nbound < f.n; x->nbound++) {
        tp_str name = f.names[x->nbound]->text;
        x->extent[x->nbound] = tp_int_expr_of(r, f.extents[x->nbound], CONTRACT, false);
        tp_name *axis = axis_named(r, name);
        if (axis) {
            axes[naxes++] = axis;
            axis->name = (tp_str){NULL, 0};
        }
        tp_expr sym = tp_sym_new(r->k->exprs, axis ? free_name(r, name) : name);
        x->bound[x->nbound] = (uint32_t)tp_expr_get(r->k->exprs, sym)->value;
        tp_scope_add(r->c, &r->names, name, TP_NAME_ELEMENT, x->bound[x->nbound],
                     tp_node_loc(r->c, f.names[x->nbound]));
    }
    x->fact = tp_int_expr_of(r, f.fact, CONTRACT, true);
    if (where) { /* lazy, as `implies` is: the fact may be of entries that exist there only */
        tp_expr there = tp_int_expr_of(r, tp_parse_expr(r->c, where), CONTRACT, true);
        x->fact = tp_op2(r->k->exprs, TP_E_IMPLIES, there, x->fact);
    }
    r->names.len = mark;
    for (uint32_t k = 0; k < naxes; k++)
        axes[k]->name = r->k->axes[axes[k]->index].name;
    note_ascending(r->k, x);
}

void tp_read_tables(tp_reader *r)
{
    const tp_json *prepare = tp_member(r->c, r->k->doc, "prepare", TP_J_OBJECT, false), *lists[2] = {NULL, NULL};
    uint32_t n = 0;
    lists[0] = tp_member(r->c, r->k->doc, "scalar_prefetch", TP_J_ARRAY, false);
    if (prepare) {
        tp_check_members(r->c, prepare, TP_OBJECT_PREPARE);
        lists[1] = tp_member(r->c, prepare, "inputs", TP_J_ARRAY, false);
    }
    for (int l = 0; l < 2; l++)
        n += lists[l] ? lists[l]->u.items.n : 0;
    if (n > TP_MAX_TABLES)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, (lists[0] ? lists[0] : lists[1])->loc, NULL, "more than %d tables",
                 TP_MAX_TABLES);
    r->k->tables = TP_NEWN(r->c->arena, tp_table, n);
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; lists[l] && i < lists[l]->u.items.n; i++)
            read_table(r, r->k->ntables++, lists[l]->u.items.at[i], l == 1);
        r->k->nprefetched = l == 0 ? r->k->ntables : r->k->nprefetched;
    }
    if (prepare)
        tp_read_prepare(r, tp_member(r->c, prepare, "program", TP_J_ARRAY, true));
}

void tp_read_contracts(tp_reader *r)
{
    const tp_json *contracts = tp_member(r->c, r->k->doc, "contracts", TP_J_ARRAY, false);
    uint32_t m = contracts ? contracts->u.items.n : 0;
    if (m > TP_MAX_CONTRACTS)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, contracts->loc, NULL, "more than %d contracts", TP_MAX_CONTRACTS);
    r->k->contracts = TP_NEWN(r->c->arena, tp_contract, m);
    for (; r->k->ncontracts < m; r->k->ncontracts++)
        read_contract(r, &r->k->contracts[r->k->ncontracts], contracts->u.items.at[r->k->ncontracts], r->k->ncontracts);
}
