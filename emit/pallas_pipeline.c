/* Statements that run a pipeline: pltpu.emit_pipeline. */
#include "emit/internal.h"
#include "spec/pipeline.h"

static void line(emitter *e)
{
    tp_buf_printf(e->b, "%*s", 4 * e->indent, "");
}

static const tp_json *list(const tp_pipeline *p, const char *key)
{
    return tp_json_get(p->declared, key);
}

static uint32_t length(const tp_json *list)
{
    return list ? list->u.items.n : 0;
}

/* What is there of dimension d: on several devices, on each. */
static void dimension(emitter *e, const tp_operand *o, const tp_json *shape, uint32_t d)
{
    if (!o->global_shape) {
        emit_expression(e, shape->u.items.at[d]);
        return;
    }
    uint32_t at = 0;
    while (tp_is_cut(o, at) || o->global_dim[at] != d)
        at++;
    emit_part_extent(e, o, at);
}

/* (8, 128): of the kids that a subscript leaves, for a window that is all of its array */
static void whole_shape(emitter *e, const tp_node *arg)
{
    const tp_node *base = arg->kind == TP_N_INDEX ? arg->kids[0] : arg;
    const tp_operand *o = &e->k->operands[tp_operand_find(e->k, base->text)];
    uint32_t given = arg->kind == TP_N_INDEX ? arg->nkids - 1 : 0, d = 0;
    const tp_json *inputs = tp_json_get(e->k->doc, "inputs"), *outputs = tp_json_get(e->k->doc, "outputs");
    uint32_t at = (uint32_t)(o - e->k->operands);
    const tp_json *v = o->role == TP_INPUT ? inputs->u.items.at[at] : outputs->u.items.at[at - e->k->ninputs],
                  *shape = tp_json_get(v, "shape");
    emit_text(e, "(");
    for (uint32_t i = 0; i < (given ? given : 1); i++) {
        const tp_node *n = given ? arg->kids[i + 1] : NULL;
        uint32_t rank = tp_global_rank(o), fill = !n ? rank : n->kind == TP_N_ELLIPSIS ? rank + 1 - given : 1;
        for (; fill; fill--, d++) {
            if (!n || n->kind == TP_N_ELLIPSIS || n->kind == TP_N_COLON)
                dimension(e, o, shape, d);
            else if (n->kind == TP_N_CALL && tp_str_is(n->text, "ds"))
                emit_node(e, n->kids[1], 0);
            else
                continue;
            emit_text(e, ", ");
        }
    }
    emit_text(e, ")");
}

static void indices(emitter *e, const tp_json *map)
{
    emit_text(e, "(");
    for (uint32_t i = 0; i < map->u.items.n; i++) {
        emit_expression(e, map->u.items.at[i]);
        emit_text(e, i + 1 < map->u.items.n ? ", " : map->u.items.n == 1 ? ",)" : ")");
    }
}

static void block_dimension(emitter *e, const tp_json *v)
{
    if (v->type == TP_J_NULL) {
        emit_text(e, "None");
    } else if (v->type == TP_J_OBJECT) {
        emit_text(e, "pl.Element(");
        emit_expression(e, tp_json_get(v, "element"));
        emit_text(e, ")");
    } else {
        emit_expression(e, v);
    }
}

/* pipeline_mode, where it is not that of every window */
static void buffering(emitter *e, const tp_json *v)
{
    const tp_json *buffers = tp_json_get(v, "buffers"), *ahead = tp_json_get(v, "lookahead");
    int n = buffers ? (int)buffers->u.integer : 2;
    bool looks = ahead && ahead->u.boolean;
    if (n != 2 || looks)
        tp_buf_printf(e->b, ", pipeline_mode=pl.Buffered(%d%s)", n, looks ? ", use_lookahead=True" : "");
}

static void window(emitter *e, const tp_pipeline *p, const tp_json *v, const tp_node *arg)
{
    const tp_json *block = tp_json_get(v, "block_shape"), *map = tp_json_get(v, "index_map"),
                  *space = tp_json_get(v, "memory_space"), *grid = list(p, "grid");
    emit_text(e, "pl.BlockSpec(");
    if (block) {
        emit_text(e, "(");
        for (uint32_t i = 0; i < block->u.items.n; i++) {
            block_dimension(e, block->u.items.at[i]);
            emit_text(e, ", ");
        }
        emit_text(e, ")");
    } else {
        whole_shape(e, arg);
    }
    emit_text(e, ", lambda ");
    for (uint32_t i = 0; i < length(grid); i++)
        emit_item(e, i, tp_json_get(grid->u.items.at[i], "axis")->u.string);
    emit_text(e, ": ");
    if (map) {
        indices(e, map);
    } else {
        const tp_operand *o = &e->k->operands[tp_operand_find(e->k, tp_json_get(v, "name")->u.string)];
        emit_text(e, "(");
        for (uint32_t d = 0; d < o->ref_rank; d++)
            emit_text(e, "0, ");
        emit_text(e, ")");
    }
    if (space && tp_str_is(space->u.string, "smem"))
        emit_text(e, ", memory_space=pltpu.SMEM");
    buffering(e, v);
    emit_text(e, "),\n");
}

static void windows(emitter *e, const tp_pipeline *p, const char *key, const char *python, tp_node *const *args)
{
    const tp_json *all = list(p, key);
    line(e);
    tp_buf_printf(e->b, "%s=[\n", python);
    e->indent++;
    for (uint32_t i = 0; i < length(all); i++) {
        line(e);
        window(e, p, all->u.items.at[i], args[i]);
    }
    e->indent--;
    line(e);
    emit_text(e, "],\n");
}

static void step(emitter *e, const tp_pipeline *p)
{
    static const char *const KEYS[] = {"inputs", "outputs"};
    const tp_json *grid = list(p, "grid");
    uint32_t mark = e->known.len, n = 0;
    line(e);
    emit_text(e, "def ");
    emit_identifier(e, p->name);
    emit_text(e, "(");
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < length(list(p, KEYS[k])); i++) {
            emit_text(e, n++ ? ", " : "");
            emit_ref(e, tp_json_get(list(p, KEYS[k])->u.items.at[i], "name")->u.string);
        }
    emit_text(e, "):\n");
    e->indent++;
    for (uint32_t i = 0; i < length(grid); i++) {
        line(e);
        emit_identifier(e, tp_json_get(grid->u.items.at[i], "axis")->u.string);
        tp_buf_printf(e->b, " = pl.program_id(%u)\n", i);
    }
    tp_push(e->k->arena, e->pipelines, p);
    emit_block(e, &p->body);
    e->pipelines.len--;
    e->indent--;
    e->known.len = mark;
    emit_text(e, "\n");
}

void emit_pipeline(emitter *e, const tp_syntax *s)
{
    const tp_pipeline *p = s->pipeline;
    const tp_json *grid = list(p, "grid");
    step(e, p);
    line(e);
    emit_text(e, "pltpu.emit_pipeline(\n");
    e->indent++;
    line(e);
    emit_identifier(e, p->name);
    emit_text(e, ",\n");
    line(e);
    emit_text(e, "grid=(");
    for (uint32_t i = 0; i < length(grid); i++) {
        emit_expression(e, tp_json_get(grid->u.items.at[i], "steps"));
        emit_text(e, ", ");
    }
    emit_text(e, "),\n");
    tp_push(e->k->arena, e->pipelines, p);
    windows(e, p, "inputs", "in_specs", s->value->kids);
    windows(e, p, "outputs", "out_specs", s->value->kids + length(list(p, "inputs")));
    e->pipelines.len--;
    e->indent--;
    line(e);
    emit_text(e, ")(");
    for (uint32_t i = 0; i < s->value->nkids; i++) {
        emit_text(e, i ? ", " : "");
        emit_side(e, s->value->kids[i]);
    }
    emit_text(e, ")\n");
}

/* Within a step, pl.num_programs() is that of its own grid. */
bool emit_steps(emitter *e, tp_str axis)
{
    const tp_json *grid = tp_json_get(e->k->doc, "grid");
    int outer = tp_axis_find(e->k, axis);
    const tp_json *steps = outer >= 0 && e->pipelines.len ? tp_json_get(grid->u.items.at[outer], "steps") : NULL;
    for (uint32_t i = 0; !steps && i < e->pipelines.len; i++) {
        const tp_json *own = list(e->pipelines.at[i], "grid");
        for (uint32_t k = 0; k < length(own); k++)
            if (tp_str_eq(tp_json_get(own->u.items.at[k], "axis")->u.string, axis))
                steps = tp_json_get(own->u.items.at[k], "steps");
    }
    if (!steps)
        return false;
    emit_text(e, "(");
    emit_expression(e, steps);
    emit_text(e, ")");
    return true;
}
