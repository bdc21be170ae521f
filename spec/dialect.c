/* Each translation is of one word or form; what no row knows stays, and the lowering says what is wrong with it. */
#include "spec/dialect_nodes.h"

#include <math.h>

enum { MOST_PARTS = 64 }; /* of one split */

/* ---- nodes, at the place of another ---- */

tp_node *dialect_node(dialect *d, const tp_node *at, tp_node_kind kind, tp_str text, uint32_t nkids,
                      tp_node *const *kids)
{
    tp_node *n = TP_NEW(d->c->arena, tp_node);
    *n = (tp_node){.kind = kind, .source = at->source, .from = at->from, .to = at->to, .text = text, .nkids = nkids};
    if (nkids) {
        n->kids = TP_NEWN(d->c->arena, tp_node *, nkids);
        memcpy(n->kids, kids, nkids * sizeof *kids);
    }
    return n;
}

tp_node *dialect_name(dialect *d, const tp_node *at, tp_str text)
{
    return dialect_node(d, at, TP_N_NAME, text, 0, NULL);
}

static tp_node *int_node(dialect *d, const tp_node *at, int64_t value)
{
    tp_node *n = dialect_node(d, at, TP_N_INT, tp_printf(d->c->arena, "%lld", (long long)value), 0, NULL);
    n->integer = value;
    return n;
}

static tp_node *unary_node(dialect *d, const tp_node *at, tp_operator op, tp_node *x)
{
    tp_node *n = dialect_node(d, at, TP_N_UNARY, (tp_str){NULL, 0}, 1, &x);
    n->op = op;
    return n;
}

/* A number of either sign. */
static tp_node *float_node(dialect *d, const tp_node *at, double value)
{
    tp_node *n = dialect_node(d, at, TP_N_FLOAT, tp_printf(d->c->arena, "%.17g", fabs(value)), 0, NULL);
    n->real = fabs(value);
    return value < 0 ? unary_node(d, at, TP_O_NEG, n) : n;
}

static tp_node *binary_node(dialect *d, const tp_node *at, tp_operator op, tp_node *a, tp_node *b)
{
    tp_node *n = dialect_node(d, at, TP_N_BINARY, (tp_str){NULL, 0}, 2, (tp_node *[]){a, b});
    n->op = op;
    return n;
}

tp_node *dialect_call(dialect *d, const tp_node *at, const char *name, uint32_t nargs, tp_node *const *args)
{
    tp_node *n = dialect_node(d, at, TP_N_CALL, tp_str_c(name), nargs, args);
    n->prefixed = true; /* no function of the program */
    return n;
}

static tp_node *keyword_node(dialect *d, const char *name, tp_node *value)
{
    return dialect_node(d, value, TP_N_KEYWORD, tp_str_c(name), 1, &value);
}

static tp_node *index_node(dialect *d, tp_node *x, tp_node *index)
{
    return dialect_node(d, x, TP_N_INDEX, (tp_str){NULL, 0}, 2, (tp_node *[]){x, index});
}

/* x.shape[axis] */
static tp_node *extent_node(dialect *d, tp_node *x, tp_node *axis)
{
    return index_node(d, dialect_node(d, x, TP_N_ATTRIBUTE, TP_S("shape"), 1, &x), axis);
}

static tp_node *cast_node(dialect *d, tp_node *x, tp_node *dtype)
{
    return dialect_node(d, x, TP_N_METHOD, TP_S("astype"), 2, (tp_node *[]){x, dtype});
}

/* ---- names ---- */

static bool is_declared(const dialect *d, tp_str name)
{
    return tp_size_find(d->k, name) || tp_named_number_find(d->k, name) || tp_table_find(d->k, name) >= 0 ||
           tp_operand_find(d->k, name) >= 0;
}

static bool is_assigned(const dialect *d, tp_str name)
{
    return tp_map_get(&d->names, name) == ASSIGNED;
}

static tp_node *fresh_name(dialect *d, const tp_node *at, const char *wish)
{
    tp_str name = tp_str_c(wish);
    for (uint32_t i = 1; tp_map_get(&d->names, name) || is_declared(d, name); i++)
        name = tp_printf(d->c->arena, "%s_%u", wish, i);
    tp_map_set(d->c->arena, &d->names, name, ASSIGNED);
    return dialect_name(d, at, name);
}

static void note_name(dialect *d, tp_str name, use how)
{
    if (tp_map_get(&d->names, name) < how)
        tp_map_set(d->c->arena, &d->names, name, how);
}

static void note_names(dialect *d, const tp_node *n, use how)
{
    if (n && n->kind == TP_N_NAME)
        note_name(d, n->text, how);
    for (uint32_t i = 0; n && i < n->nkids; i++)
        note_names(d, n->kids[i], n->kind == TP_N_SEQUENCE || n->kind == TP_N_CALL ? how : READ);
}

static void note_block(dialect *d, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        note_names(d, s->target, ASSIGNED);
        note_names(d, s->value, s->kind == TP_S_DEF ? ASSIGNED : READ);
        if (s->kind == TP_S_DEF)
            note_name(d, s->value->text, ASSIGNED);
        for (uint32_t k = 0; s->kind == TP_S_DEF && k < s->value->nkids; k++)
            note_name(d, s->value->kids[k]->text, ASSIGNED);
        note_block(d, &s->body);
        note_block(d, &s->orelse);
    }
}

static bool is_one_of(tp_str text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tp_str_is(text, words[i]))
            return true;
    return false;
}

/* np, jax.nn, … */
static bool is_module(const dialect *d, const tp_node *n)
{
    static const char *const TOP[] = {"np", "numpy", "jnp", "jax", "lax", "nn", "math", "scipy"},
                             *const BELOW[] = {"numpy", "nn", "lax", "special", "linalg", "scipy", "ops"};
    if (n->kind == TP_N_NAME)
        return is_one_of(n->text, TOP, sizeof TOP / sizeof *TOP) && !is_assigned(d, n->text) &&
               !is_declared(d, n->text);
    return n->kind == TP_N_ATTRIBUTE && is_one_of(n->text, BELOW, sizeof BELOW / sizeof *BELOW) &&
           is_module(d, n->kids[0]);
}

/* ---- words ---- */

static const struct {
    const char *theirs, *ours;
} FUNCTIONS[] = {{"amax", "max"},
                 {"amin", "min"},
                 {"absolute", "abs"},
                 {"fabs", "abs"},
                 {"negative", "neg"},
                 {"sigmoid", "logistic"},
                 {"expit", "logistic"},
                 {"swish", "silu"},
                 {"concat", "concatenate"},
                 {"broadcasted_iota", "iota"},
                 {"average", "mean"},
                 {"rint", "round"},
                 {"ascontiguousarray", "asarray"},
                 {"isfinite", "is_finite"}};

static const struct {
    const char *name;
    tp_operator op;
} OPERATORS[] = {{"add", TP_O_ADD},
                 {"subtract", TP_O_SUB},
                 {"multiply", TP_O_MUL},
                 {"divide", TP_O_TRUEDIV},
                 {"true_divide", TP_O_TRUEDIV},
                 {"floor_divide", TP_O_FLOORDIV},
                 {"mod", TP_O_MOD},
                 {"remainder", TP_O_MOD},
                 {"power", TP_O_POW},
                 {"less", TP_O_LT},
                 {"less_equal", TP_O_LE},
                 {"greater", TP_O_GT},
                 {"greater_equal", TP_O_GE},
                 {"equal", TP_O_EQ},
                 {"not_equal", TP_O_NE},
                 {"bitwise_and", TP_O_BITAND},
                 {"bitwise_or", TP_O_BITOR},
                 {"bitwise_xor", TP_O_BITXOR},
                 {"left_shift", TP_O_SHL},
                 {"right_shift", TP_O_SHR}};

static bool is_positional(const tp_node *n, uint32_t nargs)
{
    for (uint32_t i = 0; i < n->nkids; i++)
        if (n->kids[i]->kind == TP_N_KEYWORD)
            return false;
    return n->nkids == nargs;
}

/* Takes the keyword out of a call; its value, or NULL. */
static tp_node *take_keyword(tp_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->nkids; i++) {
        if (n->kids[i]->kind != TP_N_KEYWORD || !tp_str_is(n->kids[i]->text, name))
            continue;
        tp_node *value = n->kids[i]->kids[0];
        memmove(&n->kids[i], &n->kids[i + 1], (n->nkids - i - 1) * sizeof *n->kids);
        n->nkids--;
        return value;
    }
    return NULL;
}

/* len(x), float("-inf"), reciprocal(x), outer(a, b), one_hot(x, n); NULL: none of these */
static tp_node *short_call(dialect *d, tp_node *n)
{
    tp_node *x = n->nkids ? n->kids[0] : NULL;
    bool one = is_positional(n, 1), two = is_positional(n, 2);
    if (tp_str_is(n->text, "float") && one && x->kind == TP_N_STRING) {
        bool negative = x->text.n && x->text.p[0] == '-';
        tp_node *value = dialect_name(d, x, (tp_str){x->text.p + negative, x->text.n - negative});
        return negative ? unary_node(d, x, TP_O_NEG, value) : value;
    }
    if (tp_str_is(n->text, "reciprocal") && one)
        return binary_node(d, n, TP_O_POW, x, int_node(d, n, -1)); /* which refuses integers */
    if (tp_str_is(n->text, "stop_gradient") && one)
        return x;
    if (tp_str_is(n->text, "outer") && two) { /* of all elements in a row */
        tp_node *flat[2];
        for (int i = 0; i < 2; i++)
            flat[i] = dialect_call(d, n->kids[i], "reshape", 2, (tp_node *[]){n->kids[i], int_node(d, n, -1)});
        tp_node *column[] = {flat[0], dialect_node(d, x, TP_N_COLON, (tp_str){NULL, 0}, 0, NULL),
                             dialect_name(d, x, TP_S("None"))};
        return binary_node(d, n, TP_O_MUL, dialect_node(d, x, TP_N_INDEX, (tp_str){NULL, 0}, 3, column), flat[1]);
    }
    if (tp_str_is(n->text, "one_hot") && two) {
        tp_node *ellipsis = dialect_node(d, x, TP_N_ELLIPSIS, (tp_str){NULL, 0}, 0, NULL);
        tp_node *column = dialect_node(d, x, TP_N_INDEX, (tp_str){NULL, 0}, 3,
                                       (tp_node *[]){x, ellipsis, dialect_name(d, x, TP_S("None"))});
        tp_node *hot = binary_node(d, n, TP_O_EQ, column, dialect_call(d, n, "arange", 1, &n->kids[1]));
        return cast_node(d, hot, dialect_name(d, n, TP_S("float32")));
    }
    if (one && (tp_dtype_find(n->text) != TP_NO_DTYPE || tp_str_is(n->text, "float")) && x->kind != TP_N_STRING)
        return cast_node(d, x, dialect_name(d, n, tp_str_is(n->text, "float") ? TP_S("float64") : n->text));
    return NULL;
}

/* x[ds(i, 1), ds(0, n)]: sizes NULL: those of `like` */
static tp_node *window_node(dialect *d, tp_node *x, const tp_node *starts, const tp_node *sizes, tp_node *like)
{
    tp_node **kids = TP_NEWN(d->c->arena, tp_node *, starts->nkids + 1);
    kids[0] = x;
    for (uint32_t i = 0; i < starts->nkids; i++) {
        tp_node *size = sizes ? sizes->kids[i] : extent_node(d, like, int_node(d, starts, i));
        kids[i + 1] = dialect_call(d, starts, "ds", 2, (tp_node *[]){starts->kids[i], size});
    }
    return dialect_node(d, x, TP_N_INDEX, (tp_str){NULL, 0}, starts->nkids + 1, kids);
}

static bool is_pair_of_lists(const tp_node *n)
{
    return n->kind == TP_N_SEQUENCE && n->nkids == 2 && n->kids[0]->kind == TP_N_SEQUENCE &&
           n->kids[1]->kind == TP_N_SEQUENCE;
}

/* dot_general(a, b, ((c, c), (b, b))), dynamic_slice(x, starts, sizes), dynamic_update_slice(x, u, starts) */
static tp_node *lax_call(dialect *d, tp_node *n)
{
    if (tp_str_is(n->text, "dot_general")) {
        tp_node *numbers = take_keyword(n, "dimension_numbers");
        if (!numbers && n->nkids == 3)
            numbers = n->kids[--n->nkids];
        if (!numbers || numbers->kind != TP_N_SEQUENCE || numbers->nkids != 2 || !is_positional(n, 2) ||
            !is_pair_of_lists(numbers->kids[0]) || !is_pair_of_lists(numbers->kids[1]))
            return NULL;
        tp_node *args[] = {n->kids[0], n->kids[1], keyword_node(d, "contract", numbers->kids[0]),
                           keyword_node(d, "batch", numbers->kids[1])};
        return dialect_call(d, n, "dot", 4, args);
    }
    bool lists = n->nkids == 3 && n->kids[n->nkids - 1]->kind == TP_N_SEQUENCE;
    if (tp_str_is(n->text, "dynamic_slice") && lists && n->kids[1]->kind == TP_N_SEQUENCE &&
        n->kids[1]->nkids == n->kids[2]->nkids)
        return window_node(d, n->kids[0], n->kids[1], n->kids[2], NULL);
    if (tp_str_is(n->text, "dynamic_update_slice") && lists) {
        tp_node *at = dialect_node(d, n, TP_N_ATTRIBUTE, TP_S("at"), 1, &n->kids[0]);
        tp_node *place = window_node(d, at, n->kids[2], NULL, n->kids[1]);
        return dialect_node(d, n, TP_N_METHOD, TP_S("set"), 2, (tp_node *[]){place, n->kids[1]});
    }
    return NULL;
}

/* np.add.reduce(x, axis), np.add.outer(x, y) */
static tp_node *operator_method(dialect *d, tp_node *n)
{
    static const struct {
        const char *operator, * fold;
    } FOLDS[] = {{"add", "sum"},     {"multiply", "prod"},   {"maximum", "max"},
                 {"minimum", "min"}, {"logical_and", "all"}, {"logical_or", "any"}};
    tp_node *x = n->kids[0];
    if (x->kind != TP_N_ATTRIBUTE && !(x->kind == TP_N_NAME && x->prefixed))
        return NULL;
    for (size_t i = 0; tp_str_is(n->text, "reduce") && n->nkids > 1 && i < sizeof FOLDS / sizeof *FOLDS; i++) {
        if (!tp_str_is(x->text, FOLDS[i].operator))
            continue;
        tp_node *out = dialect_call(d, n, FOLDS[i].fold, n->nkids - 1, n->kids + 1), *axis[] = {n->kids[1], NULL};
        axis[1] = keyword_node(d, "axis", int_node(d, n, 0));
        if (n->nkids == 2)
            out = dialect_call(d, n, FOLDS[i].fold, 2, axis);
        else if (n->kids[2]->kind != TP_N_KEYWORD)
            out->kids[1] = keyword_node(d, "axis", out->kids[1]);
        return out;
    }
    if (tp_str_is(n->text, "accumulate") && n->nkids > 1) {
        static const char *const RUNNING[][2] = {
            {"add", "cumsum"}, {"multiply", "cumprod"}, {"maximum", "cummax"}, {"minimum", "cummin"}};
        for (size_t i = 0; i < sizeof RUNNING / sizeof *RUNNING; i++) {
            if (!tp_str_is(x->text, RUNNING[i][0]))
                continue;
            tp_node *first[] = {n->kids[1], keyword_node(d, "axis", int_node(d, n, 0))};
            return n->nkids == 2 ? dialect_call(d, n, RUNNING[i][1], 2, first)
                                 : dialect_call(d, n, RUNNING[i][1], n->nkids - 1, n->kids + 1);
        }
    }
    for (size_t i = 0; tp_str_is(n->text, "outer") && n->nkids == 3 && i < sizeof OPERATORS / sizeof *OPERATORS; i++)
        if (tp_str_is(x->text, OPERATORS[i].name)) { /* of vectors: a matrix on the right is refused by its rank */
            tp_node *column[] = {n->kids[1], dialect_node(d, n, TP_N_COLON, (tp_str){NULL, 0}, 0, NULL),
                                 dialect_name(d, n, TP_S("None"))};
            tp_node *row = dialect_call(d, n, "reshape", 2,
                                        (tp_node *[]){n->kids[2], extent_node(d, n->kids[2], int_node(d, n, 0))});
            return binary_node(d, n, OPERATORS[i].op, dialect_node(d, n, TP_N_INDEX, (tp_str){NULL, 0}, 3, column),
                               row);
        }
    return NULL;
}

/* std, norm: of other functions with the same axes */
static tp_node *composed_call(dialect *d, tp_node *n)
{
    if (!n->nkids || n->kids[0]->kind == TP_N_KEYWORD)
        return NULL;
    if (tp_str_is(n->text, "std")) {
        tp_node *var = dialect_call(d, n, "var", n->nkids, n->kids);
        return dialect_call(d, n, "sqrt", 1, &var);
    }
    if (tp_str_is(n->text, "norm") && (n->nkids == 1 || n->kids[1]->kind == TP_N_KEYWORD)) {
        tp_node *squares = dialect_call(d, n, "square", 1, n->kids),
                *sum = dialect_call(d, n, "sum", n->nkids, n->kids);
        sum->kids[0] = squares;
        return dialect_call(d, n, "sqrt", 1, &sum);
    }
    return NULL;
}

/* Functions of ours that take the dtype of their result. */
static bool takes_dtype(tp_str name)
{
    static const char *const NAMES[] = {"zeros", "ones", "full", "iota", "bitcast", "astype"};
    return is_one_of(name, NAMES, sizeof NAMES / sizeof *NAMES);
}

/* f(x, dtype=t) is f of x as t where f folds or combines; of other functions the result is one of t. */
static bool cast_operands(dialect *d, tp_node *n, tp_node *dtype)
{
    static const char *const FOLDS[] = {"sum",    "prod",    "mean",       "var",       "std",
                                        "cumsum", "cumprod", "zeros_like", "ones_like", "full_like"};
    uint32_t operands = is_one_of(n->text, FOLDS, sizeof FOLDS / sizeof *FOLDS);
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++)
        operands = tp_str_is(n->text, OPERATORS[i].name) ? 2 : operands;
    if (!dtype || n->nkids < operands)
        return false;
    for (uint32_t i = 0; i < operands; i++)
        n->kids[i] = cast_node(d, n->kids[i], dtype);
    return operands > 0;
}

/* 0.0, -inf */
static bool is_real(const tp_node *n)
{
    n = n->kind == TP_N_UNARY ? n->kids[0] : n;
    return n->kind == TP_N_FLOAT || (n->kind == TP_N_NAME && (tp_str_is(n->text, "inf") || tp_str_is(n->text, "nan")));
}

/* Our word for it. */
static tp_str renamed(tp_str name)
{
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (tp_str_is(name, FUNCTIONS[i].theirs))
            return tp_str_c(FUNCTIONS[i].ours);
    return name;
}

static tp_node *translate_call(dialect *d, tp_node *n)
{
    if (!n->prefixed && is_assigned(d, n->text)) /* a function of the program */
        return n;
    n->text = renamed(n->text);
    take_keyword(n, "precision");
    if (tp_str_is(n->text, "argsort") || tp_str_is(n->text, "sort")) /* equal elements keep their order */
        take_keyword(n, "kind"), take_keyword(n, "stable");
    take_keyword(n, "optimize");
    if (!tp_str_is(n->text, "dot"))
        take_keyword(n, "preferred_element_type");
    if (tp_str_is(n->text, "full") && is_positional(n, 2) && is_real(n->kids[1]))
        return dialect_call(d, n, "full", 3,
                            (tp_node *[]){n->kids[0], n->kids[1], dialect_name(d, n, TP_S("float32"))});
    tp_node *dtype = takes_dtype(n->text) ? NULL : take_keyword(n, "dtype"), *out = NULL;
    dtype = cast_operands(d, n, dtype) ? NULL : dtype;
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS && !out; i++)
        if (tp_str_is(n->text, OPERATORS[i].name) && is_positional(n, 2))
            out = binary_node(d, n, OPERATORS[i].op, n->kids[0], n->kids[1]);
    if (!out && (tp_str_is(n->text, "invert") || tp_str_is(n->text, "bitwise_not")) && is_positional(n, 1))
        out = unary_node(d, n, TP_O_INVERT, n->kids[0]);
    out = out ? out : short_call(d, n);
    out = out || !n->prefixed ? out : lax_call(d, n);
    tp_node *approximate = !out && tp_str_is(n->text, "gelu") ? take_keyword(n, "approximate") : NULL;
    if (approximate && approximate->kind == TP_N_NAME && tp_str_is(approximate->text, "False"))
        n->text = TP_S("gelu_exact");
    else if (approximate && (approximate->kind != TP_N_NAME || !tp_str_is(approximate->text, "True")))
        n->text = TP_S("gelu of an unknown kind");
    out = out ? out : composed_call(d, n);
    out = out ? out : n;
    return dtype ? cast_node(d, out, dtype) : out;
}

/* max(x, 1) of NumPy is along an axis. */
static void name_axis(dialect *d, tp_node *n)
{
    static const char *const FOLDS[] = {"max", "min", "amax", "amin"};
    if (n->nkids == 2 && n->kids[1]->kind != TP_N_KEYWORD && is_one_of(n->text, FOLDS, sizeof FOLDS / sizeof *FOLDS))
        n->kids[1] = keyword_node(d, "axis", n->kids[1]);
}

/* np.pad(x, 1), np.pad(x, (1, 0)), np.pad(x, ((1, 0), (0, 2))) */
static void name_padding(dialect *d, tp_node *n)
{
    tp_node *width = n->nkids > 1 && n->kids[1]->kind != TP_N_KEYWORD ? n->kids[1] : NULL;
    for (uint32_t i = 0; i < n->nkids && !width; i++)
        if (n->kids[i]->kind == TP_N_KEYWORD && tp_str_is(n->kids[i]->text, "pad_width"))
            width = n->kids[i]->kids[0];
    if (!width || !n->nkids || n->kids[0]->kind == TP_N_KEYWORD)
        return;
    bool list = width->kind == TP_N_SEQUENCE && width->nkids, nested = list && width->kids[0]->kind == TP_N_SEQUENCE;
    if (nested && width->nkids > 1) {
        n->text = TP_S("pad_each");
        return;
    }
    tp_node *pair = nested ? width->kids[0] : list ? width : NULL, *both[] = {width, width}, *copy;
    if (pair && pair->nkids != 2)
        return;
    pair = pair ? pair : dialect_node(d, width, TP_N_SEQUENCE, (tp_str){NULL, 0}, 2, both);
    copy = TP_NEW(d->c->arena, tp_node);
    *copy = *pair;
    n->text = TP_S("pad_all");
    for (uint32_t i = 1; i < n->nkids; i++)
        if (n->kids[i] == width)
            n->kids[i] = copy;
        else if (n->kids[i]->kind == TP_N_KEYWORD && n->kids[i]->kids[0] == width)
            n->kids[i]->kids[0] = copy;
}

/* x[np.ix_(a, b)] is x[a[:, None], b] */
static void open_mesh(dialect *d, tp_node *n)
{
    tp_node *mesh = n->nkids == 2 ? n->kids[1] : NULL;
    if (!mesh || mesh->kind != TP_N_CALL || !mesh->prefixed || !tp_str_is(mesh->text, "ix_") || !is_positional(mesh, 2))
        return;
    tp_node *column[] = {mesh->kids[0], dialect_node(d, n, TP_N_COLON, (tp_str){NULL, 0}, 0, NULL),
                         dialect_name(d, n, TP_S("None"))};
    tp_node *kids[] = {n->kids[0], dialect_node(d, n, TP_N_INDEX, (tp_str){NULL, 0}, 3, column), mesh->kids[1]};
    *n = *dialect_node(d, n, TP_N_INDEX, (tp_str){NULL, 0}, 3, kids);
}

/* Functions that mean something else under their module's name than under ours. */
static bool differs(const tp_node *module, tp_node *n)
{
    bool lax = tp_str_is(module->text, "lax"),
         scipy = tp_str_is(module->text, "special") || tp_str_is(module->text, "scipy");
    if (lax && n->nkids == 3 && (tp_str_is(n->text, "max") || tp_str_is(n->text, "min")))
        n->text = tp_str_is(n->text, "max") ? TP_S("maximum") : TP_S("minimum");
    if (lax && n->nkids == 4 && tp_str_is(n->text, "select"))
        n->text = TP_S("where");
    if (lax && tp_str_is(n->text, "round")) /* halves away from zero */
        return true;
    if (!lax && n->nkids == 3 && tp_str_is(n->text, "take")) /* of all elements in a row */
        return true;
    return scipy && n->nkids == 2 &&
           (tp_str_is(n->text, "softmax") || tp_str_is(n->text, "log_softmax")); /* over all */
}

static tp_node *translate_method(dialect *d, tp_node *n)
{
    tp_node *x = n->kids[0];
    bool module = is_module(d, x);
    if (module && differs(x, n))
        return n;
    if (module || tp_str_is(n->text, "std")) {
        n->kind = TP_N_CALL;
        n->prefixed = true;
        n->kids += module;
        n->nkids -= module;
        if (module)
            name_axis(d, n);
        if (module && tp_str_is(n->text, "pad") && !tp_str_is(x->text, "lax"))
            name_padding(d, n);
        return translate_call(d, n);
    }
    tp_node *own = operator_method(d, n);
    if (own)
        return own;
    if ((tp_str_is(n->text, "ravel") || tp_str_is(n->text, "flatten")) && n->nkids == 1)
        return dialect_call(d, n, "reshape", 2, (tp_node *[]){x, int_node(d, n, -1)});
    if (n->nkids == 2)
        name_axis(d, n);
    tp_node *dtype = takes_dtype(n->text) ? NULL : take_keyword(n, "dtype");
    if (tp_str_is(n->text, "astype") && n->nkids == 2) {
        tp_node *to = n->kids[1];
        if (to->kind == TP_N_NAME && tp_str_is(to->text, "float"))
            to->text = TP_S("float64");
        if (to->kind == TP_N_NAME && tp_str_is(to->text, "int"))
            to->text = TP_S("int32");
    }
    return dtype ? cast_node(d, n, dtype) : n;
}

/* np.float32, np.inf, math.pi, np.finfo(np.float32).min; x.dtype of an array of the spec */
static tp_node *translate_attribute(dialect *d, tp_node *n)
{
    tp_node *x = n->kids[0];
    if (tp_str_is(n->text, "dtype") && x->kind == TP_N_NAME && !is_assigned(d, x->text)) {
        int operand = tp_operand_find(d->k, x->text);
        return operand < 0 ? n : dialect_name(d, n, tp_str_c(tp_dtype_info(d->k->operands[operand].dtype)->name));
    }
    const tp_node *named = x->kind == TP_N_CALL && tp_str_is(x->text, "finfo") && x->nkids == 1 ? x->kids[0] : NULL;
    if (named && named->kind == TP_N_CALL && tp_str_is(named->text, "dtype") && named->nkids == 1)
        named = named->kids[0];
    tp_dtype of =
        named && (named->kind == TP_N_NAME || named->kind == TP_N_STRING) ? tp_dtype_find(named->text) : TP_NO_DTYPE;
    double largest = of != TP_NO_DTYPE && tp_is_float(of) ? tp_dtype_largest(of) : 0;
    if (largest > 0 && (tp_str_is(n->text, "max") || tp_str_is(n->text, "min")))
        return float_node(d, n, tp_str_is(n->text, "max") ? largest : -largest);
    if (!is_module(d, x) || is_module(d, n))
        return n;
    if (tp_str_is(n->text, "pi") || tp_str_is(n->text, "e"))
        return tp_str_is(n->text, "pi") ? float_node(d, n, 3.141592653589793) : float_node(d, n, 2.718281828459045);
    tp_node *name = dialect_name(d, n,
                                 tp_str_is(n->text, "newaxis") ? TP_S("None")
                                 : tp_str_is(n->text, "bool_") ? TP_S("bool")
                                                               : renamed(n->text));
    name->prefixed = true;
    return name;
}

static tp_node *translate(dialect *d, tp_node *n)
{
    for (uint32_t i = 0; i < n->nkids; i++)
        n->kids[i] = translate(d, n->kids[i]);
    if (n->kind == TP_N_CALL)
        return translate_call(d, n);
    for (uint32_t i = 1; n->kind == TP_N_INDEX && i < n->nkids; i++) /* x[[2, 0]] */
        if (n->kids[i]->kind == TP_N_SEQUENCE && n->kids[i]->computed)
            n->kids[i] = dialect_call(d, n, "array", 1, &n->kids[i]);
    if (n->kind == TP_N_INDEX)
        open_mesh(d, n);
    if (n->kind == TP_N_METHOD)
        return translate_method(d, n);
    if (n->kind == TP_N_ATTRIBUTE)
        return translate_attribute(d, n);
    return n;
}

/* ---- statements ---- */

tp_syntax *dialect_statement(dialect *d, const tp_syntax *at, tp_stmt_kind kind, tp_node *target, tp_node *value)
{
    tp_syntax *s = TP_NEW(d->c->arena, tp_syntax);
    *s = (tp_syntax){.kind = kind, .line = at->line, .number = at->number, .target = target, .value = value};
    return s;
}

/* o[i][j] = v is o[i, j] = v */
static void join_indices(dialect *d, tp_node *target)
{
    while (target->kids[0]->kind == TP_N_INDEX) {
        tp_node *inner = target->kids[0], **kids;
        for (uint32_t i = 1; i < inner->nkids; i++)
            if (inner->kids[i]->kind != TP_N_INT && inner->kids[i]->kind != TP_N_NAME)
                return;
        uint32_t n = inner->nkids + target->nkids - 1;
        kids = TP_NEWN(d->c->arena, tp_node *, n);
        memcpy(kids, inner->kids, inner->nkids * sizeof *kids);
        memcpy(kids + inner->nkids, target->kids + 1, (target->nkids - 1) * sizeof *kids);
        target->kids = kids;
        target->nkids = n;
    }
}

/* a, b = split(x, 2, axis): slices, of equal size */
static bool translate_split(dialect *d, tp_syntax *s, tp_block *into)
{
    tp_node *call = s->value, *axis = NULL;
    if (s->kind != TP_S_UNPACK || call->kind != TP_N_CALL || !tp_str_is(call->text, "split") ||
        is_assigned(d, call->text) || call->nkids < 2 || call->nkids > 3 || call->kids[1]->kind != TP_N_INT ||
        call->kids[1]->integer != (int64_t)s->target->nkids)
        return false;
    axis = call->nkids == 3 ? call->kids[2] : int_node(d, call, 0);
    axis = axis->kind == TP_N_KEYWORD ? axis->kids[0] : axis;
    bool last = axis->kind == TP_N_UNARY && axis->op == TP_O_NEG && axis->kids[0]->kind == TP_N_INT &&
                axis->kids[0]->integer == 1;
    if (!last && (axis->kind != TP_N_INT || axis->integer >= TP_MAX_RANK))
        return false;
    uint32_t before = last ? 1 : (uint32_t)axis->integer;
    tp_node *x = fresh_name(d, call, "whole"), *extent = extent_node(d, x, axis), *parts[MOST_PARTS];
    if (s->target->nkids > MOST_PARTS)
        return false;
    tp_push(d->c->arena, *into, dialect_statement(d, s, TP_S_ASSIGN, x, call->kids[0]));
    tp_node *rest = binary_node(d, call, TP_O_MOD, extent, call->kids[1]);
    tp_node *check[] = {binary_node(d, call, TP_O_EQ, rest, int_node(d, call, 0)),
                        dialect_node(d, call, TP_N_STRING, TP_S("split into equal parts"), 0, NULL)};
    tp_push(d->c->arena, *into, dialect_statement(d, s, TP_S_EXPR, NULL, dialect_call(d, call, "check", 2, check)));
    tp_node *width = binary_node(d, call, TP_O_FLOORDIV, extent, call->kids[1]);
    for (uint32_t i = 0; i < s->target->nkids; i++) {
        tp_node *kids[TP_MAX_RANK + 2] = {x};
        for (uint32_t k = 0; k < before; k++)
            kids[k + 1] = dialect_node(d, call, last ? TP_N_ELLIPSIS : TP_N_COLON, (tp_str){NULL, 0}, 0, NULL);
        tp_node *ends[] = {binary_node(d, call, TP_O_MUL, int_node(d, call, i), width),
                           binary_node(d, call, TP_O_MUL, int_node(d, call, (int64_t)i + 1), width),
                           dialect_node(d, call, TP_N_ABSENT, (tp_str){NULL, 0}, 0, NULL)};
        kids[before + 1] = dialect_node(d, call, TP_N_SLICE, (tp_str){NULL, 0}, 3, ends);
        parts[i] = dialect_node(d, call, TP_N_INDEX, (tp_str){NULL, 0}, before + 2, kids);
    }
    s->value = dialect_node(d, call, TP_N_SEQUENCE, (tp_str){NULL, 0}, s->target->nkids, parts);
    return false;
}

/* if c: …, continue; rest is if c: … else: rest */
static void drop_continue(dialect *d, tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i];
        bool skips = s->kind == TP_S_IF && !s->orelse.len && s->body.at[s->body.len - 1]->kind == TP_S_CONTINUE;
        if (!skips)
            continue;
        s->body.at[s->body.len - 1]->kind = TP_S_PASS;
        for (uint32_t k = i + 1; k < b->len; k++)
            tp_push(d->c->arena, s->orelse, b->at[k]);
        b->len = i + 1;
        drop_continue(d, &s->orelse);
    }
}

/* while True: if c: break; rest is while not c: rest */
static void drop_break(dialect *d, tp_syntax *s)
{
    const tp_node *c = s->value;
    const tp_syntax *first = s->body.at[0];
    if (c->kind != TP_N_NAME || !tp_str_is(c->text, "True") || first->kind != TP_S_IF || first->orelse.len ||
        first->body.len != 1 || first->body.at[0]->kind != TP_S_BREAK || s->body.len < 2)
        return;
    s->value = unary_node(d, first->value, TP_O_NOT, first->value);
    memmove(&s->body.at[0], &s->body.at[1], (s->body.len - 1) * sizeof *s->body.at);
    s->body.len--;
}

/* Is it a type of this language? Others are notes for readers. */
static bool is_type(const tp_node *n)
{
    n = n->kind == TP_N_INDEX ? n->kids[0] : n;
    return n->kind == TP_N_NAME && tp_dtype_find(n->text) != TP_NO_DTYPE;
}

/* np.add.at(o, index, v) is o[...] += added_at(o, index, v) */
static void translate_at(dialect *d, tp_syntax *s)
{
    tp_node *n = s->kind == TP_S_EXPR ? s->value : NULL;
    if (!n || n->kind != TP_N_METHOD || !tp_str_is(n->text, "at") || !is_positional(n, 4) ||
        n->kids[0]->kind != TP_N_NAME || !n->kids[0]->prefixed || !tp_str_is(n->kids[0]->text, "add") ||
        n->kids[1]->kind != TP_N_NAME)
        return;
    tp_node *all = dialect_node(d, n, TP_N_ELLIPSIS, (tp_str){NULL, 0}, 0, NULL);
    s->kind = TP_S_STORE;
    s->augmented = true;
    s->op = TP_O_ADD;
    s->target = dialect_node(d, n, TP_N_INDEX, (tp_str){NULL, 0}, 2, (tp_node *[]){n->kids[1], all});
    s->value = dialect_call(d, n, "added_at", 3, n->kids + 1);
}

/* ys += [y] is ys.append(y) */
static void translate_extension(dialect *d, tp_syntax *s)
{
    tp_node *v = s->value;
    if (s->kind != TP_S_ASSIGN || !s->augmented || s->op != TP_O_ADD || v->kind != TP_N_SEQUENCE || !v->computed ||
        v->nkids != 1)
        return;
    s->value = dialect_node(d, v, TP_N_METHOD, TP_S("append"), 2, (tp_node *[]){s->target, v->kids[0]});
    s->kind = TP_S_EXPR;
    s->augmented = false;
    s->target = NULL;
}

/* o[i], m = … is part, m = …, then o[i] = part; the statements behind it. */
static tp_block part_places(dialect *d, tp_syntax *s)
{
    tp_block behind = {0};
    if (s->kind != TP_S_UNPACK)
        return behind;
    for (uint32_t i = 0; i < s->target->nkids; i++) {
        tp_node *place = s->target->kids[i];
        if (place->kind != TP_N_INDEX)
            continue;
        s->target->kids[i] = fresh_name(d, place, "part");
        tp_push(d->c->arena, behind, dialect_statement(d, s, TP_S_STORE, place, s->target->kids[i]));
    }
    return behind;
}

static void translate_block(dialect *d, tp_block *b)
{
    tp_block out = {0};
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i];
        if (s->note && !is_type(s->note))
            s->note = NULL;
        if (s->kind == TP_S_EXPR && s->value->kind == TP_N_CALL && tp_str_is(s->value->text, "print") &&
            !is_assigned(d, s->value->text))
            s->kind = TP_S_PASS;
        if (s->kind == TP_S_WHILE)
            drop_break(d, s);
        if (s->kind == TP_S_WHILE || s->kind == TP_S_FOR)
            drop_continue(d, &s->body);
    }
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i];
        tp_node **nodes[] = {&s->target, &s->note, &s->value};
        for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
            if (*nodes[k] && !(s->kind == TP_S_DEF && nodes[k] == &s->value))
                *nodes[k] = translate(d, *nodes[k]);
        for (uint32_t k = 0; s->kind == TP_S_DEF && k < s->value->nkids; k++)
            if (s->value->kids[k]->kind == TP_N_KEYWORD)
                s->value->kids[k]->kids[0] = translate(d, s->value->kids[k]->kids[0]);
        translate_at(d, s);
        translate_extension(d, s);
        translate_block(d, &s->body);
        translate_block(d, &s->orelse);
        if (s->kind == TP_S_STORE)
            join_indices(d, s->target);
        tp_block behind = part_places(d, s);
        if (!translate_split(d, s, &out))
            tp_push(d->c->arena, out, s);
        for (uint32_t k = 0; k < behind.len; k++) {
            join_indices(d, behind.at[k]->target);
            tp_push(d->c->arena, out, behind.at[k]);
        }
    }
    *b = out;
}

void tp_translate_dialect(tp_ctx *c, const tp_kernel *k, tp_block *program)
{
    dialect d = {.c = c, .k = k};
    note_block(&d, program);
    translate_block(&d, program);
    dialect_begin_arrays(&d, program);
    dialect_call_last(&d, program);
}
