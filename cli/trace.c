#include "cli/trace.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/jsonc.h"
#include "base/version.h"

typedef enum slice_kind {
    SLICE_STEP,
    SLICE_STATEMENT,
    SLICE_FETCH,
    SLICE_WRITE,
    SLICE_STAY,
    SLICE_COPY,
    SLICE_COUNT
} slice_kind;

/* From one time to another, in seconds since the run began; -1: not over. */
typedef struct slice {
    slice_kind kind;
    uint32_t operand, from;
    uint32_t device, there; /* who does it; of a copy to where, of a count whose */
    double begin, end;
    int64_t step, bits, copy, count;
    tp_str name;             /* of a step; of a semaphore */
    const tp_syntax *syntax; /* of a statement, a copy */
} slice;

/* What a statement of the spec took, all turns and steps together; what it holds, too. */
typedef struct line_total {
    const tp_syntax *syntax;
    int64_t times;
    double seconds;
} line_total;

typedef struct window_total {
    int64_t in, out, stays, bits_in, bits_out;
} window_total;

enum { DEEP = 64 }; /* statements within statements; deeper ones count for the one around them */

/* A statement that is not over: several operations of one line are one. */
typedef struct running {
    const tp_syntax *syntax;
    bool holds; /* others: it ends with its own event, not with the next statement */
    double begin, last;
    uint32_t slice; /* its number + 1; 0: not kept */
} running;

/* What a device is in. */
typedef struct doing {
    running stack[DEEP];
    uint32_t depth, skipped;
    uint32_t step, moving; /* the slice that runs, + 1 */
    double waits;          /* seconds, for semaphores */
    int64_t *most;         /* what its semaphores counted at most, by operand */
} doing;

/* Copies from one device to another. */
typedef struct link_total {
    int64_t copies, bits;
} link_total;

struct tp_trace {
    tp_observer observer; /* first: see() casts */
    tp_arena *a;
    const tp_source *source;
    const tp_kernel *k;
    const int64_t *env;
    double began;
    TP_VEC(slice) slices;
    bool full; /* what comes now is counted, not kept */
    int64_t steps, kept_steps;
    doing *by;                /* by device */
    uint32_t devices;         /* seen so far; 1: it is no kernel on several */
    link_total *links;        /* from a device to another one */
    TP_VEC(line_total) lines; /* by number of the statement in the body */
    TP_VEC(uint32_t) copies;  /* slices, by number of the copy, as long as they are kept */
    window_total *windows;
    const tp_trap *trap;
    double ended;
};

/* ---- following ---- */

static uint32_t keep(tp_trace *t, slice s)
{
    if (t->full || t->slices.len >= 2 * TP_TRACE_EVENTS) {
        t->full = true;
        return 0;
    }
    tp_push(t->a, t->slices, s);
    return t->slices.len;
}

static void finish(tp_trace *t, uint32_t *kept, double now)
{
    if (*kept)
        t->slices.at[*kept - 1].end = now;
    *kept = 0;
}

static line_total *total_of(tp_trace *t, const tp_syntax *s)
{
    while (t->lines.len <= s->number)
        tp_push(t->a, t->lines, ((line_total){0}));
    t->lines.at[s->number].syntax = s;
    return &t->lines.at[s->number];
}

static void end_statement(tp_trace *t, doing *d, double now)
{
    running *r = &d->stack[--d->depth];
    line_total *line = total_of(t, r->syntax);
    line->times++;
    line->seconds += now - r->begin;
    finish(t, &r->slice, now);
}

/* The operations of a line are over when something else begins. */
static void end_line(tp_trace *t, doing *d)
{
    if (d->depth && !d->stack[d->depth - 1].holds)
        end_statement(t, d, d->stack[d->depth - 1].last);
}

static bool holds_others(const tp_statement *s)
{
    return s->kind == TP_LOOP || s->kind == TP_WHILE || s->kind == TP_IF;
}

static void see_statement(tp_trace *t, doing *d, const tp_event *e, double now)
{
    const tp_statement *s = e->statement;
    running *top = d->depth ? &d->stack[d->depth - 1] : NULL;
    if (top && top->syntax == s->syntax && (!top->holds || !holds_others(s))) {
        top->holds |= holds_others(s); /* its condition came before */
        return;
    }
    end_line(t, d);
    if (d->depth == DEEP) {
        d->skipped += holds_others(s);
        return;
    }
    uint32_t number = keep(t, (slice){.kind = SLICE_STATEMENT,
                                      .device = e->device,
                                      .begin = now,
                                      .end = -1,
                                      .step = e->step,
                                      .syntax = s->syntax});
    d->stack[d->depth++] = (running){s->syntax, holds_others(s), now, now, number};
}

static void see_statement_done(tp_trace *t, doing *d, const tp_event *e, double now)
{
    const tp_statement_kind kind = e->statement->kind;
    if ((kind == TP_COPY_WAIT || kind == TP_AWAIT) && d->depth)
        d->waits += now - d->stack[d->depth - 1].last;
    if (!holds_others(e->statement)) {
        if (d->depth)
            d->stack[d->depth - 1].last = now;
        return;
    }
    if (d->skipped) {
        d->skipped--;
        return;
    }
    end_line(t, d);
    end_statement(t, d, now);
}

static void see_step(tp_trace *t, doing *d, const tp_event *e, double now)
{
    t->steps++;
    t->full |= t->slices.len >= TP_TRACE_EVENTS;
    if (!t->full)
        d->step = keep(t, (slice){.kind = SLICE_STEP,
                                  .device = e->device,
                                  .begin = now,
                                  .end = -1,
                                  .step = e->step,
                                  .name = tp_coordinates_text(t->a, t->k, e->env)});
}

static void see_window(tp_trace *t, doing *d, const tp_event *e, double now)
{
    window_total *w = &t->windows[e->operand];
    bool in = e->kind == TP_EVENT_FETCH;
    *(in ? &w->in : &w->out) += 1;
    *(in ? &w->bits_in : &w->bits_out) += e->bits;
    d->moving = keep(t, (slice){.kind = in ? SLICE_FETCH : SLICE_WRITE,
                                .device = e->device,
                                .operand = e->operand,
                                .begin = now,
                                .end = -1,
                                .step = e->step,
                                .bits = e->bits});
}

static void see_copy(tp_trace *t, const tp_event *e, double now)
{
    uint32_t kept = keep(t, (slice){.kind = SLICE_COPY,
                                    .operand = e->operand,
                                    .from = e->from,
                                    .device = e->device,
                                    .there = e->there,
                                    .begin = now,
                                    .end = -1,
                                    .step = e->step,
                                    .bits = e->bits,
                                    .copy = e->copy,
                                    .syntax = e->statement->syntax});
    if (kept)
        tp_push(t->a, t->copies, kept);
    link_total *l = t->links && e->device != e->there ? &t->links[e->device * TP_TRACE_DEVICES + e->there] : NULL;
    if (l) {
        l->copies++;
        l->bits += e->bits;
    }
}

static void see_copy_done(tp_trace *t, const tp_event *e, double now)
{
    if (e->copy <= t->copies.len)
        t->slices.at[t->copies.at[e->copy - 1] - 1].end = now;
}

/* Names of semaphores are made once. */
static void see_count(tp_trace *t, const tp_event *e, double now)
{
    const tp_operand *o = &t->k->operands[e->operand];
    doing *whose = &t->by[e->there];
    if (!whose->most)
        whose->most = TP_NEWN(t->a, int64_t, tp_noperands(t->k));
    if (e->count > whose->most[e->operand])
        whose->most[e->operand] = e->count;
    t->devices = e->there >= t->devices ? e->there + 1 : t->devices;
    if (t->full)
        return;
    tp_str name = o->ref_rank ? tp_printf(t->a, "%.*s[%zu]", TP_FMT(o->name), e->element) : o->name;
    keep(t, (slice){.kind = SLICE_COUNT,
                    .operand = e->operand,
                    .device = e->there,
                    .begin = now,
                    .end = now,
                    .step = e->step,
                    .count = e->count,
                    .name = name});
}

static void see(tp_observer *o, const tp_event *e)
{
    tp_trace *t = (tp_trace *)o;
    double now = tp_wall_seconds() - t->began;
    doing *d = &t->by[e->device];
    t->devices = e->device >= t->devices ? e->device + 1 : t->devices;
    switch (e->kind) {
    case TP_EVENT_STEP: see_step(t, d, e, now); return;
    case TP_EVENT_STEP_DONE:
        end_line(t, d);
        t->kept_steps += d->step != 0;
        finish(t, &d->step, now);
        return;
    case TP_EVENT_FETCH:
    case TP_EVENT_WRITE: see_window(t, d, e, now); return;
    case TP_EVENT_MOVED: finish(t, &d->moving, now); return;
    case TP_EVENT_STAY:
        t->windows[e->operand].stays++;
        keep(t, (slice){.kind = SLICE_STAY,
                        .operand = e->operand,
                        .device = e->device,
                        .begin = now,
                        .end = now,
                        .step = e->step});
        return;
    case TP_EVENT_STATEMENT: see_statement(t, d, e, now); return;
    case TP_EVENT_STATEMENT_DONE: see_statement_done(t, d, e, now); return;
    case TP_EVENT_COPY: see_copy(t, e, now); return;
    case TP_EVENT_COPY_DONE: see_copy_done(t, e, now); return;
    case TP_EVENT_COUNT: see_count(t, e, now); return;
    case TP_EVENT_SIGNAL:
    case TP_EVENT_WAIT:
    case TP_EVENT_SIDE:
    case TP_EVENT_TRAP: return;
    }
}

tp_trace *tp_trace_new(tp_arena *a, const tp_source *source, const tp_kernel *k, const int64_t *env)
{
    tp_trace *t = TP_NEW(a, tp_trace);
    *t = (tp_trace){.observer = {see}, .a = a, .source = source, .k = k, .env = env, .began = tp_wall_seconds()};
    t->windows = TP_NEWN(a, window_total, tp_noperands(k));
    t->by = TP_NEWN(a, doing, TP_TRACE_DEVICES);
    t->devices = 1;
    if (tp_is_connected(k))
        t->links = TP_NEWN(a, link_total, TP_TRACE_DEVICES * TP_TRACE_DEVICES);
    return t;
}

tp_observer *tp_trace_observer(tp_trace *t)
{
    return &t->observer;
}

void tp_trace_close(tp_trace *t, const tp_trap *trap)
{
    t->trap = trap;
    t->ended = tp_wall_seconds() - t->began;
    for (uint32_t i = 0; i < t->devices; i++) {
        end_line(t, &t->by[i]);
        while (t->by[i].depth)
            end_statement(t, &t->by[i], t->ended);
    }
    for (uint32_t i = 0; i < t->slices.len; i++)
        if (t->slices.at[i].end < 0)
            t->slices.at[i].end = t->ended;
}

/* ---- for a trace viewer ---- */

enum { PROCESS = 1, STEPS_LANE = 1, STATEMENTS_LANE, COPIES_LANE, WINDOWS_LANE };

static struct json_object *microseconds(tp_arena *a, double seconds)
{
    return json_object_new_double_s(seconds * 1e6, tp_cstr(a, tp_printf(a, "%.3f", seconds * 1e6)));
}

static tp_str device_name(const tp_trace *t, uint32_t device)
{
    return tp_device_name(t->a, t->k, t->env, device);
}

static tp_str text_of(tp_arena *a, const tp_syntax *s)
{
    tp_buf b = {.arena = a};
    tp_print_stmt_head(&b, s);
    return tp_buf_view(&b);
}

static struct json_object *event(const char *phase, uint32_t device, uint32_t lane, tp_str name)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "ph", json_object_new_string(phase));
    json_object_object_add(o, "pid", json_object_new_int64(PROCESS + device));
    json_object_object_add(o, "tid", json_object_new_int64(lane));
    json_object_object_add(o, "name", tp_jsonc_string(name));
    return o;
}

static void put_event(tp_buf *b, tp_arena *a, struct json_object *o)
{
    tp_buf_printf(b, ",\n%.*s", TP_FMT(tp_jsonc_text(a, o, TP_JSONC_PLAIN)));
    json_object_put(o);
}

static void put_lane(tp_buf *b, tp_arena *a, uint32_t device, uint32_t lane, tp_str name)
{
    struct json_object *o = event("M", device, lane, TP_S("thread_name")), *args = json_object_new_object(),
                       *order = event("M", device, lane, TP_S("thread_sort_index")), *index = json_object_new_object();
    json_object_object_add(args, "name", tp_jsonc_string(name));
    json_object_object_add(o, "args", args);
    put_event(b, a, o);
    json_object_object_add(index, "sort_index", json_object_new_int64(lane));
    json_object_object_add(order, "args", index);
    put_event(b, a, order);
}

/* Each device is a process of the viewer. */
static void put_lanes(const tp_trace *t, tp_buf *b, tp_arena *a)
{
    for (uint32_t d = 0; d < t->devices; d++) {
        struct json_object *o = event("M", d, 0, TP_S("process_name")), *args = json_object_new_object();
        tp_str name =
            t->links ? tp_printf(a, "%.*s, device %.*s", TP_FMT(t->k->name), TP_FMT(device_name(t, d))) : t->k->name;
        json_object_object_add(args, "name", tp_jsonc_string(name));
        json_object_object_add(o, "args", args);
        if (d)
            put_event(b, a, o);
        else
            tp_buf_printf(b, "%.*s", TP_FMT(tp_jsonc_text(a, o, TP_JSONC_PLAIN)));
        if (!d)
            json_object_put(o);
        put_lane(b, a, d, STEPS_LANE, TP_S("grid steps"));
        put_lane(b, a, d, STATEMENTS_LANE, TP_S("statements"));
        put_lane(b, a, d, COPIES_LANE, TP_S("copies of the body"));
        for (uint32_t i = 0; i < t->k->ninputs + t->k->noutputs; i++)
            if (!tp_is_far(&t->k->operands[i]))
                put_lane(b, a, d, WINDOWS_LANE + i, tp_printf(a, "window of %.*s", TP_FMT(t->k->operands[i].name)));
    }
}

static tp_str slice_name(const tp_trace *t, tp_arena *a, const slice *s)
{
    tp_str to = t->k->operands[s->operand].name;
    switch (s->kind) {
    case SLICE_STEP: return s->name;
    case SLICE_STATEMENT: return text_of(a, s->syntax);
    case SLICE_FETCH: return tp_printf(a, "fetch %.*s", TP_FMT(to));
    case SLICE_WRITE: return tp_printf(a, "write %.*s", TP_FMT(to));
    case SLICE_STAY: return tp_printf(a, "%.*s stays", TP_FMT(to));
    case SLICE_COPY:
        if (s->device != s->there)
            return tp_printf(a, "%.*s to %.*s of device %.*s", TP_FMT(t->k->operands[s->from].name), TP_FMT(to),
                             TP_FMT(device_name(t, s->there)));
        return tp_printf(a, "%.*s to %.*s", TP_FMT(t->k->operands[s->from].name), TP_FMT(to));
    case SLICE_COUNT: return s->name;
    }
    return TP_S("");
}

static const char *category(slice_kind k)
{
    switch (k) {
    case SLICE_STEP: return "step";
    case SLICE_STATEMENT: return "statement";
    case SLICE_FETCH: return "fetch";
    case SLICE_WRITE: return "write";
    case SLICE_STAY: return "stay";
    case SLICE_COPY: return "copy";
    case SLICE_COUNT: return "count";
    }
    return "";
}

static uint32_t lane_of(const slice *s)
{
    switch (s->kind) {
    case SLICE_STEP: return STEPS_LANE;
    case SLICE_STATEMENT: return STATEMENTS_LANE;
    case SLICE_COPY: return COPIES_LANE;
    case SLICE_COUNT:
    case SLICE_FETCH:
    case SLICE_WRITE:
    case SLICE_STAY: break;
    }
    return WINDOWS_LANE + s->operand;
}

static struct json_object *slice_event(const tp_trace *t, tp_arena *a, const slice *s, const char *phase, double at)
{
    struct json_object *o = event(phase, s->device, lane_of(s), slice_name(t, a, s));
    json_object_object_add(o, "cat", json_object_new_string(category(s->kind)));
    json_object_object_add(o, "ts", microseconds(a, at));
    return o;
}

/* A number over time. */
static void put_count(const tp_trace *t, tp_buf *b, tp_arena *a, const slice *s)
{
    struct json_object *o = slice_event(t, a, s, "C", s->begin), *args = json_object_new_object();
    bool bytes = t->k->operands[s->operand].memory == TP_MEM_DMA_SEMAPHORE;
    json_object_object_add(args, bytes ? "bytes" : "count", json_object_new_int64(s->count));
    json_object_object_add(o, "args", args);
    put_event(b, a, o);
}

/* Copies overlap each other: they are asynchronous. What takes no time is an instant. */
static void put_slice(const tp_trace *t, tp_buf *b, tp_arena *a, const slice *s)
{
    bool copy = s->kind == SLICE_COPY, stay = s->kind == SLICE_STAY;
    struct json_object *o = slice_event(t, a, s,
                                        copy   ? "b"
                                        : stay ? "i"
                                               : "X",
                                        s->begin),
                       *args = json_object_new_object();
    json_object_object_add(args, "step", json_object_new_int64(s->step));
    if (s->bits)
        json_object_object_add(args, "bytes", json_object_new_int64((s->bits + 7) / 8));
    if (s->syntax)
        json_object_object_add(args, "at", tp_jsonc_string(tp_statement_place(a, t->source, s->syntax)));
    json_object_object_add(o, "args", args);
    if (copy)
        json_object_object_add(o, "id", json_object_new_int64(s->copy));
    else if (stay)
        json_object_object_add(o, "s", json_object_new_string("t"));
    else
        json_object_object_add(o, "dur", microseconds(a, s->end - s->begin));
    put_event(b, a, o);
    if (!copy)
        return;
    o = slice_event(t, a, s, "e", s->end);
    json_object_object_add(o, "id", json_object_new_int64(s->copy));
    put_event(b, a, o);
}

static void put_trap(const tp_trace *t, tp_buf *b, tp_arena *a)
{
    struct json_object *o = event("i", 0, STEPS_LANE, tp_printf(a, "trap[%s]", t->trap->rule)),
                       *args = json_object_new_object();
    json_object_object_add(o, "cat", json_object_new_string("trap"));
    json_object_object_add(o, "ts", microseconds(a, t->ended));
    json_object_object_add(o, "s", json_object_new_string("g"));
    json_object_object_add(args, "message", tp_jsonc_string(t->trap->message));
    json_object_object_add(o, "args", args);
    put_event(b, a, o);
}

bool tp_trace_write(tp_cli *c, tp_trace *t, tp_str at, tp_str *why)
{
    tp_arena *work = tp_arena_child(c->arena);
    tp_buf b = {.arena = c->arena};
    struct json_object *about = json_object_new_object();
    json_object_object_add(about, "tool", json_object_new_string("tileproof " TP_VERSION));
    json_object_object_add(about, "kernel", tp_jsonc_string(t->k->name));
    json_object_object_add(about, "case", tp_jsonc_string(at));
    json_object_object_add(about, "time", json_object_new_string("of this machine, each event observed"));
    json_object_object_add(about, "steps", json_object_new_int64(t->steps));
    json_object_object_add(about, "steps_kept", json_object_new_int64(t->kept_steps));
    tp_buf_printf(&b, "{\"displayTimeUnit\": \"ns\",\n\"otherData\": %.*s,\n\"traceEvents\": [\n",
                  TP_FMT(tp_jsonc_text(work, about, TP_JSONC_PLAIN)));
    json_object_put(about);
    put_lanes(t, &b, work);
    for (uint32_t i = 0; i < t->slices.len; i++) {
        tp_arena *one = tp_arena_child(work);
        if (t->slices.at[i].kind == SLICE_COUNT)
            put_count(t, &b, one, &t->slices.at[i]);
        else
            put_slice(t, &b, one, &t->slices.at[i]);
        tp_arena_free(one);
    }
    if (t->trap)
        put_trap(t, &b, work);
    tp_buf_printf(&b, "\n]}\n");
    tp_str text = tp_buf_view(&b);
    bool ok = tp_write_file(c->arena, tp_cstr(c->arena, tp_option(&c->trace, "")), &text, 1, why) == TP_OK;
    tp_arena_free(work);
    return ok;
}

/* ---- for a terminal ---- */

static int by_time(const void *a, const void *b)
{
    const line_total *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void print_lines(tp_trace *t, FILE *out)
{
    enum { MOST = 20 };
    double whole = t->ended > 0 ? t->ended : 1;
    uint32_t n = 0;
    line_total *all = TP_NEWN(t->a, line_total, t->lines.len + 1);
    for (uint32_t i = 0; i < t->lines.len; i++)
        if (t->lines.at[i].times)
            all[n++] = t->lines.at[i];
    qsort(all, n, sizeof *all, by_time);
    fprintf(out, "  statements, with those that they hold; a value may be computed by who looks at it\n");
    fprintf(out, "  %12s  share  %10s\n", "ms", "times");
    for (uint32_t i = 0; i < n && i < MOST; i++) {
        const line_total *l = &all[i];
        fprintf(out, "  %12.3f  %3.0f %%  %10lld  %.*s: %.*s\n", l->seconds * 1e3, 100 * l->seconds / whole,
                (long long)l->times, TP_FMT(tp_visible_line(t->a, tp_statement_place(t->a, t->source, l->syntax))),
                TP_FMT(tp_visible_line(t->a, text_of(t->a, l->syntax))));
    }
    if (n > MOST)
        fprintf(out, "  and %u others\n", n - MOST);
}

static void print_windows(const tp_trace *t, FILE *out)
{
    for (uint32_t i = 0; i < t->k->ninputs + t->k->noutputs; i++) {
        const window_total *w = &t->windows[i];
        if (tp_is_far(&t->k->operands[i]))
            continue;
        fprintf(out, "  window of %.*s: ", TP_FMT(tp_visible_line(t->a, t->k->operands[i].name)));
        if (w->in)
            fprintf(out, "%lld fetches (%lld bytes), ", (long long)w->in, (long long)((w->bits_in + 7) / 8));
        if (w->out)
            fprintf(out, "%lld writes (%lld bytes), ", (long long)w->out, (long long)((w->bits_out + 7) / 8));
        fprintf(out, w->stays ? "stays in %lld steps\n" : "stays in no step\n", (long long)w->stays);
    }
}

/* What devices send, how long they wait, and what their semaphores count at most. */
static void print_devices(const tp_trace *t, FILE *out)
{
    for (uint32_t d = 0; d < t->devices && t->links; d++) {
        const doing *x = &t->by[d];
        fprintf(out, "  device %.*s: waits %.3f ms", TP_FMT(device_name(t, d)), x->waits * 1e3);
        for (uint32_t e = 0; e < t->devices; e++) {
            const link_total *l = &t->links[d * TP_TRACE_DEVICES + e];
            if (l->copies)
                fprintf(out, "; %lld copies to device %.*s (%lld bytes)", (long long)l->copies,
                        TP_FMT(device_name(t, e)), (long long)((l->bits + 7) / 8));
        }
        const char *before = "; at most";
        for (uint32_t i = 0; x->most && i < tp_noperands(t->k); i++) {
            const tp_operand *o = &t->k->operands[i];
            if (!x->most[i])
                continue;
            fprintf(out, "%s %lld%s on %.*s", before, (long long)x->most[i],
                    o->memory == TP_MEM_DMA_SEMAPHORE ? " bytes" : "", TP_FMT(tp_visible_line(t->a, o->name)));
            before = ",";
        }
        fputc('\n', out);
    }
}

/* What moved in a step: slices from its own up to the next step's. */
static void print_step(const tp_trace *t, uint32_t at, FILE *out)
{
    const slice *s = &t->slices.at[at];
    fprintf(out, "  %9.1f us  %.*s:", (s->end - s->begin) * 1e6, TP_FMT(tp_visible_line(t->a, s->name)));
    for (uint32_t i = at + 1; i < t->slices.len && (t->links || t->slices.at[i].step == s->step); i++) {
        const slice *x = &t->slices.at[i];
        if (x->step != s->step || x->device != s->device)
            continue;
        if (x->kind == SLICE_FETCH || x->kind == SLICE_WRITE || x->kind == SLICE_COPY)
            fprintf(out, " %s %.*s", x->kind == SLICE_COPY ? "copy to" : category(x->kind),
                    TP_FMT(tp_visible_line(t->a, t->k->operands[x->operand].name)));
        if (x->kind == SLICE_COPY && x->device != x->there)
            fprintf(out, " of device %.*s", TP_FMT(device_name(t, x->there)));
    }
    fputc('\n', out);
}

void tp_trace_print(tp_trace *t, FILE *out)
{
    enum { MOST = 20 };
    uint32_t shown = 0;
    fprintf(out, "%.*s: %lld steps, %.3f ms on this machine, with the observer\n",
            TP_FMT(tp_visible_line(t->a, t->k->name)), (long long)t->steps, t->ended * 1e3);
    print_lines(t, out);
    print_windows(t, out);
    print_devices(t, out);
    for (uint32_t i = 0; i < t->slices.len && shown < MOST; i++)
        if (t->slices.at[i].kind == SLICE_STEP) {
            print_step(t, i, out);
            shown++;
        }
    if (t->steps > shown)
        fprintf(out, "  and %lld further steps\n", (long long)t->steps - shown);
}
