/* What an operand costs, how often a block comes back, how long an axis is. */
#include "analyzer/analyze.h"
#include "lsp/internal.h"
#include "report/blocks.h"

static bool inside(tp_loc loc, uint32_t offset)
{
    return offset >= loc.start && offset < loc.end;
}

/* The innermost of the spec's lists and the entry of it that holds the offset. */
static const tp_json *entry_at(const tp_json *doc, const char *key, uint32_t offset, uint32_t *index)
{
    const tp_json *list = tp_json_get(doc, key);
    for (*index = 0; list && list->type == TP_J_ARRAY && *index < list->u.items.n; ++*index)
        if (inside(list->u.items.at[*index]->loc, offset))
            return list->u.items.at[*index];
    return NULL;
}

static void say_window(tp_buf *b, const tp_kernel *k, const tp_operand *o)
{
    tp_buf_printf(b, "**`%.*s`** %s[", TP_FMT(o->name), tp_dtype_info(o->dtype)->name);
    for (uint32_t d = 0; d < tp_global_rank(o); d++)
        tp_buf_printf(b, "%s%.*s", d ? ", " : "", TP_FMT(tp_expr_text(k->exprs, tp_global_shape(o)[d])));
    tp_buf_printf(b, "] in %s", tp_memory_name(o->memory));
    if (o->role == TP_SCRATCH)
        return;
    if (o->global_shape)
        tp_buf_c(b, ", cut among devices");
    o = tp_part_of_device(k->arena, o);
    tp_buf_c(b, o->whole ? ", the whole array each step" : "\n\nwindow ");
    for (uint32_t d = 0; d < o->rank && !o->whole; d++)
        tp_buf_printf(b, "%s%.*s", d ? " × " : "", TP_FMT(tp_expr_text(k->exprs, o->dims[d].block)));
    for (uint32_t d = 0; d < o->rank && !o->whole; d++)
        tp_buf_printf(b, "%s%.*s", d ? ", " : " at block ", TP_FMT(tp_expr_text(k->exprs, o->dims[d].index)));
}

static void say_memory(tp_buf *b, const tp_spec_report *r, tp_str name)
{
    for (uint32_t i = 0; i < r->vmem.rows.len; i++) {
        const tp_memory_row *m = &r->vmem.rows.at[i];
        if (!tp_str_eq(m->name, name))
            continue;
        if (m->bytes < 0) {
            tp_buf_c(b, "\n\nVMEM: no bound, since the window grows with the sizes");
            continue;
        }
        tp_buf_printf(b, "\n\nVMEM: %lld bytes", (long long)m->bytes);
        if (m->buffers > 1)
            tp_buf_printf(b, " (%d buffers of %lld)", m->buffers, (long long)m->padded_bytes);
        if (r->vmem.limit > 0)
            tp_buf_printf(b, ", %.2f %% of %lld", 100.0 * (double)m->bytes / (double)r->vmem.limit,
                          (long long)r->vmem.limit);
        if (r->vmem.dtypes.n)
            tp_buf_printf(b, ", with %.*s", TP_FMT(r->vmem.dtypes));
    }
}

static void say_visits(tp_arena *a, tp_buf *b, const tp_job *j, const tp_operand *o)
{
    tp_str sizes;
    tp_block_map map;
    int64_t *env = tp_map_sizes(a, &j->report, &sizes);
    if (o->role == TP_SCRATCH || !env || !tp_map_blocks(a, j->report.spec->kernels[0], o, env, &map))
        return;
    tp_visits n = tp_map_visits(&map);
    tp_buf_printf(b, "\n\n%s %llu time%s in %u steps: %llu blocks, one up to %u time%s",
                  o->role == TP_INPUT ? "fetched" : "written", (unsigned long long)n.all, n.all == 1 ? "" : "s",
                  map.steps, (unsigned long long)n.blocks, n.most, n.most == 1 ? "" : "s");
    if (n.never)
        tp_buf_printf(b, ", %llu never", (unsigned long long)n.never);
    if (sizes.n)
        tp_buf_printf(b, " (%.*s)", TP_FMT(sizes));
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void say_size(tp_buf *b, const tp_kernel *k, const tp_size *s)
{
    tp_buf_printf(b, "size **`%.*s`**", TP_FMT(s->name));
    switch (s->kind) {
    case TP_SIZE_FIXED: tp_buf_printf(b, " = %lld", (long long)s->min); break;
    case TP_SIZE_RANGE: tp_buf_printf(b, ", from %lld to %lld", (long long)tp_size_least(s), (long long)s->max); break;
    case TP_SIZE_CHOICE:
        for (uint32_t i = 0; i < s->nchoices; i++)
            tp_buf_printf(b, "%s%lld", i ? ", " : ", one of ", (long long)s->choices[i]);
        break;
    case TP_SIZE_DERIVED: tp_buf_printf(b, " = %.*s", TP_FMT(tp_expr_text(k->exprs, s->expr))); break;
    }
    if (s->kind == TP_SIZE_RANGE && s->multiple_of > 1)
        tp_buf_printf(b, ", a multiple of %lld", (long long)s->multiple_of);
}

static void say_table(tp_buf *b, const tp_kernel *k, const tp_table *t)
{
    tp_buf_printf(b, "table **`%.*s`**: %s", TP_FMT(t->name), tp_dtype_info(t->dtype)->name);
    for (uint32_t d = 0; d < t->rank; d++)
        tp_buf_printf(b, "%s%.*s", d ? ", " : "[", TP_FMT(tp_expr_text(k->exprs, t->shape[d])));
    tp_buf_c(b, t->rank ? "]" : "");
    if (t->min.id)
        tp_buf_printf(b, ", at least %.*s", TP_FMT(tp_expr_text(k->exprs, t->min)));
    if (t->max.id)
        tp_buf_printf(b, ", at most %.*s", TP_FMT(tp_expr_text(k->exprs, t->max)));
    tp_buf_c(b, t->sorted ? ", ascending" : "");
    tp_buf_c(b, t->is_mutable ? ", written by the body" : "");
    tp_buf_c(b, t->given ? ", an input of \"prepare\"" : t->prepared ? ", computed by \"prepare\"" : "");
    for (uint32_t i = 0; i < k->ncontracts; i++)
        if (tp_expr_mentions(k->exprs, k->contracts[i].fact, t->sym))
            tp_buf_printf(b, "\n\n%.*s: %.*s", TP_FMT(k->contracts[i].id), TP_FMT(k->contracts[i].text));
}

/* The word at the offset: a rule, a name of the spec, an operation. */
static void say_word(tp_arena *a, tp_buf *b, const tp_kernel *k, tp_str text, uint32_t offset, tp_loc *loc)
{
    uint32_t from = offset, to = offset;
    while (from > 0 && is_word(text.p[from - 1]))
        from--;
    while (to < text.n && is_word(text.p[to]))
        to++;
    tp_str word = {text.p + from, to - from};
    *loc = (tp_loc){from, to, TP_S("")};
    const tp_rule *rule = tp_rule_find(word);
    const tp_code *code = rule ? NULL : tp_code_find(word);
    const tp_size *size = k ? tp_size_find(k, word) : NULL;
    int operand = k ? tp_operand_find(k, word) : -1, table = k ? tp_table_find(k, word) : -1;
    tp_prim p = tp_prim_find(word);
    if (!word.n)
        return;
    if (rule)
        tp_buf_printf(b, "**%s** %s\n\n%s", rule->code, rule->title, rule->why);
    else if (code)
        tp_buf_printf(b, "**%s** %s\n\n%s", code->code, code->title, code->why);
    else if (size)
        say_size(b, k, size);
    else if (table >= 0)
        say_table(b, k, &k->tables[table]);
    else if (operand >= 0)
        say_window(b, k, &k->operands[operand]);
    else if (p != TP_PRIMS)
        tp_buf_printf(b, "**`%.*s`**: %.*s", TP_FMT(word), TP_FMT(tp_lsp_operation(a, p)));
}

tp_str tp_lsp_hover(tp_arena *a, const tp_job *j, uint32_t offset, tp_loc *loc)
{
    static const char *const KEYS[] = {"inputs", "outputs", "scratch"};
    const tp_kernel *k = j->report.valid ? j->report.spec->kernels[0] : NULL;
    const uint32_t first[] = {0, k ? k->ninputs : 0, k ? k->ninputs + k->noutputs : 0};
    tp_buf b = {.arena = a};
    uint32_t i;
    for (size_t l = 0; k && l < 3; l++) {
        const tp_json *entry = entry_at(k->doc, KEYS[l], offset, &i);
        if (!entry || first[l] + i >= tp_noperands(k))
            continue;
        const tp_operand *o = &k->operands[first[l] + i];
        *loc = entry->loc;
        say_window(&b, k, o);
        say_memory(&b, &j->report, o->name);
        say_visits(a, &b, j, o);
    }
    const tp_json *axis = k ? entry_at(k->doc, "grid", offset, &i) : NULL;
    if (axis && i < k->naxes) {
        *loc = axis->loc;
        tp_buf_printf(&b, "axis **`%.*s`**: %.*s steps, %s", TP_FMT(k->axes[i].name),
                      TP_FMT(tp_expr_text(k->exprs, k->axes[i].steps)), k->axes[i].parallel ? "parallel" : "in order");
    }
    if (!tp_buf_view(&b).n)
        say_word(a, &b, k, j->source.text, offset, loc);
    return tp_buf_view(&b);
}
