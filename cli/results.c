#define _GNU_SOURCE
#include "cli/results.h"

#include <elf.h>
#include <link.h>

#include "base/budget.h"
#include "base/digest.h"
#include "base/jsonc.h"
#include "cli/signature.h"
#include "smt/cache.h"

typedef struct json_object json;

struct tp_results {
    tp_signing_key *key;
    tp_str program; /* which one: its version and the linker's digest of it */
};

/* ---- whose results ---- */

static int first_note(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + h->p_vaddr), *end = at + h->p_memsz;
        while (h->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *n = (const void *)at;
            const char *name = at + sizeof *n, *text = name + (n->n_namesz + 3u) / 4 * 4;
            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
                *(tp_str *)into = (tp_str){text, n->n_descsz};
            at = text + (n->n_descsz + 3u) / 4 * 4;
        }
    }
    return 1; /* the program comes first */
}

/* Empty: nobody can say which program it is. */
static tp_str program(tp_arena *a)
{
    tp_str id = {NULL, 0};
    dl_iterate_phdr(first_note, &id);
    return id.n ? tp_printf(a, TP_VERSION " %.*s", TP_FMT(tp_sha256(a, id))) : id;
}

bool tp_results_begin(tp_cli *c, tp_check_run *run)
{
    if (!c->cache.len)
        return tp_usage_error("--cache-key needs --cache FILE"), false;
    tp_signing_key *key = tp_signing_key_read(c, "cache-key", tp_cstr(c->arena, tp_option(&c->cache_key, "")));
    if (!key)
        return false;
    tp_results *r = TP_NEW(c->arena, tp_results);
    *r = (tp_results){key, program(c->arena)};
    bool more = c->fix.len || c->diff.len || c->certificates.len || c->emit_smt2.len || c->dump.len || run->s.execute;
    if (r->program.n && !more)
        run->results = r;
    else
        tp_signing_key_free(key);
    return true;
}

void tp_results_end(tp_check_run *run)
{
    if (run->results)
        tp_signing_key_free(run->results->key);
    run->results = NULL;
}

/* Everything that decides what the report of the job says. */
static tp_str key_of(const tp_check_run *run, const tp_job *j)
{
    const tp_check_settings *s = &run->s;
    const tp_prover_options *o = &s->analysis.prover;
    tp_buf b = {.arena = j->arena};
    tp_buf_printf(&b, "result 1\n%.*s\n%.*s\n%.*s\n%.*s\n", TP_FMT(run->results->program), TP_FMT(j->report.sha256),
                  TP_FMT(j->source.kernel_file), TP_FMT(s->target));
    tp_buf_printf(&b, "%llu %d %s %d %lld %lld %zu\n", (unsigned long long)o->rlimit, o->no_z3,
                  o->second ? o->second : "", s->unsafe_fixes, (long long)s->timeout, (long long)s->memory_mib,
                  s->max_memory);
    for (size_t i = 0; i < s->analysis.nonly; i++)
        tp_buf_printf(&b, "%s ", s->analysis.only[i]->code);
    return tp_sha256(j->arena, tp_buf_view(&b));
}

/* ---- findings as JSON: lists, whose order is that of the fields ---- */

static void add(json *list, json *v)
{
    json_object_array_add(list, v);
}

/* Many are empty: 0 is shorter than "". */
static void add_text(json *list, tp_str s)
{
    add(list, s.n ? tp_jsonc_string(s) : json_object_new_int(0));
}

static void add_number(json *list, int64_t v)
{
    add(list, json_object_new_int64(v));
}

static json *list_of(const tp_binding *at, uint32_t n)
{
    json *list = json_object_new_array();
    for (uint32_t i = 0; i < n; i++) {
        add_text(list, at[i].name);
        add_number(list, at[i].value);
    }
    return list;
}

static json *witness_json(const tp_witness *w)
{
    if (!w)
        return NULL;
    json *o = json_object_new_array();
    add(o, list_of(w->sizes.at, w->sizes.len));
    add(o, list_of(w->step.at, w->step.len));
    add(o, list_of(w->tables.at, w->tables.len));
    add_text(o, w->contents);
    add_text(o, w->dtypes);
    add_number(o, strcmp(w->replay, "executed") == 0);
    add_text(o, w->detail);
    return o;
}

static json *fix_json(const tp_fix *f)
{
    if (!f)
        return NULL;
    json *o = json_object_new_array();
    add_text(o, f->title);
    add_text(o, f->requires);
    for (uint32_t i = 0; i < f->edits.len; i++) {
        add_number(o, f->edits.at[i].start);
        add_number(o, f->edits.at[i].end);
        add_text(o, f->edits.at[i].text);
    }
    return o;
}

static json *finding_json(const tp_finding *f)
{
    json *o = json_object_new_array();
    const tp_str texts[] = {f->subject, f->loc.pointer, f->message,    f->label,    f->reason,
                            f->note,    f->help,        f->holds_when, f->rests_on, f->suppress_reason};
    const int64_t numbers[] = {f->verdict, f->grade, f->severity, f->loc.start, f->loc.end, f->suppressed, f->follows};
    add_text(o, tp_str_c(f->rule));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_number(o, numbers[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_text(o, texts[i]);
    add(o, witness_json(f->witness));
    add(o, fix_json(f->fix));
    for (size_t n = json_object_array_length(o); n-- > 0;) { /* what is empty at the end is left out */
        json *last = json_object_array_get_idx(o, n);
        if (last && !(json_object_is_type(last, json_type_int) && n > sizeof numbers / sizeof *numbers))
            break;
        json_object_array_del_idx(o, n, 1);
    }
    return o;
}

static json *report_json(const tp_spec_report *r)
{
    json *o = json_object_new_array(), *findings = json_object_new_array(), *memory = json_object_new_array(),
         *stats = json_object_new_array();
    const uint32_t counts[] = {r->stats.obligations, r->stats.certified,  r->stats.searched, r->stats.linear,
                               r->stats.raw,         r->stats.enumerated, r->stats.unknown,  r->stats.rejected};
    for (uint32_t i = 0; i < r->findings.len; i++)
        add(findings, finding_json(&r->findings.at[i]));
    add_number(memory, r->vmem.bytes);
    add_number(memory, r->vmem.limit);
    add_text(memory, r->vmem.dtypes);
    for (uint32_t i = 0; i < r->vmem.rows.len; i++) {
        const tp_memory_row *row = &r->vmem.rows.at[i];
        add_text(memory, row->name);
        add_number(memory, row->buffers);
        add_number(memory, row->data_bytes);
        add_number(memory, row->padded_bytes);
        add_number(memory, row->bytes);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        add_number(stats, counts[i]);
    add(o, findings);
    add(o, memory);
    add(o, stats);
    return o;
}

/* ---- and back: sealed by us, so of our own making, and read with care all the same ---- */

typedef struct reader {
    tp_arena *arena;
    json *list;
    size_t at;
    bool failed;
} reader;

static reader reader_of(reader *parent, json *list)
{
    parent->failed |= !json_object_is_type(list, json_type_array);
    return (reader){.arena = parent->arena, .list = list, .failed = parent->failed};
}

static bool more(const reader *r)
{
    return !r->failed && r->at < json_object_array_length(r->list);
}

static json *next(reader *r)
{
    r->failed |= !more(r);
    return r->failed ? NULL : json_object_array_get_idx(r->list, r->at++);
}

static int64_t next_number(reader *r)
{
    json *v = next(r);
    r->failed |= !json_object_is_type(v, json_type_int);
    return r->failed ? 0 : json_object_get_int64(v);
}

static tp_str next_text(reader *r)
{
    json *v = more(r) ? next(r) : NULL;
    bool empty = !v || json_object_is_type(v, json_type_int);
    r->failed |= !empty && !json_object_is_type(v, json_type_string);
    return r->failed || empty ? (tp_str){NULL, 0}
                              : tp_printf(r->arena, "%.*s", json_object_get_string_len(v), json_object_get_string(v));
}

static tp_witness *read_witness(reader *parent, json *from)
{
    if (!from)
        return NULL;
    reader r = reader_of(parent, from);
    tp_witness *w = TP_NEW(r.arena, tp_witness);
    for (int part = 0; part < 3; part++) {
        reader list = reader_of(&r, next(&r));
        while (more(&list)) {
            tp_binding b = {.name = next_text(&list)};
            b.value = next_number(&list);
            if (part == 0)
                tp_push(r.arena, w->sizes, b);
            else if (part == 1)
                tp_push(r.arena, w->step, b);
            else
                tp_push(r.arena, w->tables, b);
        }
        r.failed |= list.failed;
    }
    w->contents = next_text(&r);
    w->dtypes = next_text(&r);
    w->replay = next_number(&r) ? "executed" : "arithmetic";
    w->detail = next_text(&r);
    parent->failed |= r.failed;
    return w;
}

static const tp_fix *read_fix(reader *parent, json *from)
{
    if (!from)
        return NULL;
    reader r = reader_of(parent, from);
    tp_fix *f = TP_NEW(r.arena, tp_fix);
    f->title = next_text(&r);
    f->requires = next_text(&r);
    while (more(&r)) {
        tp_edit e = {.start = (uint32_t)next_number(&r)};
        e.end = (uint32_t)next_number(&r);
        e.text = next_text(&r);
        tp_push(r.arena, f->edits, e);
    }
    parent->failed |= r.failed;
    return f;
}

static bool read_rule(tp_str code, tp_finding *f)
{
    const tp_rule *rule = tp_rule_find(code);
    const tp_code *other = rule ? NULL : tp_code_find(code);
    f->rule = rule ? rule->code : other ? other->code : NULL;
    f->slug = rule ? rule->slug : other ? other->slug : NULL;
    return f->rule != NULL;
}

static tp_finding read_finding(reader *parent, json *from)
{
    reader r = reader_of(parent, from);
    tp_finding f = {.rule = NULL};
    int64_t numbers[7] = {0};
    tp_str *const texts[] = {&f.subject, &f.loc.pointer, &f.message,    &f.label,    &f.reason,
                             &f.note,    &f.help,        &f.holds_when, &f.rests_on, &f.suppress_reason};
    r.failed |= !read_rule(next_text(&r), &f);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = next_number(&r);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = next_text(&r);
    r.failed |= numbers[0] < 0 || numbers[0] >= TP_VERDICTS || numbers[1] < 0 || numbers[1] > TP_GRADE_CVC5 ||
                numbers[2] < 0 || numbers[2] > TP_ERROR;
    f.verdict = r.failed ? TP_UNKNOWN : (tp_verdict)numbers[0];
    f.grade = r.failed ? TP_GRADE_NONE : (tp_grade)numbers[1];
    f.severity = r.failed ? TP_ERROR : (tp_severity)numbers[2];
    f.loc.start = (uint32_t)numbers[3];
    f.loc.end = (uint32_t)numbers[4];
    f.suppressed = numbers[5] != 0;
    f.follows = numbers[6] != 0;
    f.witness = read_witness(&r, more(&r) ? next(&r) : NULL);
    f.fix = read_fix(&r, more(&r) ? next(&r) : NULL);
    parent->failed |= r.failed;
    return f;
}

static bool read_report(tp_arena *a, json *from, tp_spec_report *into)
{
    reader r = reader_of(&(reader){.arena = a}, from);
    reader findings = reader_of(&r, next(&r)), memory = reader_of(&r, next(&r)), stats = reader_of(&r, next(&r));
    tp_findings list = {0};
    tp_memory_table vmem = {.bytes = next_number(&memory)};
    uint32_t *const counts[] = {&into->stats.obligations, &into->stats.certified, &into->stats.searched,
                                &into->stats.linear,      &into->stats.raw,       &into->stats.enumerated,
                                &into->stats.unknown,     &into->stats.rejected};
    while (more(&findings))
        tp_push(a, list, read_finding(&findings, next(&findings)));
    vmem.limit = next_number(&memory);
    vmem.dtypes = next_text(&memory);
    while (more(&memory)) {
        tp_memory_row row = {.name = next_text(&memory)};
        row.buffers = (int)next_number(&memory);
        row.data_bytes = next_number(&memory);
        row.padded_bytes = next_number(&memory);
        row.bytes = next_number(&memory);
        tp_push(a, vmem.rows, row);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = (uint32_t)next_number(&stats);
    if (r.failed || findings.failed || memory.failed || stats.failed) {
        into->stats = (tp_prover_stats){.obligations = 0};
        return false;
    }
    into->findings = list;
    into->vmem = vmem;
    return true;
}

/* ---- sealed ---- */

static tp_str sealed_text(tp_arena *a, tp_str key, tp_str text)
{
    return tp_printf(a, "tileproof result %.*s %.*s", TP_FMT(key), TP_FMT(text));
}

bool tp_result_find(const tp_check_run *run, tp_job *j)
{
    tp_str key = key_of(run, j), note = tp_cache_note(run->cache, key);
    if (note.n <= TP_SEAL_DIGITS)
        return false;
    tp_str seal = {note.p, TP_SEAL_DIGITS}, text = {note.p + TP_SEAL_DIGITS, note.n - TP_SEAL_DIGITS};
    bool ours = tp_seal_holds(j->arena, run->results->key, sealed_text(j->arena, key, text), seal);
    json *from = ours ? json_tokener_parse(tp_cstr(j->arena, text)) : NULL;
    bool found = from && read_report(j->arena, from, &j->report);
    json_object_put(from);
    tp_cache_count_note(run->cache, found);
    return found;
}

void tp_result_keep(const tp_check_run *run, tp_job *j)
{
    const tp_spec_report *r = &j->report;
    const tp_budget *b = tp_arena_budget(j->arena);
    bool whole = r->valid && !r->internal_error && !r->out_of_memory && !r->stats.disagreement.n && !(b && b->unsteady);
    for (uint32_t i = 0; i < r->findings.len; i++)
        whole &= !tp_is_internal(&r->findings.at[i]);
    if (!whole)
        return;
    json *o = report_json(r);
    tp_str key = key_of(run, j), text = tp_jsonc_text(j->arena, o, TP_JSONC_PLAIN),
           seal = tp_seal(j->arena, run->results->key, sealed_text(j->arena, key, text));
    json_object_put(o);
    if (seal.n)
        tp_cache_add_note(run->cache, key, tp_printf(j->arena, "%.*s%.*s", TP_FMT(seal), TP_FMT(text)));
}
