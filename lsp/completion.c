/* What can be written here: operations, names of the spec, codes of rules. */
#include "analyzer/analyze.h"
#include "lsp/internal.h"
#include "spec/kernel.h"

/* Kinds of items of the protocol. */
enum { ITEM_FUNCTION = 3, ITEM_VARIABLE = 6, ITEM_CONSTANT = 21, ITEM_VALUE = 12 };

static void add(json *list, const char *label, tp_str detail, int kind)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "label", json_object_new_string(label));
    json_object_object_add(o, "kind", json_object_new_int(kind));
    if (detail.n)
        json_object_object_add(o, "detail", tp_jsonc_string(detail));
    json_object_array_add(list, o);
}

tp_str tp_lsp_operation(tp_arena *a, tp_prim p)
{
    const tp_prim_row *row = tp_prim_info(p);
    return tp_printf(a, "%s in JAX, %s in Pallas", row->jaxpr, row->pallas);
}

static void add_operations(tp_arena *a, json *list)
{
    size_t n;
    for (int p = 0; p < TP_PRIMS; p++)
        if (tp_prim_find(tp_str_c(tp_prim_info((tp_prim)p)->name)) == (tp_prim)p)
            add(list, tp_prim_info((tp_prim)p)->name, tp_lsp_operation(a, (tp_prim)p), ITEM_FUNCTION);
    const char *const *more = tp_reference_functions(&n);
    for (size_t i = 0; i < n; i++)
        add(list, more[i], TP_S("in references"), ITEM_FUNCTION);
}

/* `member`: of its entries the name; NULL: its keys are. */
static void add_names_of(tp_arena *a, json *list, const tp_json *v, const char *member, const char *what, int kind)
{
    bool object = v && v->type == TP_J_OBJECT;
    for (uint32_t i = 0; v && (object || v->type == TP_J_ARRAY) && i < v->u.items.n; i++) {
        const tp_json *m = v->u.items.at[i], *name = member && m->type == TP_J_OBJECT ? tp_json_get(m, member) : NULL;
        tp_str s = object && !member ? m->key : name && name->type == TP_J_STRING ? name->u.string : (tp_str){NULL, 0};
        if (s.n)
            add(list, tp_cstr(a, s), tp_str_c(what), kind);
    }
}

/* Names that the text declares, whether or not the spec is valid: keys of objects, "name" or "axis" of entries. */
static void add_names(tp_arena *a, json *list, const tp_json *doc)
{
    static const struct {
        const char *key, *member, *what;
        int kind;
    } ROWS[] = {{"sizes", NULL, "size", ITEM_VARIABLE},
                {"constants", NULL, "constant", ITEM_CONSTANT},
                {"dtypes", NULL, "dtype", ITEM_CONSTANT},
                {"grid", "axis", "grid axis", ITEM_VARIABLE},
                {"scalar_prefetch", "name", "table", ITEM_VARIABLE},
                {"inputs", "name", "input", ITEM_VARIABLE},
                {"outputs", "name", "output", ITEM_VARIABLE},
                {"scratch", "name", "scratch", ITEM_VARIABLE}};
    for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++)
        add_names_of(a, list, tp_json_get(doc, ROWS[r].key), ROWS[r].member, ROWS[r].what, ROWS[r].kind);
    const tp_json *prepare = tp_json_get(doc, "prepare");
    if (prepare && prepare->type == TP_J_OBJECT)
        add_names_of(a, list, tp_json_get(prepare, "inputs"), "name", "input of prepare", ITEM_VARIABLE);
}

static void add_rules(json *list)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    for (size_t i = 0; i < n; i++)
        add(list, rules[i]->code, tp_str_c(rules[i]->title), ITEM_VALUE);
    const tp_code *codes = tp_codes(&n);
    for (size_t i = 0; i < n; i++)
        add(list, codes[i].code, tp_str_c(codes[i].title), ITEM_VALUE);
}

/* Is the offset in the value of a member "rule" on this line? */
static bool after_rule(tp_str text, uint32_t offset)
{
    static const char KEY[] = "\"rule\"";
    uint32_t from = offset;
    while (from > 0 && text.p[from - 1] != '\n' && text.p[from - 1] != ',' && text.p[from - 1] != '{')
        from--;
    while (from < offset && text.p[from] == ' ')
        from++;
    return offset - from > sizeof KEY - 1 && memcmp(text.p + from, KEY, sizeof KEY - 1) == 0;
}

typedef struct reading {
    tp_ctx ctx;
    bool comments;
    tp_json *doc;
} reading;

static void read_text(void *arg)
{
    reading *r = arg;
    r->doc = tp_json_parse(&r->ctx, r->comments);
}

json *tp_lsp_complete(tp_arena *a, const tp_source *source, uint32_t offset)
{
    json *list = json_object_new_array();
    reading r = {.ctx = {.arena = a, .source = source}};
    tp_str path = source->path;
    r.comments = path.n > 6 && memcmp(path.p + path.n - 6, ".jsonc", 6) == 0;
    if (after_rule(source->text, offset)) {
        add_rules(list);
        return list;
    }
    add_operations(a, list);
    if (tp_try(a, read_text, &r) == TP_OK && r.doc->type == TP_J_OBJECT)
        add_names(a, list, r.doc);
    return list;
}
