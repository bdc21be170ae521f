#include "report/writing.h"

#include "base/jsonc.h"

void tp_writing_begin(tp_writing **into, tp_arena *a, const tp_format *f, const tp_report *r, bool alone, FILE *out)
{
    tp_writing *w = *into = TP_NEW(a, tp_writing);
    *w = (tp_writing){.format = f, .r = r, .arena = a, .out = f->end ? NULL : out, .alone = alone};
}

void tp_writing_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    tp_arena *own = tp_arena_child(a);
    w->format->spec(w, s, own);
    w->specs++;
    tp_arena_free(own);
}

bool tp_writing_end(tp_writing *w, const tp_report *r, FILE *out)
{
    bool whole = true;
    if (w->format->end)
        w->format->end(w, r, out);
    else if (!w->out)
        tp_copy_part(w, 0, out);
    for (uint32_t i = 0; i < TP_PARTS; i++)
        if (w->parts[i]) {
            whole &= !tp_spool_lost(w->parts[i]);
            tp_spool_free(w->parts[i]);
            w->parts[i] = NULL;
        }
    return whole;
}

bool tp_write_report(const tp_format *f, const tp_report *r, FILE *out)
{
    tp_writing *w;
    tp_arena *a = tp_arena_child(r->arena);
    tp_writing_begin(&w, a, f, r, r->specs.len == 1, out);
    for (uint32_t i = 0; i < r->specs.len; i++)
        tp_writing_spec(w, &r->specs.at[i], a);
    bool whole = tp_writing_end(w, r, out);
    tp_arena_free(a);
    return whole;
}

static tp_spool *spool(tp_writing *w, uint32_t part)
{
    if (!w->parts[part])
        w->parts[part] = tp_spool_new(w->arena);
    return w->parts[part];
}

FILE *tp_part_out(tp_writing *w, uint32_t part)
{
    return w->out ? w->out : tp_spool_out(spool(w, part));
}

uint64_t tp_part_length(tp_writing *w, uint32_t part)
{
    return tp_spool_length(spool(w, part));
}

void tp_copy_piece(tp_writing *w, uint32_t part, uint64_t from, uint64_t to, FILE *out)
{
    tp_spool_copy(spool(w, part), from, to - from, out);
}

void tp_copy_part(tp_writing *w, uint32_t part, FILE *out)
{
    tp_copy_piece(w, part, 0, tp_part_length(w, part), out);
}

static void new_line(FILE *out, unsigned level)
{
    fprintf(out, "\n%*s", (int)(2 * level), "");
}

void tp_add_element(tp_writing *w, uint32_t part, struct json_object *o, unsigned level, tp_arena *a)
{
    FILE *out = tp_part_out(w, part);
    fputc(',', out);
    new_line(out, level);
    fprintf(out, "%.*s", TP_FMT(tp_jsonc_text_at(a, o, TP_JSONC_PRETTY, level)));
    json_object_put(o);
}

void tp_copy_list(tp_writing *w, uint32_t first, uint32_t last, unsigned level, FILE *out)
{
    bool any = false;
    for (uint32_t part = first;; part--) {
        uint64_t n = tp_part_length(w, part);
        if (n)
            tp_copy_piece(w, part, !any, n, out);
        any |= n > 0;
        if (part == last)
            break;
    }
    if (any)
        new_line(out, level - 1);
}

void tp_put_member(FILE *out, const char *before, const char *key, struct json_object *value, unsigned level,
                   tp_arena *a)
{
    fputs(before, out);
    new_line(out, level);
    fprintf(out, "\"%s\":%.*s", key, TP_FMT(tp_jsonc_text_at(a, value, TP_JSONC_PRETTY, level)));
    json_object_put(value);
}
