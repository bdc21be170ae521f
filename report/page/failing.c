/* The schedule that fails: who has part in what a counterexample breaks, what is on its way then, and what led to it.
 */
#include <stdlib.h>

#include "report/page/lanes.h"
#include "spec/json.h"

static void write_statement(const tp_page *p, const tp_source *source, const tp_statement *s)
{
    enum { MOST = 160 };
    if (!s || !s->syntax || !s->syntax->line)
        return;
    tp_buf b = {.arena = p->a};
    tp_print_stmt_head(&b, s->syntax);
    tp_str text = tp_buf_view(&b);
    size_t n = text.n < MOST ? text.n : MOST;
    while (n < text.n && n && tp_inside_character(text, n))
        n--;
    tp_html_raw(p, "<code>");
    tp_html_put(p, (tp_str){text.p, n});
    tp_html_raw(p, n < text.n ? "…</code>, " : "</code>, ");
    tp_html_put(p, tp_html_line_of(p, s));
    fprintf(p->out, " of the kernel, %u of the file", tp_linecol_of(source, tp_json_place(s->syntax->line).start).line);
}

static void write_step(const tp_page *p, const tp_played *x, int64_t step)
{
    tp_str at = step < 0 ? (tp_str){NULL, 0} : tp_played_step(p->a, x, step);
    if (!at.n)
        return;
    tp_html_raw(p, "<br>at <code>");
    tp_html_put(p, at);
    tp_html_raw(p, "</code>");
}

static void write_device(const tp_page *p, const tp_played *x, const char *before, uint32_t device)
{
    fprintf(p->out, "%s%.*s", before, TP_FMT(tp_device_name(p->a, x->kernel, x->env, device)));
}

static void write_part(const tp_page *p, const tp_played *x, const tp_trap_side *s)
{
    if (s->operand == TP_NO_OPERAND)
        return;
    fprintf(p->out, "<br>%s bytes %lld to %lld of <code>", s->writes ? "writes" : "reads", (long long)s->first,
            (long long)s->end - 1);
    tp_html_put(p, x->kernel->operands[s->operand].name);
    tp_html_raw(p, "</code>");
    if (tp_is_connected(x->kernel))
        write_device(p, x, " of device ", s->there);
}

static void write_count(const tp_page *p, const tp_played *x, const tp_trap_side *s)
{
    const tp_operand *o = &x->kernel->operands[s->operand];
    const char *unit = o->memory == TP_MEM_DMA_SEMAPHORE ? " bytes" : "";
    if (s->kind == TP_SIDE_WAITS)
        fprintf(p->out, "<br>waits for %lld%s on <code>", (long long)s->needs, unit);
    else
        tp_html_raw(p, "<br>leaves <code>");
    tp_html_put(p, o->name);
    fprintf(p->out, s->kind == TP_SIDE_WAITS ? "</code>, which has %lld%s" : "</code> at %lld%s", (long long)s->counts,
            unit);
}

static const char *word_of(tp_trap_side_kind kind, bool alone)
{
    switch (kind) {
    case TP_SIDE_DOES: return "now";
    case TP_SIDE_FLIES: return alone ? "never waited for" : "in flight";
    case TP_SIDE_OUTSIDE: return "not entered";
    case TP_SIDE_WAITS: return "waits for ever";
    case TP_SIDE_ENDED: return "has ended";
    case TP_SIDE_LEFT: return "left over";
    case TP_SIDE_NOTHING: return "at the end";
    }
    return "";
}

static void write_side(const tp_page *p, const tp_spec_report *s, const tp_played *x, const tp_trap_side *side)
{
    tp_html_raw(p, "<tr><th scope=\"row\">");
    if (tp_is_connected(x->kernel))
        write_device(p, x, "device ", side->device);
    fprintf(p->out, "%s%s</th><td>", tp_is_connected(x->kernel) ? ", " : "",
            word_of(side->kind, x->schedule->nsides == 1));
    write_statement(p, s->source, side->statement);
    write_step(p, x, side->step);
    switch (side->kind) {
    case TP_SIDE_DOES:
    case TP_SIDE_FLIES: write_part(p, x, side); break;
    case TP_SIDE_WAITS:
    case TP_SIDE_LEFT: write_count(p, x, side); break;
    case TP_SIDE_OUTSIDE: tp_html_raw(p, "no wait for its barrier tells that it has entered the kernel"); break;
    case TP_SIDE_ENDED: tp_html_raw(p, "it will signal nothing more"); break;
    case TP_SIDE_NOTHING: tp_html_raw(p, "no statement alone is to blame"); break;
    }
    tp_html_raw(p, "</td></tr>\n");
}

/* Copies on their way, or there and not waited for, when the schedule ends. */
static void write_flights(const tp_page *p, const tp_played *x)
{
    enum { MOST = 6 };
    const tp_schedule *s = x->schedule;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->ndeeds; i++) {
        const tp_deed *d = &s->deeds[i];
        if (d->kind != TP_ACT_START || d->done < 0 || d->waited >= 0 || n++ >= MOST)
            continue;
        tp_html_raw(p, n == 1 ? "<tr><th scope=\"row\">not waited for then</th><td>" : "<br>");
        fprintf(p->out, "copy %lld, ", (long long)d->copy);
        tp_html_put(p, tp_html_line_of(p, d->statement));
        tp_html_raw(p, ": <code>");
        tp_html_put(p, x->kernel->operands[d->from].name);
        tp_html_raw(p, "</code> to <code>");
        tp_html_put(p, x->kernel->operands[d->operand].name);
        tp_html_raw(p, "</code>");
        if (tp_is_connected(x->kernel)) {
            write_device(p, x, ", device ", d->device);
            write_device(p, x, " to ", d->there);
        }
        tp_html_raw(p, d->arrived < 0 ? ", on its way" : ", there");
    }
    if (n > MOST)
        fprintf(p->out, "<br>and %u more", n - MOST);
    tp_html_raw(p, n ? "</td></tr>\n" : "");
}

static int by_unit(const void *a, const void *b)
{
    const tp_deed *x = *(const tp_deed *const *)a, *y = *(const tp_deed *const *)b;
    return x->done != y->done ? (x->done > y->done) - (x->done < y->done) : (x > y) - (x < y);
}

static void write_event(const tp_page *p, const tp_played *x, const tp_deed *d)
{
    fprintf(p->out, "<li value=\"%lld\">", (long long)d->done);
    if (tp_is_connected(x->kernel)) {
        write_device(p, x, "device ", d->device);
        tp_html_raw(p, ", ");
    }
    tp_html_put(p, tp_html_line_of(p, d->statement));
    tp_html_raw(p, d->kind == TP_ACT_START    ? ": starts a copy to <code>"
                   : d->kind == TP_ACT_SIGNAL ? ": signals <code>"
                                              : ": has waited for <code>");
    tp_html_put(p, x->kernel->operands[d->operand].name);
    tp_html_raw(p, "</code>");
    if (d->there != d->device)
        write_device(p, x, " of device ", d->there);
    tp_html_raw(p, "</li>\n");
}

/* What was done before, by units; of a long list the last. */
static void write_events(const tp_page *p, const tp_played *x)
{
    enum { MOST = 16 };
    const tp_schedule *s = x->schedule;
    const tp_deed **done = TP_NEWN(p->a, const tp_deed *, s->ndeeds + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->ndeeds; i++)
        if (s->deeds[i].done >= 0)
            done[n++] = &s->deeds[i];
    if (!n)
        return;
    qsort(done, n, sizeof *done, by_unit);
    fprintf(p->out, "<details><summary>The order of events%s</summary><ol start=\"0\">\n",
            n > MOST ? ", the last ones" : "");
    for (uint32_t i = n > MOST ? n - MOST : 0; i < n; i++)
        write_event(p, x, done[i]);
    tp_html_raw(p, "</ol></details>\n");
}

void tp_html_failing(const tp_page *p, const tp_spec_report *s, const tp_finding *f)
{
    enum { MOST = 8 };
    tp_played x;
    for (const tp_finding *g = s->findings.at; g < f; g++) /* one for each rule */
        if (g->verdict == TP_VIOLATED && strcmp(g->rule, f->rule) == 0)
            return;
    if (!tp_play_finding(p->a, s, f, &x))
        return;
    const tp_schedule *d = x.schedule;
    tp_html_raw(p, "<table class=\"case\"><caption>The schedule that fails</caption><tbody>\n");
    for (uint32_t i = 0; i < d->nsides && i < MOST; i++)
        write_side(p, s, &x, &d->sides[i]);
    if (d->nsides > MOST)
        fprintf(p->out, "<tr><th scope=\"row\">others</th><td>%u more devices</td></tr>\n", d->nsides - MOST);
    write_flights(p, &x);
    tp_html_raw(p, "</tbody></table>\n");
    write_events(p, &x);
    if (d->ndeeds)
        tp_html_draw_lanes(p, &x);
}
