/* VMEM while the kernel runs: a band for each buffer, as high as it is large; in each slot of the pipeline it is
 * copied, computed with, or idle. Over them the limit. */
#include "cost/cost.h"
#include "report/blocks.h"
#include "report/page/page.h"

/* As wide as a picture of the pipeline; slots below 0 have the first copies. Moments of a step, where it has several,
 * need room side by side: fewer slots are twice as wide. */
enum { WIDTH = 220, LEFT = 84, SLOTS = 10, WIDE_SLOTS = 5, HIGH = 132, TOP = 22, FOOT = 18, LETTERS = 10, TEXT = 13 };

typedef enum use { IDLE, COPIED, COMPUTED } use;

typedef struct drawing {
    const tp_page *p;
    const tp_kernel *k;
    const tp_vmem_life *life;
    const tp_copies *copies;
    double scale;                  /* pixels of a byte */
    uint32_t peak;                 /* the moment with the most bytes */
    int64_t slots[SLOTS];          /* below 0: the first copies; else the shown step */
    uint32_t nslots, slot;         /* their number; pixels of one */
    int64_t each[TP_MAX_OPERANDS]; /* bytes of one buffer of `life` */
} drawing;

/* What happens to buffer `at` of the operand in a slot: windows take turns with the buffers. */
static use use_of(const drawing *d, uint32_t operand, uint32_t at, uint32_t buffers, int64_t slot)
{
    const tp_copies *l = d->copies;
    const tp_operand *o = &d->k->operands[operand];
    if (o->role == TP_SCRATCH)
        return slot >= 0 && slot < l->shown ? COMPUTED : IDLE;
    int64_t step = tp_step_in_slot(l, slot), lead = tp_window_lead(o);
    if (slot >= 0 && slot < l->shown && tp_run_of(l, operand, step) % buffers == at)
        return COMPUTED;
    for (int64_t far = 1; far <= lead; far++) { /* whose copies are on their way */
        int64_t other = o->role == TP_INPUT ? step + far : step - far;
        if (tp_copied_for(l, operand, other) && tp_run_of(l, operand, other) % buffers == at)
            return COPIED;
    }
    return IDLE;
}

static double y_of(const drawing *d, double bytes)
{
    return TOP + HIGH - bytes * d->scale;
}

/* One buffer in slots side by side, from `bytes` bytes over `from` on: a path for each use. */
static void write_cells(const drawing *d, double x, double apart, double width, double from, double bytes, const use *u,
                        uint32_t n)
{
    static const char *const LOOKS[] = {"idle", "moved", "busy"};
    double high = bytes * d->scale, y = y_of(d, from + bytes);
    high -= high > 3 ? 1 : 0;
    for (use look = IDLE; look <= COMPUTED; look++) {
        bool any = false;
        for (uint32_t i = 0; i < n; i++) {
            if (u[i] != look)
                continue;
            tp_html_raw(d->p, any ? "" : "<path d=\"");
            fprintf(d->p->out, "M%.4g %.1fh%.4gv%.1fh%.4gz", x + i * apart, y, width, high, -width);
            any = true;
        }
        if (any)
            fprintf(d->p->out, "\" class=\"%s\"/>\n", LOOKS[look]);
    }
}

static void write_name(const drawing *d, const tp_operand *o, double from, double bytes)
{
    if (bytes * d->scale < TEXT)
        return;
    fprintf(d->p->out, "<text x=\"0\" y=\"%.1f\">", y_of(d, from + bytes / 2) + 4);
    tp_html_put(d->p, o->name.n > LETTERS ? tp_printf(d->p->a, "%.*s…", LETTERS - 1, o->name.p) : o->name);
    tp_html_raw(d->p, "</text>\n");
}

/* Windows and scratch of the grid: bytes of all. */
static int64_t write_lasting(const drawing *d)
{
    int64_t from = 0;
    for (uint32_t i = 0; i < d->life->buffers.len; i++) {
        const tp_vmem_buffer *b = &d->life->buffers.at[i];
        if (b->operand->scoped)
            continue;
        write_name(d, b->operand, (double)from, (double)d->each[i] * b->buffers);
        for (uint32_t n = 0; n < b->buffers; n++, from += d->each[i]) {
            use u[SLOTS];
            for (uint32_t s = 0; s < d->nslots; s++)
                u[s] = use_of(d, (uint32_t)(b->operand - d->k->operands), n, b->buffers, d->slots[s]);
            write_cells(d, LEFT, d->slot, d->slot - 2, (double)from, (double)d->each[i], u, d->nslots);
        }
    }
    return from;
}

/* Scratch of `with`, in each step: its moments side by side; names of what is there when there is most. */
static void write_scoped(const drawing *d, int64_t lasting)
{
    const tp_vmem_life *l = d->life;
    double width = (double)(d->slot - 2) / l->moments.len;
    for (uint32_t m = 1; m < l->moments.len; m++) {
        double from = (double)lasting;
        for (uint32_t x = 0; x < l->moments.at[m].nalive; x++) {
            const tp_operand *o = &d->k->operands[l->moments.at[m].alive[x]];
            double bytes = 0;
            for (uint32_t i = 0; i < l->buffers.len; i++)
                if (l->buffers.at[i].operand == o)
                    bytes = (double)d->each[i];
            if (m == d->peak)
                write_name(d, o, from, bytes);
            for (uint32_t s = 0; s < d->nslots; s++)
                if (d->slots[s] >= 0 && d->slots[s] < d->copies->shown)
                    write_cells(d, LEFT + s * d->slot + m * width, 0, width, from, bytes, &(use){COMPUTED}, 1);
            from += bytes;
        }
    }
}

static void write_limit(const drawing *d, int64_t limit, int64_t most)
{
    int right = LEFT + (int)(d->nslots * d->slot);
    bool inside = (double)limit * d->scale <= HIGH;
    double y = inside ? y_of(d, (double)limit) : TOP - 8;
    fprintf(d->p->out, "<path d=\"M%d %.1fH%d\" stroke=\"var(--%s)\" stroke-width=\"2\"%s/>\n", LEFT, y, right,
            most > limit ? "bad" : "ink", inside ? "" : " stroke-dasharray=\"6 4\"");
    fprintf(d->p->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" class=\"over\">limit</text>\n", LEFT - 4, y + 4);
}

static void write_steps(const drawing *d)
{
    for (uint32_t s = 0; s < d->nslots; s++) {
        int64_t at = d->slots[s];
        bool step = at >= 0 && at < d->copies->shown && d->copies->step[at] < 1000;
        fprintf(d->p->out, "<text x=\"%d\" y=\"%d\" class=\"at\">", LEFT + (int)(s * d->slot + d->slot / 2) - 1,
                TOP + HIGH + 14);
        if (step)
            fprintf(d->p->out, "%llu", (unsigned long long)d->copies->step[at]);
        else
            tp_html_raw(d->p, at >= 0 && at < d->copies->shown ? "·" : "–");
        tp_html_raw(d->p, "</text>\n");
    }
}

/* The first steps; behind them the last ones, where all have no room. False: they do. */
static bool choose_slots(drawing *d)
{
    int64_t lead = d->copies->lead, all = (int64_t)d->copies->shown + lead + 1,
            room = d->life->moments.len > 1 ? WIDE_SLOTS : SLOTS;
    lead = lead < room / 2 ? lead : room / 2;
    d->nslots = (uint32_t)(all < room ? all : room);
    d->slot = WIDTH / (d->life->moments.len > 1 ? d->nslots : SLOTS);
    for (uint32_t s = 0; s < d->nslots; s++)
        d->slots[s] = s + 2 < d->nslots || all <= room ? (int64_t)s - lead : all - d->nslots + s - d->copies->lead;
    return all > room;
}

static bool find_bytes(drawing *d, const int64_t *env, int64_t *most)
{
    const tp_vmem_life *l = d->life;
    int64_t n;
    *most = 0;
    for (uint32_t i = 0; i < l->buffers.len; i++)
        if (tp_expr_eval(d->k->exprs, l->buffers.at[i].bytes, env, &d->each[i]) != TP_EVAL_OK || d->each[i] < 0)
            return false;
    for (uint32_t i = 0; i < l->moments.len; i++) {
        if (tp_expr_eval(d->k->exprs, l->moments.at[i].bytes, env, &n) != TP_EVAL_OK)
            return false;
        d->peak = n > *most ? i : d->peak;
        *most = n > *most ? n : *most;
    }
    return *most > 0;
}

void tp_html_memory(const tp_page *p, const tp_spec_report *s)
{
    enum {
        NEAR = 2 /* a limit so many times as large as what is there is still within the picture */,
        BANDS = 24,
        MOMENTS = 14
    };
    const tp_kernel *k = s->spec->kernels[0];
    tp_copies copies;
    tp_str sizes;
    int64_t *env = tp_map_sizes(p->a, s, &sizes), most,
            limit = k->vmem_limit ? k->vmem_limit : tp_target_vmem(&k->target);
    if (!env || !limit || !tp_map_lanes(p->a, k, env, &copies))
        return;
    tp_vmem_life life = tp_vmem_life_of(p->a, k);
    drawing d = {.p = p, .k = k, .life = &life, .copies = &copies};
    if (life.buffers.len > BANDS || life.moments.len > MOMENTS || !find_bytes(&d, env, &most))
        return;
    double top = (double)(limit > most && limit / NEAR <= most ? limit : most);
    d.scale = HIGH / top;
    bool some = choose_slots(&d);
    int width = LEFT + WIDTH, height = TOP + HIGH + FOOT;
    fprintf(p->out,
            "<figure class=\"under\"><svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\"><title>VMEM in "
            "steps</title>\n",
            width, height, width, height);
    write_scoped(&d, write_lasting(&d));
    write_limit(&d, limit, most);
    write_steps(&d);
    fprintf(p->out,
            "</svg><figcaption><span class=\"item\"><span class=\"key busy\"></span>computed with</span><span "
            "class=\"item\"><span class=\"key moved\"></span>copied</span><span class=\"item\"><span class=\"key "
            "idle\"></span>idle</span><br>Buffers in the %s, each as high as it is large: %.1f KiB at most, at ",
            some ? "first and last steps" : "steps", (double)most / 1024);
    tp_html_put(p, sizes.n ? sizes : TP_S("the only shape"));
    if ((double)limit > top)
        fprintf(p->out, "; dashed: the limit, %.3g times as high", (double)limit / (double)most);
    tp_html_raw(p, "</figcaption></figure>\n");
}
