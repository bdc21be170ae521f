/* Where conditions of a body hold: a search that repairs one broken constraint
 * after the other by moving one variable, a size, a coordinate of the step or
 * a lane, to where the constraint holds. */
#include "kernels/trial/conditions.h"

#include <math.h>

enum {
    MOST_CONSTRAINTS = 48,
    MOST_VARIABLES = 64,
    MOST_LOOPS = 8,
    MOST_CONSTANTS = 8,
    REPAIRS = 80,
    FUEL = 400000, /* instructions that one search looks at */
    FAR = 1 << 30
};

typedef struct tp_guard guard;

/* ---- numbers of values; NaN: not known ---- */

typedef struct solver {
    const tp_conditions *cs;
    const tp_kernel *k;
    const tp_program *p;
    tp_rng *rng;
    tp_whereabouts *w;
    unsigned may;
    bool lanes_only;           /* of what may change */
    int64_t turns[MOST_LOOPS]; /* values of the variables of the loops around the condition */
    tp_vid loops[MOST_LOOPS];
    uint32_t nloops;
    int64_t fuel;
    const int64_t *lane;
    uint32_t rank; /* of the lanes */
    int64_t extent[TP_MAX_RANK];
} solver;

static double value_of(solver *s, tp_vid v, const int64_t *lane);

static double expr_of(const solver *s, tp_expr e)
{
    int64_t v;
    return tp_expr_eval(s->k->exprs, e, s->w->env, &v) == TP_EVAL_OK ? (double)v : (double)NAN;
}

static double entry_of(solver *s, const tp_inst *i, const int64_t *lane)
{
    const tp_table *t = &s->k->tables[i->integer];
    const tp_table_data *data = tp_bound_table(s->w->env, t->sym);
    int64_t index[TP_TABLE_RANK] = {0}, at = 0;
    for (uint32_t x = 0; x < i->nargs; x++) {
        double v = value_of(s, i->args[x], lane);
        if (!(v >= 0 && v < FAR))
            return (double)NAN;
        index[x] = (int64_t)v;
    }
    for (uint32_t n = 0; n < s->w->npinned; n++)
        if (s->w->pinned[n].table == (uint32_t)i->integer && memcmp(s->w->pinned[n].index, index, sizeof index) == 0)
            return (double)s->w->pinned[n].value;
    for (uint32_t x = 0; data && x < i->nargs; x++) {
        if (index[x] >= (x ? data->dims[x] : data->readable))
            return (double)NAN;
        at = at * data->dims[x] + index[x];
    }
    return data ? (double)data->at[at] : (double)NAN;
}

/* Of a broadcast: along dimensions of extent 1 the first lane. */
static double broadcast_of(solver *s, const tp_inst *i, const int64_t *lane)
{
    const tp_value *from = &s->p->values.at[i->args[0]], *to = &s->p->values.at[i->out];
    int64_t at[TP_MAX_RANK] = {0}, one;
    if (from->rank && from->rank != to->rank)
        return (double)NAN;
    for (uint32_t d = 0; d < from->rank; d++)
        at[d] = tp_expr_is_const(s->k->exprs, from->dims[d], &one) && one == 1 ? 0 : lane[d];
    return value_of(s, i->args[0], at);
}

/* Decided by one side where the other is not known. */
static double logical(tp_prim p, double x, double y)
{
    bool decides = p == TP_P_OR;
    if ((x == x && (x != 0) == decides) || (y == y && (y != 0) == decides))
        return decides;
    return x == x && y == y ? !decides : (double)NAN;
}

static double elementwise_of(solver *s, const tp_inst *i, const int64_t *lane)
{
    const tp_prim_row *row = tp_prim_info(i->prim);
    tp_dtype out = s->p->values.at[i->out].dtype;
    double x = value_of(s, i->args[0], lane), y = i->nargs > 1 ? value_of(s, i->args[1], lane) : x;
    if (out == TP_BOOL && (i->prim == TP_P_AND || i->prim == TP_P_OR))
        return logical(i->prim, x, y);
    if (x != x || y != y)
        return (double)NAN;
    if (out == TP_BOOL && i->prim == TP_P_INVERT)
        return x == 0;
    if (row->operands == TP_OC_LOGICAL || row->operands == TP_OC_INTS || row->operands == TP_OC_FLOATS)
        return (double)NAN;
    return i->prim == TP_P_LAX_DIV ? trunc(x / y) : tp_meaning_f64(i->prim, x, y);
}

static double value_of(solver *s, tp_vid v, const int64_t *lane)
{
    const tp_value *x = &s->p->values.at[v];
    const tp_inst *i = s->cs->made[v];
    if (--s->fuel < 0)
        return (double)NAN;
    for (uint32_t n = 0; n < s->nloops; n++)
        if (s->loops[n] == v)
            return (double)s->turns[n];
    if (x->meaning.id)
        return expr_of(s, x->meaning);
    if (x->known)
        return x->real;
    if (!i || tp_is_float(x->dtype))
        return (double)NAN;
    if (tp_prim_is_elementwise(i->prim) && i->prim != TP_P_INTEGER_POW)
        return elementwise_of(s, i, lane);
    if (i->prim == TP_P_READ)
        return entry_of(s, i, lane);
    if (i->prim == TP_P_IOTA)
        return (double)lane[i->integer];
    if (i->prim == TP_P_LITERAL)
        return i->real;
    if (i->prim == TP_P_CAST)
        return value_of(s, i->args[0], lane);
    if (i->prim == TP_P_BROADCAST || (i->prim == TP_P_RESHAPE && s->p->values.at[i->args[0]].rank == 0))
        return broadcast_of(s, i, lane);
    return (double)NAN;
}

/* ---- constraints ---- */

typedef enum constraint_kind { CONDITION, ARM, STEPS, TURNS, INSIDE } constraint_kind;
typedef struct constraint {
    constraint_kind kind;
    tp_vid value; /* CONDITION */
    bool want;    /* CONDITION, ARM */
    tp_expr arm;
    uint32_t which; /* STEPS: of this axis more than its coordinate; TURNS: of this loop; INSIDE: the lane in this
                       dimension of the first output */
} constraint;

/* From the lane to the end of a dimension of the first output, as if the lanes were its window's. */
static double room_of(const solver *s, uint32_t dim)
{
    const tp_operand *o = &s->k->operands[s->k->ninputs];
    uint32_t lane = 0;
    for (uint32_t d = 0; d < dim; d++)
        lane += o->dims[d].kind != TP_DIM_SQUEEZED;
    double start = expr_of(s, o->dims[dim].index) * expr_of(s, o->dims[dim].block);
    return expr_of(s, o->shape[dim]) - start - (double)s->w->lane[lane];
}

/* How far one arm is beyond the other: the wanted one decides where it is positive. */
static double arms_apart(const solver *s, const constraint *c)
{
    const tp_expr_node *n = tp_expr_get(s->k->exprs, c->arm);
    double first = expr_of(s, n->a), second = expr_of(s, n->b);
    return (n->op == TP_E_MIN) == c->want ? first - second : second - first;
}

/* How far it is inside: > 0 where it holds; NaN: not known. */
static double margin(solver *s, const constraint *c)
{
    if (c->kind == ARM)
        return arms_apart(s, c);
    if (c->kind == INSIDE)
        return room_of(s, c->which);
    if (c->kind == STEPS)
        return expr_of(s, s->k->axes[c->which].steps) - (double)s->w->env[s->k->axes[c->which].sym];
    const tp_statement *loop = s->cs->loops[s->loops[c->which]];
    double hi = value_of(s, loop->hi, s->lane), lo = value_of(s, loop->lo, s->lane), at = (double)s->turns[c->which];
    return at < lo ? at - lo + 1 : hi - at;
}

static bool holds(solver *s, const constraint *c)
{
    double v = c->kind == CONDITION ? value_of(s, c->value, s->lane) : margin(s, c);
    return v != v || (c->kind == CONDITION ? (v != 0) == c->want : v > 0);
}

/* What a repair makes true: margin > 0, or a - b in a relation to 0. */
typedef struct atom {
    const constraint *margin;
    tp_vid a, b;
    tp_prim relation;
} atom;

static double difference(solver *s, const atom *x)
{
    return x->margin ? margin(s, x->margin) : value_of(s, x->a, s->lane) - value_of(s, x->b, s->lane);
}

static bool is_satisfied(solver *s, const atom *x)
{
    double d = difference(s, x);
    return d == d && (x->margin ? d > 0 : tp_meaning_f64(x->relation, d, 0) != 0);
}

/* ---- moving one variable ---- */

typedef struct variable {
    int64_t *at, lo, hi, step;
} variable;

static bool try_value(solver *s, const atom *x, const variable *v, double to)
{
    int64_t old = *v->at;
    if (!(to >= (double)v->lo && to <= (double)v->hi))
        return false;
    *v->at = (int64_t)to - (int64_t)to % v->step;
    if (*v->at >= v->lo && *v->at != old && is_satisfied(s, x))
        return true;
    *v->at = old;
    return false;
}

static bool try_around(solver *s, const atom *x, const variable *v, double to)
{
    static const int64_t BY[] = {0, 1, -1};
    for (int i = 0; i < 3; i++)
        if (try_value(s, x, v, floor(to) + (double)(BY[i] * v->step)))
            return true;
    return false;
}

static double difference_at(solver *s, const atom *x, const variable *v, double at)
{
    int64_t old = *v->at;
    *v->at = (int64_t)at;
    double d = difference(s, x);
    *v->at = old;
    return d;
}

/* As if the difference were linear, seen over steps of several lengths. */
static bool by_slope(solver *s, const atom *x, const variable *v)
{
    double old = (double)*v->at, d = difference(s, x);
    for (double h = (double)v->step; h <= 1 << 20; h *= 8) {
        double slope = (difference_at(s, x, v, old + h) - d) / h;
        if (slope == slope && slope != 0 && try_around(s, x, v, old - d / slope))
            return true;
    }
    return false;
}

/* As if it were monotone: where its sign changes, at the near end. */
static bool by_bisection(solver *s, const atom *x, const variable *v)
{
    double old = (double)*v->at, d = difference(s, x), ends[] = {(double)v->hi, (double)v->lo};
    for (int i = 0; i < 2; i++) {
        double in = old, out = ends[i], e = difference_at(s, x, v, out);
        if (d != d || e != e || (d > 0) == (e > 0))
            continue;
        while (fabs(out - in) > 1) {
            double mid = floor((in + out) / 2), m = difference_at(s, x, v, mid);
            if (m == m && (m > 0) == (d > 0))
                in = mid;
            else
                out = mid;
        }
        if (try_around(s, x, v, out) || try_around(s, x, v, in) || try_value(s, x, v, out + (double)v->step))
            return true;
    }
    return false;
}

enum { LEAST_CONSTANT = 3 };

static uint32_t constants_of_expr(const solver *s, tp_expr e, int64_t *all, uint32_t n)
{
    if (!e.id)
        return n;
    const tp_expr_node x = *tp_expr_get(s->k->exprs, e);
    if (x.op == TP_E_CONST && x.value >= LEAST_CONSTANT && n < MOST_CONSTANTS)
        all[n++] = x.value;
    return constants_of_expr(s, x.c, all, constants_of_expr(s, x.b, all, constants_of_expr(s, x.a, all, n)));
}

/* Integers that are written in what makes a value. */
static uint32_t constants_of(solver *s, tp_vid v, int64_t *all, uint32_t n)
{
    const tp_inst *i = s->cs->made[v];
    const tp_value *x = &s->p->values.at[v];
    if (x->meaning.id)
        return constants_of_expr(s, x->meaning, all, n);
    bool literal = i && i->prim == TP_P_LITERAL && i->real == trunc(i->real);
    if (literal && i->real >= LEAST_CONSTANT && i->real < FAR && n < MOST_CONSTANTS)
        all[n++] = (int64_t)i->real;
    for (uint32_t a = 0; i && a < i->nargs && --s->fuel > 0; a++)
        n = constants_of(s, i->args[a], all, n);
    return n;
}

/* Where a remainder or a quotient turns: at a multiple of a constant, next to it. */
static bool by_constants(solver *s, const atom *x, const variable *v)
{
    int64_t all[MOST_CONSTANTS], old = *v->at;
    uint32_t n = x->margin ? constants_of_expr(s, x->margin->arm, all, 0)
                           : constants_of(s, x->b, all, constants_of(s, x->a, all, 0));
    for (uint32_t i = 0; i < n; i++)
        for (int64_t times = 1; times <= 2; times++)
            if (try_around(s, x, v, (double)(times * all[i])) ||
                try_around(s, x, v, (double)((old / all[i] + times - 1) * all[i])))
                return true;
    return false;
}

/* Contents of tables follow no rule. */
static bool by_looking(solver *s, const atom *x, const variable *v)
{
    enum { LOOKS = 512 };
    for (int64_t to = v->lo; to <= v->hi && to - v->lo < LOOKS; to += v->step)
        if (try_value(s, x, v, (double)to))
            return true;
    return false;
}

static void offer(variable *all, uint32_t *n, variable v)
{
    if (*n < MOST_VARIABLES)
        all[(*n)++] = v;
}

static uint32_t variables_of(solver *s, variable *all)
{
    uint32_t n = 0;
    int64_t lo, hi;
    for (uint32_t d = 0; (s->may & TP_SOLVE_STEP) && d < s->rank; d++)
        offer(all, &n, (variable){&s->w->lane[d], 0, s->extent[d] - 1, 1});
    if (s->lanes_only)
        return n;
    for (uint32_t x = 0; (s->may & TP_SOLVE_STEP) && x < s->k->naxes; x++)
        offer(all, &n, (variable){&s->w->env[s->k->axes[x].sym], 0, FAR, 1});
    for (uint32_t i = 0; (s->may & TP_SOLVE_STEP) && i < s->nloops; i++)
        offer(all, &n, (variable){&s->turns[i], 0, FAR, 1});
    for (uint32_t i = 0; (s->may & TP_SOLVE_SIZES) && i < s->k->nsizes; i++) {
        const tp_size *z = &s->k->sizes[i];
        if (z->kind == TP_SIZE_RANGE)
            offer(all, &n, (variable){&s->w->env[z->sym], tp_size_least(z), z->max, z->multiple_of});
    }
    for (uint32_t i = 0; (s->may & TP_SOLVE_TABLES) && i < s->w->npinned; i++) {
        tp_table_bounds(s->k, &s->k->tables[s->w->pinned[i].table], s->w->env, &lo, &hi);
        offer(all, &n, (variable){&s->w->pinned[i].value, lo, hi, 1});
    }
    return n;
}

/* Nearer, where one variable alone cannot do it: a block's number before the lane in it. */
static bool approach(solver *s, const atom *x, const variable *v)
{
    int64_t old = *v->at;
    double d = difference(s, x),
           slope = (difference_at(s, x, v, (double)old + 8 * (double)v->step) - d) / (8 * (double)v->step),
           to = floor((double)old - d / slope);
    if (!(slope != 0 && to >= (double)v->lo && to <= (double)v->hi))
        return false;
    *v->at = (int64_t)to - (int64_t)to % v->step;
    if (*v->at >= v->lo && fabs(difference(s, x)) < fabs(d))
        return true;
    *v->at = old;
    return false;
}

/* By the first variable, in any order, that can do it; else nearer to it by one. */
static bool move(solver *s, const atom *x)
{
    variable all[MOST_VARIABLES];
    for (uint32_t n = variables_of(s, all); n > 0; n--) {
        uint32_t pick = (uint32_t)tp_rng_below(s->rng, n);
        const variable *v = &all[pick];
        if (by_slope(s, x, v) || by_bisection(s, x, v) || by_constants(s, x, v) ||
            (!x->margin && s->k->ntables && by_looking(s, x, v)))
            return true;
        all[pick] = all[n - 1];
    }
    for (uint32_t n = variables_of(s, all); n > 0; n--) {
        uint32_t pick = (uint32_t)tp_rng_below(s->rng, n);
        if (approach(s, x, &all[pick]))
            return true;
        all[pick] = all[n - 1];
    }
    return false;
}

/* ---- repairs ---- */

static tp_prim opposite(tp_prim p)
{
    static const tp_prim PAIRS[][2] = {{TP_P_EQ, TP_P_NE}, {TP_P_LT, TP_P_GE}, {TP_P_LE, TP_P_GT}};
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++)
        for (int side = 0; side < 2; side++)
            if (PAIRS[i][side] == p)
                return PAIRS[i][!side];
    return TP_PRIMS;
}

static bool repair(solver *s, tp_vid v, bool want);

/* Both sides, where both are needed; else one of them. */
static bool repair_two(solver *s, const tp_inst *i, bool want, bool both)
{
    if (!both)
        return repair(s, i->args[tp_rng_below(s->rng, 2)], want);
    for (int a = 0; a < 2; a++) {
        double v = value_of(s, i->args[a], s->lane);
        if (v == v && (v != 0) != want && !repair(s, i->args[a], want))
            return false;
    }
    return true;
}

static bool repair(solver *s, tp_vid v, bool want)
{
    const tp_inst *i = s->cs->made[v];
    if (!i || s->fuel < 0)
        return false;
    if (i->prim == TP_P_AND || i->prim == TP_P_OR)
        return repair_two(s, i, want, want == (i->prim == TP_P_AND));
    if (i->prim == TP_P_INVERT)
        return repair(s, i->args[0], !want);
    if (i->prim == TP_P_BROADCAST || i->prim == TP_P_RESHAPE || i->prim == TP_P_CAST)
        return repair(s, i->args[0], want);
    tp_prim other = opposite(i->prim);
    atom x = {NULL, 0, 0, want ? i->prim : other};
    if (other == TP_PRIMS)
        return false;
    x.a = i->args[0];
    x.b = i->args[1];
    return move(s, &x);
}

static int64_t anywhere(solver *s, double end)
{
    return end >= 1 && end <= FAR ? (int64_t)tp_rng_below(s->rng, (uint64_t)end) : 0;
}

/* Back into the grid, or more steps. */
static bool repair_constraint(solver *s, const constraint *c)
{
    unsigned may = s->may;
    atom x = {.margin = c};
    if (c->kind == CONDITION)
        return repair(s, c->value, c->want);
    if (c->kind == STEPS && (may & TP_SOLVE_STEP) && tp_rng_below(s->rng, 4) == 0) {
        s->w->env[s->k->axes[c->which].sym] = anywhere(s, expr_of(s, s->k->axes[c->which].steps));
        return true;
    }
    s->may = c->kind == STEPS || (c->kind == INSIDE && (may & TP_SOLVE_SIZES)) ? may & ~(unsigned)TP_SOLVE_STEP : may;
    bool done = move(s, &x);
    s->may = may;
    return done || (c->kind == INSIDE && move(s, &x));
}

/* ---- all of it ---- */

static void place_anywhere(solver *s, tp_vid lanes)
{
    s->rank = lanes >= 0 ? s->p->values.at[lanes].rank : 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        double extent = expr_of(s, s->p->values.at[lanes].dims[d]);
        s->extent[d] = extent >= 1 && extent < FAR ? (int64_t)extent : 1;
        if (s->may & TP_SOLVE_STEP)
            s->w->lane[d] = anywhere(s, extent);
    }
    for (uint32_t x = 0; x < s->k->naxes && (s->may & TP_SOLVE_STEP); x++)
        s->w->env[s->k->axes[x].sym] = anywhere(s, expr_of(s, s->k->axes[x].steps));
}

static uint32_t constraints_of(solver *s, const tp_condition *c, bool want, constraint *list)
{
    uint32_t n = 0;
    const tp_operand *o = &s->k->operands[s->k->ninputs];
    list[n++] = c->value >= 0 ? (constraint){.kind = CONDITION, .value = c->value, .want = want}
                              : (constraint){.kind = ARM, .arm = c->arm, .want = want};
    for (uint32_t d = 0, lane = 0; d < o->rank && s->rank == o->ref_rank; d++) {
        if (o->dims[d].kind == TP_DIM_BLOCKED && expr_of(s, o->ref_shape[lane]) == (double)s->extent[lane])
            list[n++] = (constraint){.kind = INSIDE, .which = d};
        lane += o->dims[d].kind != TP_DIM_SQUEEZED;
    }
    for (uint32_t x = 0; x < s->k->naxes; x++)
        list[n++] = (constraint){.kind = STEPS, .which = x};
    for (const guard *g = c->guards; g && n < MOST_CONSTRAINTS; g = g->outer)
        if (g->value >= 0) {
            list[n++] = (constraint){.kind = CONDITION, .value = g->value, .want = g->want};
        } else if (s->nloops < MOST_LOOPS) {
            s->loops[s->nloops] = g->loop;
            list[n++] = (constraint){.kind = TURNS, .which = s->nloops++};
        }
    return n;
}

/* Repair until all hold; `kick`: start again elsewhere where that gets nowhere. */
static bool repair_all(solver *s, const constraint *list, uint32_t n, int repairs, bool kick, tp_vid lanes)
{
    for (int r = 0; r < repairs && s->fuel > 0; r++) {
        uint32_t broken[MOST_CONSTRAINTS], m = 0;
        for (uint32_t i = 0; i < n; i++)
            if (!holds(s, &list[i]))
                broken[m++] = i;
        if (!m)
            return s->fuel > 0;
        if (!repair_constraint(s, &list[broken[tp_rng_below(s->rng, m)]]) && kick && r % 8 == 7)
            place_anywhere(s, lanes);
    }
    return false;
}

/* Values of all variables, to return to. */
static uint32_t values_of(solver *s, int64_t *values)
{
    variable all[MOST_VARIABLES];
    uint32_t n = variables_of(s, all);
    for (uint32_t i = 0; i < n; i++)
        values[i] = *all[i].at;
    return n;
}

static void restore(solver *s, const int64_t *values)
{
    variable all[MOST_VARIABLES];
    for (uint32_t n = variables_of(s, all), i = 0; i < n; i++)
        *all[i].at = values[i];
}

/* In this step, or in another one; else all is as before. */
static bool opens(solver *s, constraint *list, uint32_t n, tp_vid lanes, bool here)
{
    int64_t before[MOST_VARIABLES];
    values_of(s, before);
    s->lanes_only = here;
    bool done = repair_all(s, list, n, REPAIRS / 4, false, lanes);
    s->lanes_only = false;
    if (!done)
        restore(s, before);
    return done;
}

/* Masks of the body hold, too, as many as can: what happens where nothing is
 * let through has no effect, mostly. */
static void open_masks(solver *s, uint32_t c, constraint *list, uint32_t n)
{
    const tp_conditions *cs = s->cs;
    for (uint32_t m = 0; m < cs->list.len && n < MOST_CONSTRAINTS; m++) {
        tp_vid lanes = cs->list.at[m].lanes;
        if (m == c || lanes < 0 || s->p->values.at[lanes].rank != s->rank)
            continue;
        list[n] = (constraint){.kind = CONDITION, .value = cs->list.at[m].value, .want = true};
        n += opens(s, list, n + 1, lanes, true) || opens(s, list, n + 1, lanes, false);
    }
}

/* The lanes of the condition, or of the last mask where it is a scalar. */
static tp_vid lanes_for(const tp_conditions *cs, uint32_t c)
{
    tp_vid lanes = cs->list.at[c].lanes;
    for (uint32_t m = cs->list.len; m-- > 0 && lanes < 0;)
        lanes = cs->list.at[m].lanes;
    return lanes;
}

bool tp_condition_solve(const tp_conditions *cs, uint32_t c, bool want, unsigned may, tp_rng *rng, tp_whereabouts *w)
{
    solver s = {.cs = cs, .k = cs->kernel, .p = cs->kernel->body, .rng = rng, .w = w, .may = may, .fuel = FUEL};
    constraint list[MOST_CONSTRAINTS];
    s.lane = w->lane;
    w->lanes = lanes_for(cs, c);
    place_anywhere(&s, w->lanes);
    uint32_t n = constraints_of(&s, &cs->list.at[c], want, list);
    if (!repair_all(&s, list, n, REPAIRS, true, w->lanes))
        return false;
    open_masks(&s, c, list, n);
    return true;
}

/* ---- what tables must hold ---- */

static void pin_reads(solver *s, tp_vid v, const int64_t *lane)
{
    const tp_inst *i = s->cs->made[v];
    tp_table_entry e = {0};
    if (!i || --s->fuel < 0)
        return;
    for (uint32_t a = 0; a < i->nargs; a++)
        pin_reads(s, i->args[a], lane);
    if (i->prim != TP_P_READ || s->w->npinned == TP_MOST_PINNED || !tp_table_is_open(&s->k->tables[i->integer]))
        return;
    e.table = (uint32_t)i->integer;
    for (uint32_t x = 0; x < i->nargs; x++) {
        double at = value_of(s, i->args[x], lane), extent = expr_of(s, s->k->tables[e.table].shape[x]);
        if (!(at >= 0 && at < extent))
            return;
        e.index[x] = (int64_t)at;
    }
    int64_t lo, hi;
    tp_table_bounds(s->k, &s->k->tables[e.table], s->w->env, &lo, &hi);
    e.value = lo;
    for (uint32_t n = 0; n < s->w->npinned; n++)
        if (s->w->pinned[n].table == e.table && memcmp(s->w->pinned[n].index, e.index, sizeof e.index) == 0)
            return;
    s->w->pinned[s->w->npinned++] = e;
}

bool tp_condition_pin(const tp_conditions *cs, uint32_t c, tp_whereabouts *w)
{
    solver s = {.cs = cs, .k = cs->kernel, .p = cs->kernel->body, .w = w, .fuel = FUEL};
    if (cs->list.at[c].value >= 0)
        pin_reads(&s, cs->list.at[c].value, w->lane);
    for (const guard *g = cs->list.at[c].guards; g; g = g->outer)
        if (g->value >= 0)
            pin_reads(&s, g->value, w->lane);
    return w->npinned > 0;
}

/* ---- where the body writes ---- */

typedef struct writes {
    solver s;
    uint32_t operand, seen;
    int64_t *lo, *hi;
} writes;

/* First and last index that an access names in each dimension; false: not known. */
static bool span_of(solver *s, const tp_access *a, int64_t *lo, int64_t *hi)
{
    const tp_operand *o = &s->k->operands[a->operand];
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *sub = &a->subs[d];
        double start = sub->kind == TP_SUB_FULL ? 0 : value_of(s, sub->start, s->lane),
               size = sub->kind == TP_SUB_FULL  ? expr_of(s, o->ref_shape[d])
                      : sub->kind == TP_SUB_INT ? 1
                                                : expr_of(s, sub->size);
        int64_t stride = sub->kind == TP_SUB_SLICE ? sub->stride : 1;
        if (!(start >= 0 && start < FAR && size >= 1 && size < FAR))
            return false;
        lo[d] = (int64_t)start;
        hi[d] = (int64_t)start + ((int64_t)size - 1) * stride;
    }
    return true;
}

/* One of the stores by chance; loops at one of their turns. */
static void find_writes(writes *x, const tp_region *r)
{
    int64_t lo[TP_MAX_RANK], hi[TP_MAX_RANK];
    solver *s = &x->s;
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *at = &r->at[n];
        uint32_t outside = s->nloops;
        bool here = (at->kind == TP_PUT || at->kind == TP_COPY_START) && at->access->operand == x->operand;
        if (here && span_of(s, at->access, lo, hi) && tp_rng_below(s->rng, ++x->seen) == 0) {
            memcpy(x->lo, lo, sizeof lo);
            memcpy(x->hi, hi, sizeof hi);
        }
        if (at->kind == TP_LOOP && s->nloops < MOST_LOOPS) {
            double from = value_of(s, at->lo, s->lane), to = value_of(s, at->hi, s->lane);
            s->loops[s->nloops] = at->var;
            s->turns[s->nloops++] = (int64_t)(from == from ? from : 0) + anywhere(s, to - from);
        }
        find_writes(x, &at->body);
        s->nloops = outside;
        find_writes(x, &at->orelse);
    }
}

bool tp_condition_writes(const tp_conditions *cs, uint32_t operand, const tp_whereabouts *w, tp_rng *rng, int64_t *lo,
                         int64_t *hi)
{
    tp_whereabouts there = *w;
    writes x = {.s = {.cs = cs, .k = cs->kernel, .p = cs->kernel->body, .rng = rng, .w = &there, .fuel = FUEL},
                .operand = operand,
                .lo = lo,
                .hi = hi};
    x.s.lane = there.lane;
    find_writes(&x, &cs->kernel->body->statements);
    return x.seen > 0;
}
