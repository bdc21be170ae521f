#define _GNU_SOURCE /* memmem */
#include <stdio.h>

#include "base/file.h"
#include "cli/certificates.h"
#include "cli/receipt.h"
#include "sweep/sweep.h"

typedef struct line_call {
    tp_ctx ctx;
    tp_source source;
    bool header;
    tp_certificate certificate;
} line_call;

/* A file of certificates while it is read. */
typedef struct certificate_file {
    tp_cli *c;
    tp_arena *arena; /* of all lines */
    tp_str path;
    TP_VEC(tp_section_read) sections;
    tp_buf limits; /* what sections name in place of all rules and of the spec's chip */
    uint32_t accepted, refused, missing, derivations, laws, sides;
} certificate_file;

static void read_line(void *arg)
{
    line_call *l = arg;
    if (l->header)
        tp_certificates_read_header(&l->ctx);
    else
        l->certificate = tp_certificate_read(&l->ctx);
}

static void explain(tp_arena *a, const tp_certificate *k, const tp_buf *proof)
{
    const tp_obligation *o = &k->obligation;
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        tp_buf line = {.arena = a};
        tp_buf_printf(&line, "  for all %.*s", TP_FMT(tp_sym_name(k->exprs, x->sym)));
        if (x->choices)
            for (uint32_t n = 0; n < x->nchoices; n++)
                tp_buf_printf(&line, "%s%lld", n ? ", " : " in ", (long long)x->choices[n]);
        else if (x->lo.id || x->hi.id)
            tp_buf_printf(&line, " from %.*s to %.*s", TP_FMT(x->lo.id ? tp_expr_text(k->exprs, x->lo) : TP_S("any")),
                          TP_FMT(x->hi.id ? tp_expr_text(k->exprs, x->hi) : TP_S("any")));
        if (x->multiple_of > 1)
            tp_buf_printf(&line, ", a multiple of %lld", (long long)x->multiple_of);
        printf("%.*s\n", TP_FMT(tp_visible(a, tp_buf_view(&line))));
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        printf("  given %.*s\n", TP_FMT(tp_visible(a, tp_expr_text(k->exprs, o->premises[i]))));
    printf("  claim %.*s\n%.*s", TP_FMT(tp_visible(a, tp_expr_text(k->exprs, o->goal))), TP_FMT(tp_buf_view(proof)));
}

static void refuse(certificate_file *f, uint32_t number, const tp_certificate *k, tp_str why)
{
    f->refused++;
    tp_say(stdout, "%.*s:%u: %.*s %.*s: refused: %.*s", TP_FMT(f->path), number,
           TP_FMT(tp_visible(f->arena, k->entry.spec)), TP_FMT(tp_visible(f->arena, k->entry.obligation)), TP_FMT(why));
}

static bool same_entry(const tp_certificate_entry *a, const tp_certificate_entry *b)
{
    return tp_str_eq(a->spec, b->spec) && tp_str_eq(a->obligation, b->obligation) && tp_str_eq(a->grade, b->grade);
}

static void check_derivation(certificate_file *f, uint32_t number, const tp_certificate *k, tp_arena *work)
{
    tp_replay_result r = tp_replay_derivation(work, k->derivation, true);
    if (!r.ok) {
        refuse(f, number, k, tp_printf(f->arena, "%.*s", TP_FMT(r.why)));
        return;
    }
    f->derivations++;
    f->laws += r.steps;
    f->sides += r.sides;
    f->missing += r.sides - r.proven;
    if (!f->c->explain.len)
        return;
    printf("%.*s:%u: %.*s %.*s: replayed, %u steps, %u side conditions\n", TP_FMT(tp_visible_line(work, f->path)),
           number, TP_FMT(tp_visible(work, k->entry.spec)), TP_FMT(tp_visible(work, k->entry.obligation)), r.steps,
           r.sides);
    for (uint32_t i = 0; i < k->derivation->nsteps; i++) {
        const tp_law_row *law = tp_law_info(k->derivation->steps[i].law);
        printf("  %s: %s\n", law->name, law->statement);
    }
}

/* One obligation: is it the one that has to be here, and does its proof hold? */
static void check(certificate_file *f, uint32_t number, const tp_certificate *k)
{
    tp_section_read *s = f->sections.len ? &f->sections.at[f->sections.len - 1] : NULL;
    tp_str why;
    tp_arena *work = tp_arena_child(f->arena);
    tp_buf text = {.arena = work};
    bool explained = f->c->explain.len > 0;
    if (!s || s->rows.len >= s->about->obligations.len ||
        !same_entry(&k->entry, &s->about->obligations.at[s->rows.len])) {
        refuse(f, number, k, TP_S("it is not what the list of its section has here"));
    } else if (k->derivation) {
        check_derivation(f, number, k, work);
    } else if (!k->proof && tp_str_is(k->entry.grade, "cert")) {
        refuse(f, number, k, TP_S("there is no proof, and the grade is cert"));
    } else if (!k->proof) {
        if (tp_check_claim(work, k->exprs, &k->obligation, &why))
            f->missing++;
        else
            refuse(f, number, k, why);
    } else if (tp_check_proof(work, k->exprs, &k->obligation, k->proof, &why, explained ? &text : NULL)) {
        f->accepted++;
        if (explained) {
            tp_say(stdout, "%.*s:%u: %.*s %.*s: accepted", TP_FMT(f->path), number,
                   TP_FMT(tp_visible(work, k->entry.spec)), TP_FMT(tp_visible(work, k->entry.obligation)));
            explain(work, k, &text);
        }
    } else {
        refuse(f, number, k, tp_printf(f->arena, "%.*s", TP_FMT(why)));
        if (explained)
            explain(work, k, &text);
    }
    if (s)
        tp_push(f->arena, s->rows, *k);
    tp_arena_free(work);
}

/* Is all there that the last section lists? */
static void end_section(certificate_file *f, uint32_t number)
{
    const tp_section_read *s = f->sections.len ? &f->sections.at[f->sections.len - 1] : NULL;
    for (uint32_t i = s ? s->rows.len : 0; s && i < s->about->obligations.len; i++) {
        const tp_certificate lost = {.entry = s->about->obligations.at[i]};
        refuse(f, number, &lost, TP_S("the list of its section has it, and the file does not"));
    }
}

/* False after a message. */
static bool take_line(certificate_file *f, uint32_t number, tp_str text)
{
    line_call l = {.source = {f->path, text}, .header = number == 1};
    l.ctx = (tp_ctx){.arena = f->arena, .source = &l.source};
    tp_status st = text.n > TP_JSON_MAX_BYTES ? TP_E_MEMORY : tp_try(f->arena, read_line, &l);
    if (st == TP_E_INPUT) {
        const tp_finding *e = &l.ctx.findings.at[0];
        tp_say(stderr, "tileproof: %.*s:%u:%u: %.*s%s%.*s", TP_FMT(f->path), number,
               tp_linecol_of(&l.source, e->loc.start).column, TP_FMT(e->message), e->help.n ? "; " : "",
               TP_FMT(e->help));
    } else if (st != TP_OK) {
        tp_say(stderr, "tileproof: %.*s:%u: the line is too large", TP_FMT(f->path), number);
    } else if (number > 1 && l.certificate.section) {
        end_section(f, number);
        tp_push(f->arena, f->sections, ((tp_section_read){.about = l.certificate.section, .line = number}));
    } else if (number > 1) {
        check(f, number, &l.certificate);
    }
    return st == TP_OK;
}

/* Each spec has its section, each section its spec, and they fit. */
static int check_specs(certificate_file *f, const tp_str *specs, uint32_t n)
{
    int worst = TP_EXIT_OK;
    if (n != f->sections.len) {
        tp_say(stdout, "%.*s: refused: it has sections of %u specs, and %u %s given", TP_FMT(f->path), f->sections.len,
               n, n == 1 ? "is" : "are");
        return TP_EXIT_VIOLATED;
    }
    for (uint32_t i = 0; i < n; i++) {
        tp_str limits;
        int code = tp_section_covers(f->c, f->path, &f->sections.at[i], specs[i], &limits);
        worst = tp_worse_exit(worst, code);
        if (limits.n && n > 1)
            tp_buf_printf(&f->limits, ", %.*s%.*s", TP_FMT(f->sections.at[i].about->name), TP_FMT(limits));
        else
            tp_buf_str(&f->limits, limits);
    }
    return worst;
}

static void summarise(const certificate_file *f, bool with_specs, bool covered)
{
    printf("%.*s: %u certificate%s accepted, %u refused", TP_FMT(tp_visible_line(f->arena, f->path)), f->accepted,
           f->accepted == 1 ? "" : "s", f->refused);
    if (f->missing)
        printf("; %u proven obligation%s without one (by the solver, or by evaluating many cases)", f->missing,
               f->missing == 1 ? "" : "s");
    if (f->derivations)
        printf("; %u derivation%s of equality replayed: %u step%s, %u side condition%s", f->derivations,
               f->derivations == 1 ? "" : "s", f->laws, f->laws == 1 ? "" : "s", f->sides, f->sides == 1 ? "" : "s");
    if (covered)
        printf("; they are the obligations of %s%.*s",
               f->sections.len == 1 ? "the spec, all of them" : "the specs, all of them",
               TP_FMT(tp_visible(f->arena, tp_buf_view(&f->limits))));
    printf("\n");
    if (!with_specs)
        printf("only the statements were checked: that they are what the rules ask of a kernel is checked by "
               "tileproof recheck CERTIFICATES SPEC\n");
}

static int check_file(tp_cli *c, tp_str path, const tp_str *specs, uint32_t nspecs)
{
    tp_str text, why;
    certificate_file f = {.c = c, .path = path};
    uint32_t number = 0;
    bool good = true;
    if (tp_map_file(c->arena, tp_cstr(c->arena, path), &text, &why) != TP_OK) {
        tp_say(stderr, "tileproof: cannot read the certificates `%.*s`: %.*s", TP_FMT(path), TP_FMT(why));
        return TP_EXIT_INPUT;
    }
    if (!(f.arena = tp_arena_new((size_t)4 << 30)))
        tp_leave(c->arena, TP_E_MEMORY);
    f.limits.arena = f.arena;
    for (size_t from = 0; good && (from < text.n || number == 0);) {
        const char *end = text.n > from ? memchr(text.p + from, '\n', text.n - from) : NULL;
        size_t n = end ? (size_t)(end - text.p) - from : text.n - from;
        good = take_line(&f, ++number, (tp_str){n ? text.p + from : "", n});
        from += n + 1;
    }
    if (good)
        end_section(&f, number);
    if (good && f.accepted + f.refused + f.missing + f.derivations == 0) {
        tp_say(stderr, "tileproof: %.*s: there is no certificate in it", TP_FMT(path));
        good = false;
    }
    int code = !good ? TP_EXIT_INPUT : f.refused ? TP_EXIT_VIOLATED : TP_EXIT_OK;
    if (code == TP_EXIT_OK && nspecs)
        code = check_specs(&f, specs, nspecs);
    if (good)
        summarise(&f, nspecs > 0, nspecs && code == TP_EXIT_OK);
    tp_arena_free(f.arena);
    return code == TP_EXIT_OK && f.missing ? TP_EXIT_UNKNOWN : code;
}

/* ---- receipts ---- */

static bool starts_with_member(tp_cli *c, tp_str path, const char *member)
{
    tp_str text, why;
    if (tp_map_file(c->arena, tp_cstr(c->arena, path), &text, &why) != TP_OK)
        return false; /* said when it is read */
    size_t n = text.n < 200 ? text.n : 200;
    return text.n && memmem(text.p, n, member, strlen(member));
}

/* The receipt still fits the spec, and all of it can be established again: by
 * our own proofs, without a solver, and by executing the cases. */
static int check_receipt(tp_cli *c, tp_str path, tp_str file)
{
    tp_check_settings s;
    tp_receipt receipt;
    tp_job j = {0};
    tp_str by;
    tp_check_defaults(&s, true);
    if (!tp_use_target(c, &s.target))
        return TP_EXIT_USAGE;
    tp_job_load(c, &j, file, &s);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (code == TP_EXIT_OK)
        code = tp_receipt_accept(c, tp_cstr(c->arena, path), &j, &receipt, &by);
    if (code == TP_EXIT_OK) {
        tp_job again;
        s.analysis.prover.no_solver = true;
        tp_check_anew(&again, c->arena, j.source, &s, NULL);
        tp_counts n = tp_count(&again.report);
        code = tp_job_exit_code(c, &again, TP_UNKNOWN_WARN);
        printf("%.*s: %s: %u proven again without a solver, %u cases executed again",
               TP_FMT(tp_visible_line(c->arena, path)), code ? "refused" : "accepted", n.proven, n.tested);
        printf(n.unknown ? "; %u rest on a solver\n" : "\n", n.unknown);
        tp_job_free(&again);
    }
    tp_job_free(&j);
    return code;
}

/* ---- best shapes of sweeps ---- */

typedef struct optimum_call {
    tp_job *j;
    const tp_check_settings *lint;
    tp_str digest;
    tp_sweep_rechecked found;
} optimum_call;

static void read_optimum(tp_ctx *ctx, void *into)
{
    optimum_call *x = into;
    tp_sweep_recheck(ctx, x->j, x->lint, x->digest, &x->found);
}

static int check_optimum(tp_cli *c, tp_str path, tp_str file)
{
    tp_check_settings s;
    tp_job j = {0};
    optimum_call x = {.j = &j, .lint = &s};
    tp_check_defaults(&s, false);
    tp_job_load(c, &j, file, &s);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (code == TP_EXIT_OK)
        x.digest = tp_job_digest(c, &j);
    if (code == TP_EXIT_OK &&
        !tp_read_own_file(c, "certificate", tp_cstr(c->arena, path), TP_JSON_MAX_BYTES, read_optimum, &x))
        code = TP_EXIT_INPUT;
    const tp_sweep_rechecked *r = &x.found;
    if (code == TP_EXIT_OK && r->refusal.n) {
        tp_say(stdout, "%.*s: refused: %.*s", TP_FMT(path), TP_FMT(r->refusal));
        code = TP_EXIT_VIOLATED;
    } else if (code == TP_EXIT_OK) {
        tp_say(stdout,
               "%.*s: %s: of %u shapes of %.*s none that is legal is faster in the model%s%.*s than %.*s (%.6g us): %u "
               "are as "
               "fast or slower, %u faster ones are forbidden, %u do not have these sizes",
               TP_FMT(path), r->open ? "not refuted" : "accepted", r->shapes, TP_FMT(r->lists),
               r->sizes.n ? " at " : "", TP_FMT(r->sizes), TP_FMT(r->best), r->seconds * 1e6, r->slower, r->forbidden,
               r->outside);
        if (r->open)
            tp_say(stdout, "%.*s: %u of them rest on a solver", TP_FMT(path), r->open);
        code = r->internal_error ? TP_EXIT_INTERNAL : r->open ? TP_EXIT_UNKNOWN : TP_EXIT_OK;
    }
    tp_job_free(&j);
    return code;
}

static int run(tp_cli *c)
{
    int worst = TP_EXIT_OK;
    if (c->paths.len == 0)
        return tp_usage_error("name a file written by: tileproof lint --certificates FILE SPEC");
    if (starts_with_member(c, c->paths.at[0], "\"tileproof_receipt\"")) {
        if (c->paths.len != 2)
            return tp_usage_error("a receipt is rechecked with its spec: tileproof recheck RECEIPT SPEC");
        return check_receipt(c, c->paths.at[0], c->paths.at[1]);
    }
    if (starts_with_member(c, c->paths.at[0], "\"tileproof_optimum\"")) {
        if (c->paths.len != 2)
            return tp_usage_error("the best shape of a sweep is rechecked with its spec: tileproof recheck CERTIFICATE "
                                  "SPEC");
        return check_optimum(c, c->paths.at[0], c->paths.at[1]);
    }
    uint32_t files = 1; /* the first path always is one, or is said not to be */
    while (files < c->paths.len && starts_with_member(c, c->paths.at[files], "\"tileproof_certificates\""))
        files++;
    uint32_t nspecs = c->paths.len - files;
    if (files > 1 && nspecs)
        return tp_usage_error("with specs, recheck takes one file of certificates: tileproof recheck CERTIFICATES "
                              "SPEC...");
    for (uint32_t i = 0; i < files; i++)
        worst = tp_worse_exit(worst, check_file(c, c->paths.at[i], nspecs ? &c->paths.at[files] : NULL, nspecs));
    return worst;
}

const tp_command tp_command_recheck = {
    "recheck", 'c', "[OPTIONS] CERTIFICATES [SPEC…], or RECEIPT SPEC",
    "check certificates, a receipt or the best shape of a sweep again, without a solver", run};
