#include "cli/score.h"

#include <stdio.h>

#include "base/jsonc.h"

void tp_score_count(tp_score *s, const tp_defect *d)
{
    s->planted++;
    s->fates[d->fate]++;
    s->loose += d->loose;
    s->contradicted += d->contradicted;
}

void tp_score_add(tp_score *total, const tp_score *s)
{
    total->specs += s->specs;
    total->planted += s->planted;
    total->invalid += s->invalid;
    for (int f = 0; f < TP_FATES; f++)
        total->fates[f] += s->fates[f];
    total->loose += s->loose;
    total->contradicted += s->contradicted;
}

/* Of those that are not proven equal, cut off behind the second digit, so that 100 is all of them; 100 of none. */
static double percent(const tp_score *s, uint32_t part)
{
    uint32_t others = s->planted - s->fates[TP_FATE_EQUAL];
    return others ? (double)((uint64_t)part * 10000 / others) / 100 : 100;
}

/* ---- text ---- */

void tp_score_print_defect(const tp_defect *d)
{
    static const char *const FATES[] = {[TP_FATE_NOTICED] = "noticed",
                                        [TP_FATE_EQUAL] = "equal",
                                        [TP_FATE_NOT_APART] = "not told apart",
                                        [TP_FATE_OPEN] = "open",
                                        [TP_FATE_SURVIVES] = "survives"};
    const tp_mutation *m = d->mutation;
    char says[64] = "";
    if (d->fate == TP_FATE_NOT_APART)
        snprintf(says, sizeof says, "   (%u wider runs%s)", d->runs, d->bounded ? ", then the bound of work" : "");
    printf("  %-14s %-32s line %-4u %.*s -> %.*s%s%s%s\n",
           d->contradicted ? "WRONGLY proven equal"
           : d->by         ? d->by
                           : FATES[d->fate],
           m->kind, m->line, TP_FMT(m->before), TP_FMT(m->after), says, d->says ? "   " : "", d->says ? d->says : "");
}

static void print_counts(const tp_score *s)
{
    uint32_t others = s->planted - s->fates[TP_FATE_EQUAL];
    printf("%u proven equal for all sizes; of the other %u noticed %u (%.2f %%), not told apart on wider "
           "runs %u, open %u, survive %u; allclose(rtol=1e-2, atol=1e-2) notices %u (%.2f %%)\n",
           s->fates[TP_FATE_EQUAL], others, s->fates[TP_FATE_NOTICED], percent(s, s->fates[TP_FATE_NOTICED]),
           s->fates[TP_FATE_NOT_APART], s->fates[TP_FATE_OPEN], s->fates[TP_FATE_SURVIVES], s->loose,
           percent(s, s->loose));
}

void tp_score_print(const tp_score *s, uint32_t kinds)
{
    printf("  %u defects of %u kinds planted (%u more are no valid specs): ", s->planted, kinds, s->invalid);
    print_counts(s);
}

void tp_score_print_total(const tp_score *s)
{
    printf("%u specs, %u defects planted (%u more are no valid specs): ", s->specs, s->planted, s->invalid);
    print_counts(s);
}

/* ---- JSON ---- */

static const char *const KEYS[] = {[TP_FATE_NOTICED] = "noticed",
                                   [TP_FATE_EQUAL] = "proven_equal",
                                   [TP_FATE_NOT_APART] = "not_told_apart",
                                   [TP_FATE_OPEN] = "open",
                                   [TP_FATE_SURVIVES] = "survives"};

static void put(struct json_object *o, const char *key, int64_t n)
{
    json_object_object_add(o, key, json_object_new_int64(n));
}

struct json_object *tp_score_json_defect(const tp_defect *d)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "kind", json_object_new_string(d->mutation->kind));
    put(o, "line", d->mutation->line);
    json_object_object_add(o, "before", tp_jsonc_string(d->mutation->before));
    json_object_object_add(o, "after", tp_jsonc_string(d->mutation->after));
    json_object_object_add(o, "outcome", json_object_new_string(KEYS[d->fate]));
    json_object_object_add(o, "by", d->by ? json_object_new_string(d->by) : NULL);
    json_object_object_add(o, "says", d->says ? tp_jsonc_string(tp_str_c(d->says)) : NULL);
    put(o, "wider_runs", d->runs);
    json_object_object_add(o, "bounded", json_object_new_boolean(d->bounded));
    json_object_object_add(o, "allclose", json_object_new_boolean(d->loose));
    json_object_object_add(o, "contradicted", json_object_new_boolean(d->contradicted));
    return o;
}

struct json_object *tp_score_json(const tp_score *s)
{
    struct json_object *o = json_object_new_object();
    put(o, "specs", s->specs);
    put(o, "planted", s->planted);
    put(o, "invalid", s->invalid);
    for (int f = 0; f < TP_FATES; f++)
        put(o, KEYS[f], s->fates[f]);
    put(o, "allclose", s->loose);
    put(o, "contradicted", s->contradicted);
    return o;
}
