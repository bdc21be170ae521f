/* Devices side by side, in units of time (kernels/machine/schedule.h): what each does, the copies on their way to it,
 * and what its semaphores count. One device without others is a lane, too. Nothing lies over anything else: copies that
 * are on their way at the same time have a track each. */
#include <stdlib.h>

#include "report/blocks.h"
#include "report/page/lanes.h"

/* A picture is as wide as one of the pipeline, or narrower within a finding: as a telephone is. */
enum {
    COLUMN = 20, /* at least; wider where coordinates of a mesh need it */
    LETTER = 8,
    LEFT = 84,
    WIDTH = 220,
    PICTURES = 4,
    NARROW_WIDTH = 180,
    NARROW_PICTURES = 5,
    HEAD = 18,
    ROW = 20,
    TRACK = 16,
    GAP = 10,
    LETTERS = 10,
    MOST_LANES = 8,
    MOST_TRACKS = 6,
    MOST_SEMAPHORES = 4
};

typedef struct lane {
    uint32_t device, tracks, y;
} lane;

typedef struct drawing {
    const tp_page *p;
    const tp_played *x;
    const tp_schedule *s;
    lane lanes[MOST_LANES];
    uint32_t nlanes, left_out; /* left_out: copies without a track */
    uint8_t *track;            /* by deed: + 1; 0: none */
    uint32_t semaphores[MOST_SEMAPHORES], nsemaphores, others;
    int64_t most[MOST_SEMAPHORES]; /* that one of them counts on a device, all elements together */
    int64_t *counts;               /* by lane, semaphore, unit */
    uint32_t column, columns, height;
    int64_t from, to; /* of the picture at hand */
} drawing;

/* ---- what is drawn ---- */

static void add_lane(drawing *d, uint32_t device)
{
    bool known = device >= d->s->devices || d->nlanes == MOST_LANES;
    for (uint32_t i = 0; i < d->nlanes; i++)
        known |= d->lanes[i].device == device;
    if (!known)
        d->lanes[d->nlanes++].device = device;
}

static int by_device(const void *a, const void *b)
{
    const lane *x = a, *y = b;
    return (x->device > y->device) - (x->device < y->device);
}

/* Who has part in the trap, then the first ones and the last. */
static void choose_lanes(drawing *d)
{
    for (uint32_t i = 0; i < d->s->nsides && d->x->rule && d->nlanes < MOST_LANES - 2; i++) {
        add_lane(d, d->s->sides[i].device);
        if (d->s->sides[i].operand != TP_NO_OPERAND)
            add_lane(d, d->s->sides[i].there);
    }
    add_lane(d, d->s->devices - 1);
    for (uint32_t i = 0; i < d->s->devices; i++)
        add_lane(d, i);
    qsort(d->lanes, d->nlanes, sizeof *d->lanes, by_device);
}

static int by_start(const void *a, const void *b)
{
    const tp_deed *x = *(const tp_deed *const *)a, *y = *(const tp_deed *const *)b;
    return x->done != y->done ? (x->done > y->done) - (x->done < y->done) : (x > y) - (x < y);
}

static int64_t end_of(const drawing *d, const tp_deed *x)
{
    return x->waited >= 0 ? x->waited : d->s->units;
}

/* Copies to the device, by their start: each gets the first track that is free. */
static void lay_tracks(drawing *d, lane *l, const tp_deed **copies)
{
    int64_t free_at[MOST_TRACKS] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->s->ndeeds; i++) {
        const tp_deed *x = &d->s->deeds[i];
        if (x->kind == TP_ACT_START && x->there == l->device && x->done >= 0)
            copies[n++] = x;
    }
    qsort(copies, n, sizeof *copies, by_start);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = 0;
        while (t < MOST_TRACKS && free_at[t] > copies[i]->done)
            t++;
        if (t == MOST_TRACKS) {
            d->left_out++;
            continue;
        }
        free_at[t] = end_of(d, copies[i]);
        d->track[copies[i] - d->s->deeds] = (uint8_t)(t + 1);
        l->tracks = t + 1 > l->tracks ? t + 1 : l->tracks;
    }
}

static void choose_semaphores(drawing *d)
{
    const tp_kernel *k = d->x->kernel;
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        bool counts = false;
        for (uint32_t c = 0; c < d->s->ncounts && !counts; c++)
            counts = d->s->counters[d->s->counts[c].counter].operand == i;
        for (uint32_t n = 0; n < d->s->ndeeds && !counts; n++)
            counts = d->s->deeds[n].kind == TP_ACT_WAIT && d->s->deeds[n].operand == i && d->s->deeds[n].reached >= 0;
        if (counts && d->nsemaphores < MOST_SEMAPHORES)
            d->semaphores[d->nsemaphores++] = i;
        else
            d->others += counts;
    }
}

static int64_t *count_at(const drawing *d, uint32_t number, uint32_t semaphore, int64_t unit)
{
    return &d->counts[((size_t)number * MOST_SEMAPHORES + semaphore) * (size_t)d->s->units + (size_t)unit];
}

static void raise_to(int64_t *most, int64_t n)
{
    *most = n > *most ? n : *most;
}

/* What the elements of a semaphore count together, at most in each unit. */
static void count_all(drawing *d)
{
    int64_t *now = TP_NEWN(d->p->a, int64_t, d->s->ncounters + 1);
    d->counts = TP_NEWN(d->p->a, int64_t, (size_t)MOST_LANES * MOST_SEMAPHORES * (size_t)d->s->units + 1);
    for (uint32_t l = 0; l < d->nlanes; l++)
        for (uint32_t i = 0; i < d->nsemaphores; i++) {
            int64_t all = 0, unit = 0;
            for (uint32_t c = 0; c < d->s->ncounts; c++) {
                const tp_schedule_count *x = &d->s->counts[c];
                const tp_schedule_counter *of = &d->s->counters[x->counter];
                if (of->device != d->lanes[l].device || of->operand != d->semaphores[i])
                    continue;
                for (; unit < x->unit; unit++)
                    raise_to(count_at(d, l, i, unit), all);
                all += x->n - now[x->counter];
                now[x->counter] = x->n;
                raise_to(count_at(d, l, i, unit), all);
                raise_to(&d->most[i], all);
            }
            for (; unit < d->s->units; unit++)
                raise_to(count_at(d, l, i, unit), all);
        }
}

static uint32_t height_of(const drawing *d, const lane *l)
{
    return ROW + (l->tracks + d->nsemaphores) * TRACK + GAP;
}

static void lay_out(drawing *d)
{
    const tp_deed **copies = TP_NEWN(d->p->a, const tp_deed *, d->s->ndeeds + 1);
    d->track = TP_NEWN(d->p->a, uint8_t, d->s->ndeeds + 1);
    choose_lanes(d);
    choose_semaphores(d);
    count_all(d);
    d->height = HEAD;
    for (uint32_t i = 0; i < d->nlanes; i++) {
        lay_tracks(d, &d->lanes[i], copies);
        d->lanes[i].y = d->height;
        d->height += height_of(d, &d->lanes[i]);
    }
}

/* ---- parts of a picture ---- */

static bool several(const drawing *d)
{
    return tp_is_connected(d->x->kernel);
}

tp_str tp_html_line_of(const tp_page *p, const tp_statement *s)
{
    if (!s || !s->syntax || !s->syntax->number)
        return TP_S("the end of a block");
    return tp_printf(p->a, "line %u", s->syntax->number);
}

static long x_of(const drawing *d, int64_t unit)
{
    return (long)(LEFT + (unit - d->from) * d->column);
}

static long middle_of(const drawing *d, int64_t unit)
{
    return x_of(d, unit) + d->column / 2 - 1;
}

static tp_str name_of(const drawing *d, uint32_t device)
{
    return tp_device_name(d->p->a, d->x->kernel, d->x->env, device);
}

/* "3"; "1, 0" on a mesh. */
static tp_str short_name_of(const drawing *d, uint32_t device)
{
    tp_str name = name_of(d, device);
    return name.p[0] == '(' ? (tp_str){name.p + 1, name.n - 2} : name;
}

static void write_device(const drawing *d, int64_t unit, uint32_t y, uint32_t device)
{
    fprintf(d->p->out, "<text x=\"%ld\" y=\"%u\" class=\"at over\">%.*s</text>\n", middle_of(d, unit), y,
            TP_FMT(short_name_of(d, device)));
}

/* A bar of units [from, to), as far as the picture has them: left open is its title. False: nothing of it is here. */
static bool begin_bar(const drawing *d, int64_t from, int64_t to, uint32_t y, uint32_t high, const char *looks)
{
    from = from < d->from ? d->from : from;
    to = to > d->to ? d->to : to;
    if (from >= to)
        return false;
    fprintf(d->p->out, "<rect x=\"%ld\" y=\"%u\" width=\"%ld\" height=\"%u\" %s><title>", x_of(d, from), y,
            (long)((to - from) * d->column - 2), high, looks);
    return true;
}

static void end_bar(const drawing *d)
{
    tp_html_raw(d->p, "</title></rect>\n");
}

static void write_place(const drawing *d, const tp_deed *x)
{
    tp_str step = tp_played_step(d->p->a, d->x, x->step);
    tp_html_put(d->p, tp_html_line_of(d->p, x->statement));
    tp_html_raw(d->p, step.n ? " at " : "");
    tp_html_put(d->p, step);
}

static void write_semaphore_name(const drawing *d, const tp_deed *x)
{
    const tp_schedule_counter *c = &d->s->counters[x->counter];
    const tp_operand *o = &d->x->kernel->operands[c->operand];
    tp_html_put(d->p, o->name);
    if (o->ref_rank)
        fprintf(d->p->out, "[%zu]", c->element);
}

static const tp_trap_side *side_of(const drawing *d, uint32_t device, tp_trap_side_kind kind)
{
    for (uint32_t i = 0; d->x->rule && i < d->s->nsides; i++)
        if (d->s->sides[i].device == device && d->s->sides[i].kind == kind)
            return &d->s->sides[i];
    return NULL;
}

static void write_deed(const drawing *d, const lane *l, const tp_deed *x)
{
    static const char *const LOOKS[] = {[TP_ACT_SIGNAL] = "class=\"back\"",
                                        [TP_ACT_WAIT] = "class=\"busy\"",
                                        [TP_ACT_START] = "class=\"block\" fill-opacity=\".2\""};
    bool stuck = side_of(d, l->device, TP_SIDE_WAITS) && x->done < 0;
    int64_t done = x->done < 0 ? d->s->units : x->done;
    if (x->kind == TP_ACT_WAIT && x->reached >= 0 &&
        begin_bar(d, x->reached, done, l->y, ROW - 2,
                  stuck ? "class=\"out\" fill-opacity=\".4\"" : "class=\"stall\"")) {
        write_place(d, x);
        tp_html_raw(d->p, stuck ? ": waits for ever for " : ": waits for ");
        write_semaphore_name(d, x);
        end_bar(d);
    }
    if (x->done < 0 || !begin_bar(d, x->done, x->done + 1, l->y, ROW - 2, LOOKS[x->kind]))
        return;
    write_place(d, x);
    tp_html_raw(d->p, x->kind == TP_ACT_WAIT     ? ": has "
                      : x->kind == TP_ACT_SIGNAL ? ": signals "
                                                 : ": starts a copy to ");
    if (x->kind == TP_ACT_START)
        tp_html_put(d->p, d->x->kernel->operands[x->operand].name);
    else
        write_semaphore_name(d, x);
    if (x->there != x->device)
        fprintf(d->p->out, " of device %.*s", TP_FMT(name_of(d, x->there)));
    end_bar(d);
    if (x->there != x->device)
        write_device(d, x->done, l->y + 14, x->there);
}

/* Where the steps of the grid change. */
static void write_step(const drawing *d, const lane *l, const tp_deed *x, int64_t before)
{
    int64_t at = x->reached;
    if (before < 0 || x->step == before || at <= d->from || at >= d->to)
        return;
    fprintf(d->p->out, "<path d=\"M%ld %uv%d\" stroke=\"var(--ink)\"/>\n", x_of(d, at) - 1, l->y - 4, ROW + 4);
}

static void write_deeds(const drawing *d, const lane *l)
{
    int64_t before = -1;
    for (uint32_t i = d->s->first[l->device]; i; i = d->s->deeds[i - 1].next) {
        const tp_deed *x = &d->s->deeds[i - 1];
        if (x->reached < 0)
            break;
        write_step(d, l, x, before);
        write_deed(d, l, x);
        before = x->step;
    }
}

static bool flies_on(const drawing *d, const tp_deed *x)
{
    const tp_trap_side *s = side_of(d, x->device, TP_SIDE_FLIES);
    return s && s->copy == x->copy;
}

/* On its way, then there until somebody has waited for it; a stroke where its source has been read. */
static void write_copy(const drawing *d, const lane *l, const tp_deed *x, uint32_t track)
{
    uint32_t y = l->y + ROW + (track - 1) * TRACK;
    bool red = flies_on(d, x);
    int64_t there = x->arrived >= 0 ? x->arrived : d->s->units, end = end_of(d, x),
            first = x->done < d->from ? d->from : x->done;
    if (begin_bar(d, x->done, there, y, TRACK - 3, red ? "class=\"out\" fill-opacity=\".4\"" : "class=\"moved\"")) {
        write_place(d, x);
        fprintf(d->p->out, ": %lld bytes of ", (long long)((x->n + 7) / 8));
        tp_html_put(d->p, d->x->kernel->operands[x->from].name);
        if (x->device != x->there)
            fprintf(d->p->out, " of device %.*s", TP_FMT(name_of(d, x->device)));
        tp_html_raw(d->p, " on their way to ");
        tp_html_put(d->p, d->x->kernel->operands[x->operand].name);
        end_bar(d);
    }
    if (begin_bar(d, there, end, y, TRACK - 3, red ? "class=\"out\" fill-opacity=\".2\"" : "class=\"idle\"")) {
        tp_html_raw(d->p, "there, not waited for");
        end_bar(d);
    }
    if (x->was_sent > first && x->was_sent < there && x->was_sent < d->to)
        fprintf(d->p->out, "<path d=\"M%ld %uv%d\" stroke=\"var(--ink)\"/>\n", x_of(d, x->was_sent) - 1, y, TRACK - 3);
    if (x->device != x->there && first < there && first < d->to)
        write_device(d, first, y + 11, x->device);
}

static void write_counts(const drawing *d, uint32_t number, uint32_t i, uint32_t y)
{
    const uint32_t high = TRACK - 3;
    bool any = false;
    for (int64_t unit = d->from; unit < d->to; unit++) {
        int64_t n = *count_at(d, number, i, unit);
        uint32_t h = n > 0 ? (uint32_t)((double)high * (double)n / (double)d->most[i]) : 0;
        if (n <= 0)
            continue;
        h = h < 2 ? 2 : h;
        tp_html_raw(d->p, any ? "" : "<path class=\"count\" d=\"");
        fprintf(d->p->out, "M%ld %uh%uv%uh-%uz", x_of(d, unit), y + high - h, d->column, h, d->column);
        any = true;
    }
    tp_html_raw(d->p, any ? "\"/>\n" : "");
    fprintf(d->p->out, "<path d=\"M%d %uh%ld\" stroke=\"var(--line)\"/>\n", LEFT, y + high,
            (long)((d->to - d->from) * d->column));
}

static void write_label(const drawing *d, uint32_t y, tp_str name)
{
    fprintf(d->p->out, "<text x=\"0\" y=\"%u\">", y);
    tp_html_put(d->p, name.n > LETTERS ? tp_printf(d->p->a, "%.*s…", LETTERS - 1, name.p) : name);
    tp_html_raw(d->p, "</text>\n");
}

/* Of a mesh the coordinates alone, for which there is room. */
static tp_str label_of(const drawing *d, uint32_t device)
{
    tp_str name = name_of(d, device);
    if (!several(d))
        return TP_S("body");
    return name.p[0] == '(' ? name : tp_printf(d->p->a, "device %.*s", TP_FMT(name));
}

/* The moment at which the schedule fails is the last unit. */
static void write_moment(const drawing *d, const lane *l)
{
    int64_t last = d->s->units - 1;
    if (side_of(d, l->device, TP_SIDE_OUTSIDE) &&
        begin_bar(d, 0, d->s->units, l->y, ROW - 2, "class=\"out\" fill-opacity=\".2\"")) {
        tp_html_raw(d->p, "has not entered the kernel");
        end_bar(d);
    }
    if (d->s->stopped && side_of(d, l->device, TP_SIDE_DOES) &&
        begin_bar(d, last, last + 1, l->y, ROW - 2, "class=\"out\" fill-opacity=\".4\"")) {
        tp_html_raw(d->p, "here it fails");
        end_bar(d);
    }
}

static void write_lane(const drawing *d, uint32_t number)
{
    const lane *l = &d->lanes[number];
    write_label(d, l->y + 14, label_of(d, l->device));
    write_deeds(d, l);
    write_moment(d, l);
    for (uint32_t i = 0; i < d->s->ndeeds; i++)
        if (d->track[i] && d->s->deeds[i].there == l->device)
            write_copy(d, l, &d->s->deeds[i], d->track[i]);
    for (uint32_t i = 0; i < d->nsemaphores; i++) {
        uint32_t y = l->y + ROW + (l->tracks + i) * TRACK;
        write_label(d, y + 12, d->x->kernel->operands[d->semaphores[i]].name);
        write_counts(d, number, i, y);
    }
}

static void write_picture(drawing *d, int64_t from, int64_t to)
{
    enum { EVERY = 5 };
    uint32_t width = LEFT + d->columns * d->column;
    d->from = from;
    d->to = to < d->s->units ? to : d->s->units;
    fprintf(
        d->p->out,
        "<svg role=\"img\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\"><title>Copies, signals and waits, units "
        "%lld to %lld</title>\n",
        width, d->height, width, d->height, (long long)from, (long long)d->to - 1);
    for (int64_t unit = from; unit < d->to; unit++)
        if (unit % EVERY == 0 || (unit == from && unit % EVERY != EVERY - 1))
            fprintf(d->p->out, "<text x=\"%ld\" y=\"12\" class=\"at\">%lld</text>\n", middle_of(d, unit),
                    (long long)unit);
    for (uint32_t i = 0; i < d->nlanes; i++)
        write_lane(d, i);
    tp_html_raw(d->p, "</svg>\n");
}

/* ---- around them ---- */

/* `of`: what stands on it says the device `which`; NULL: nothing does. */
static void write_key(const tp_page *p, const char *key, const char *says, const char *of, const char *which)
{
    fprintf(p->out, "<span class=\"item\"><span class=\"key %s\"></span>%s", key, says);
    if (of)
        fprintf(p->out, "; %s: %s", of, which);
    tp_html_raw(p, "</span>");
}

static void write_legend(const drawing *d)
{
    bool many = several(d), signals = false;
    const char *of = tp_mesh_rank(d->x->kernel) > 1 ? "coordinates" : "number";
    for (uint32_t i = 0; i < d->s->ndeeds; i++)
        signals |= d->s->deeds[i].kind == TP_ACT_SIGNAL;
    tp_html_raw(d->p, "<p class=\"legend\">");
    write_key(d->p, "once", "a copy starts", many ? of : NULL, "the device it goes to");
    if (signals)
        write_key(d->p, "back", "a signal", many ? of : NULL, "the device that gets it");
    write_key(d->p, "padding", "waits", NULL, NULL);
    write_key(d->p, "busy", "a wait ends", NULL, NULL);
    write_key(d->p, "moved", many ? "a copy on its way here" : "a copy on its way", many ? of : NULL,
              "the device it comes from; stroke: its source has been read");
    write_key(d->p, "idle", "a copy that is there, and not waited for", NULL, NULL);
    write_key(d->p, "count", "what a semaphore counts, all its elements", NULL, NULL);
    if (d->x->kernel->naxes > (many ? tp_mesh_rank(d->x->kernel) : 0))
        tp_html_raw(d->p, "<span class=\"item\">stroke between statements: the next step of the grid</span>");
    if (d->x->rule)
        write_key(d->p, "outside", "has part in what fails", NULL, NULL);
    tp_html_raw(d->p, "</p>\n");
}

static void write_captions(const drawing *d)
{
    const tp_kernel *k = d->x->kernel;
    tp_html_raw(d->p, "<p class=\"dim\">");
    for (uint32_t i = 0; i < d->nsemaphores; i++) {
        const tp_operand *o = &k->operands[d->semaphores[i]];
        bool bits = o->memory == TP_MEM_DMA_SEMAPHORE;
        tp_html_raw(d->p, i ? ", <code>" : "Semaphores at most: <code>");
        tp_html_put(d->p, o->name);
        fprintf(d->p->out, "</code> %lld%s", (long long)(bits ? (d->most[i] + 7) / 8 : d->most[i]),
                bits ? " bytes" : "");
    }
    tp_html_raw(d->p, d->nsemaphores ? ". " : "");
    if (d->others)
        fprintf(d->p->out, "%u more semaphores are not drawn. ", d->others);
    if (d->nlanes < d->s->devices)
        fprintf(d->p->out, "%u of %u devices are drawn. ", d->nlanes, d->s->devices);
    if (d->left_out)
        fprintf(d->p->out, "%u copies have no room: %d are drawn at a time. ", d->left_out, MOST_TRACKS);
    if (d->s->full)
        fprintf(d->p->out, "Of what it did, the first %u copies, signals and waits are there. ", d->s->ndeeds);
    fprintf(
        d->p->out,
        "A statement takes one unit, a copy %d, and its source is read after %d: units are not times of a TPU.</p>\n",
        TP_UNITS_THERE, TP_UNITS_SENT);
}

void tp_html_draw_lanes(const tp_page *p, const tp_played *x)
{
    drawing d = {.p = p, .x = x, .s = x->schedule, .column = COLUMN};
    uint32_t letters = (uint32_t)short_name_of(&d, d.s->devices - 1).n; /* the last one has the longest name */
    if (letters * LETTER > d.column && several(&d) && tp_mesh_rank(x->kernel) > 1)
        d.column = letters * LETTER;
    d.columns = (x->rule ? NARROW_WIDTH : WIDTH) / d.column;
    int64_t units = x->schedule->units, wide = d.columns, room = (x->rule ? NARROW_PICTURES : PICTURES) * wide,
            head = x->rule ? wide : room - wide; /* what fails is at the end */
    lay_out(&d);
    write_legend(&d);
    tp_html_raw(p, "<div class=\"maps\">\n");
    for (int64_t from = 0; from < units; from += wide) {
        if (units > room && from == head)
            from = units - (room - head);
        write_picture(&d, from, from + wide);
    }
    tp_html_raw(p, "</div>\n");
    if (units > room)
        fprintf(p->out, "<p class=\"dim\">The first %lld and the last %lld of %lld units.</p>\n", (long long)head,
                (long long)(room - head), (long long)units);
    write_captions(&d);
}

void tp_html_lanes(const tp_page *p, const tp_spec_report *s)
{
    const tp_kernel *k = s->spec->kernels[0];
    tp_str sizes;
    int64_t *env = tp_moves_its_data(k) ? tp_map_sizes(p->a, s, &sizes) : NULL;
    if (!env)
        return;
    tp_played x = tp_play_at(p->a, k, env);
    if (x.rule) /* its finding has the schedule */
        return;
    tp_html_raw(p, "<h3>Copies and semaphores</h3>\n<p class=\"dim\">");
    if (!x.schedule) {
        tp_html_raw(p, "Not drawn: ");
        tp_html_prose(p, x.why);
        tp_html_raw(p, ".</p>\n");
        return;
    }
    tp_html_raw(p, "At ");
    tp_html_put(p, sizes.n ? sizes : TP_S("the only shape"));
    if (!tp_is_connected(k))
        tp_html_raw(p, ". What the body does, its copies on their way, its semaphores.</p>\n");
    else
        fprintf(p->out, ". Each device has a lane: what it does, copies on their way to it, its semaphores. %s</p>\n",
                tp_has_barrier(k) ? "Each enters by itself; that it has, others know from its signals to their barrier."
                                  : "They enter together: there is no barrier that the body waits for.");
    tp_html_draw_lanes(p, &x);
}
