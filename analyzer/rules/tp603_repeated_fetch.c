#include "cost/advice.h"
#include "cost/text.h"

enum { WORTH = 10 /* percent of all bytes moved */, WORK = 1 << 12 /* turns of sums for an order of the axes */ };

typedef struct plan {
    const int64_t *env;
    uint32_t order[TP_MAX_AXES]; /* axes, slowest first */
    double bytes, of[256];       /* moved: all, and by operand */
} plan;

static double value(tp_analysis *a, const plan *p, tp_expr e)
{
    int64_t v;
    return tp_expr_eval(a->p, e, p->env, &v) == TP_EVAL_OK ? (double)v : -1;
}

static bool add_up(tp_analysis *a, plan *p)
{
    tp_kernel other = *a->k;
    tp_axis axes[TP_MAX_AXES];
    other.axes = axes;
    for (uint32_t x = 0; x < other.naxes; x++)
        axes[x] = a->k->axes[p->order[x]];
    p->bytes = 0;
    bool known = tp_cost_windows_move(a->work, &other, p->env, WORK, p->of);
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++)
        p->bytes += p->of[i];
    return known;
}

/* Orders of the first n axes. */
static void search(tp_analysis *a, plan *now, uint32_t from, uint32_t n, plan *best)
{
    if (from == n) {
        if (add_up(a, now) && now->bytes < best->bytes)
            *best = *now;
        return;
    }
    for (uint32_t i = from; i < n; i++) {
        for (int back = 0; back < 2; back++) {
            uint32_t t = now->order[from];
            now->order[from] = now->order[i];
            now->order[i] = t;
            if (back == 0)
                search(a, now, from + 1, n, best);
        }
    }
}

/* Axes that may change places: the leading ones, as long as every output has a
 * block of its own for each of their steps, and nothing is carried. */
static uint32_t free_axes(tp_analysis *a)
{
    bool carried = a->k->nscratch > 0;
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        if (carried && !a->k->axes[x].parallel)
            return x;
        if (x && a->k->axes[x].parallel != a->k->axes[0].parallel)
            return x;
        for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs; i++) {
            const tp_operand *o = &a->k->operands[i];
            bool mentioned[TP_MAX_AXES];
            if (!tp_map_tells_axes(a, o, mentioned) || !mentioned[x] || o->alias >= 0)
                return x;
        }
    }
    return a->k->naxes;
}

static void check(tp_analysis *a)
{
    plan now = {.env = tp_advice_sizes(a)}, best;
    uint32_t n = now.env ? free_axes(a) : 0, gain = 0;
    bool known = n >= 2 && n <= 6 && a->k->ninputs + a->k->noutputs <= 256;
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        now.order[x] = x;
        known = known && value(a, &now, a->k->axes[x].steps) > 0;
    }
    if (!known || !add_up(a, &now))
        return;
    plan given = now;
    best = now;
    search(a, &now, 0, n, &best);
    if (given.bytes <= 0 || best.bytes > given.bytes * (100 - WORTH) / 100)
        return;
    for (uint32_t i = 1; i < a->k->ninputs; i++)
        if (given.of[i] - best.of[i] > given.of[gain] - best.of[gain])
            gain = i;
    tp_buf b = {.arena = a->arena};
    for (uint32_t x = 0; x < a->k->naxes; x++)
        tp_buf_printf(&b, "%s%.*s", x ? ", " : "", TP_FMT(a->k->axes[best.order[x]].name));
    const tp_operand *o = &a->k->operands[gain];
    tp_finding *f =
        tp_advise(a, o->name, o->rank && !o->whole ? o->dims[0].index_loc : o->loc,
                  tp_message(a, "blocks of `%.*s` are fetched %.*f times as often as another order of the axes needs",
                             TP_FMT(o->name), given.of[gain] / best.of[gain] < 10, given.of[gain] / best.of[gain]),
                  tp_message(a, "order the grid as `[%.*s]`", TP_FMT(tp_buf_view(&b))));
    tp_str sizes = tp_sizes_text(a->arena, a->k, now.env);
    f->note = tp_message(a, "that order copies %.0f %% fewer bytes in all%s%.*s", 100 * (1 - best.bytes / given.bytes),
                         sizes.n ? ", at " : "", TP_FMT(sizes));
}

const tp_rule tp_rule_tp603_repeated_fetch = {
    .code = "TP603",
    .slug = "repeated-fetch",
    .title = "blocks that are fetched repeatedly, and would not be in another order of the axes",
    .severity = TP_NOTE,
    .hardware = true,
    .per_dtype = false,
    .why = "A block is copied in when its index changes. A block that depends on a fast axis only is copied again for "
           "each step of the slow axis. If the axes change places, it stays.",
    .bad = "\"grid\": [i, j], map of a large operand [\"j\"]",
    .good = "\"grid\": [j, i]",
    .jax = "Nothing is reported.",
    .check = check,
};
