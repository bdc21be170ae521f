#define _GNU_SOURCE /* memmem */
#include <stdio.h>

#include "base/file.h"
#include "cli/receipt.h"
#include "smt/trust/certificates.h"

typedef struct line_call {
    tp_ctx ctx;
    tp_source source;
    bool header;
    tp_certificate certificate;
} line_call;

typedef struct tally {
    uint32_t accepted, refused, missing;
} tally;

static void read_line(void *arg)
{
    line_call *l = arg;
    if (l->header)
        tp_certificates_read_header(&l->ctx);
    else
        l->certificate = tp_certificate_read(&l->ctx);
}

static tp_str shown(tp_arena *a, const char *s)
{
    return tp_visible(a, tp_str_c(s));
}

static void check(tp_cli *c, tp_arena *a, tp_str path, uint32_t number, const tp_certificate *k, tally *t)
{
    tp_str why = TP_S("");
    tp_buf text = {.arena = a};
    if (!k->proof) {
        t->missing++;
        return;
    }
    bool ok = tp_check_proof(a, k->exprs, &k->obligation, k->proof, &why, c->explain.len ? &text : NULL);
    t->accepted += ok;
    t->refused += !ok;
    if (c->explain.len || !ok)
        printf("%.*s:%u: %.*s %.*s: %s%.*s\n", TP_FMT(path), number, TP_FMT(tp_visible(a, k->spec)),
               TP_FMT(shown(a, k->obligation.name)), ok ? "accepted" : "refused: ", TP_FMT(why));
    if (c->explain.len) {
        for (uint32_t i = 0; i < k->obligation.npremises; i++)
            printf("  given %.*s\n", TP_FMT(tp_expr_text(k->exprs, k->obligation.premises[i])));
        printf("  claim %.*s\n%.*s", TP_FMT(tp_expr_text(k->exprs, k->obligation.goal)), TP_FMT(tp_buf_view(&text)));
    }
}

/* False after a message. */
static bool check_line(tp_cli *c, tp_str path, uint32_t number, tp_str text, tally *t)
{
    tp_arena *a = tp_arena_new((size_t)1 << 30);
    if (!a)
        tp_leave(c->arena, TP_E_MEMORY);
    line_call l = {.source = {path, text}, .header = number == 1};
    l.ctx = (tp_ctx){.arena = a, .source = &l.source};
    tp_status st = text.n > TP_JSON_MAX_BYTES ? TP_E_MEMORY : tp_try(a, read_line, &l);
    if (st == TP_E_INPUT) {
        const tp_finding *f = &l.ctx.findings.at[0];
        fprintf(stderr, "tileproof: %.*s:%u:%u: %.*s%s%.*s\n", TP_FMT(path), number,
                tp_linecol_of(&l.source, f->loc.start).column, TP_FMT(f->message), f->help.n ? "; " : "",
                TP_FMT(f->help));
    } else if (st != TP_OK) {
        fprintf(stderr, "tileproof: %.*s:%u: the line is too large\n", TP_FMT(path), number);
    } else if (number > 1) {
        check(c, a, path, number, &l.certificate, t);
    }
    tp_arena_free(a);
    return st == TP_OK;
}

static int check_file(tp_cli *c, tp_str path)
{
    tp_str text, why;
    tally t = {0};
    uint32_t number = 0;
    bool good = true;
    if (tp_map_file(c->arena, tp_cstr(c->arena, path), &text, &why) != TP_OK) {
        fprintf(stderr, "tileproof: %.*s\n", TP_FMT(why));
        return TP_EXIT_INPUT;
    }
    for (size_t from = 0; good && (from < text.n || number == 0);) {
        const char *end = text.n > from ? memchr(text.p + from, '\n', text.n - from) : NULL;
        size_t n = end ? (size_t)(end - text.p) - from : text.n - from;
        good = check_line(c, path, ++number, (tp_str){n ? text.p + from : "", n}, &t);
        from += n + 1;
    }
    if (!good)
        return TP_EXIT_INPUT;
    printf("%.*s: %u certificate%s accepted, %u refused", TP_FMT(path), t.accepted, t.accepted == 1 ? "" : "s",
           t.refused);
    if (t.missing)
        printf("; %u proven obligation%s without one (by the solver, or by evaluating many cases)", t.missing,
               t.missing == 1 ? "" : "s");
    printf("\n");
    return t.refused ? TP_EXIT_VIOLATED : TP_EXIT_OK;
}

/* ---- receipts ---- */

static bool is_receipt(tp_cli *c, tp_str path)
{
    tp_str text, why;
    if (tp_map_file(c->arena, tp_cstr(c->arena, path), &text, &why) != TP_OK)
        return false; /* said when it is read */
    size_t n = text.n < 200 ? text.n : 200;
    bool yes = text.n && memmem(text.p, n, "\"tileproof_receipt\"", 19);
    return yes;
}

/* The receipt still fits the spec, and all of it can be established again: by
 * our own proofs, without a solver, and by executing the cases. */
static int check_receipt(tp_cli *c, tp_str path, tp_str file)
{
    tp_check_settings s;
    tp_receipt receipt;
    tp_job j = {0};
    tp_check_defaults(&s, true);
    if (!tp_use_target(c, &s.target))
        return TP_EXIT_USAGE;
    tp_job_load(c, &j, file, s.target);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (code == TP_EXIT_OK)
        code = tp_receipt_accept(c, tp_cstr(c->arena, path), &j, &receipt);
    if (code == TP_EXIT_OK) {
        tp_job again;
        s.analysis.prover.no_solver = true;
        tp_check_anew(&again, c->arena, j.source, &s, NULL);
        tp_counts n = tp_count(&again.report);
        code = tp_job_exit_code(c, &again, TP_UNKNOWN_WARN);
        printf("%.*s: %s: %u proven again without a solver, %u cases executed again", TP_FMT(path),
               code ? "refused" : "accepted", n.proven, n.tested);
        printf(n.unknown ? "; %u rest on a solver\n" : "\n", n.unknown);
        tp_job_free(&again);
    }
    tp_job_free(&j);
    return code;
}

static int run(tp_cli *c)
{
    int worst = TP_EXIT_OK;
    if (c->paths.len == 0)
        return tp_usage_error("name a file written by: tileproof lint --certificates FILE SPEC");
    if (is_receipt(c, c->paths.at[0])) {
        if (c->paths.len != 2)
            return tp_usage_error("a receipt is rechecked with its spec: tileproof recheck RECEIPT SPEC");
        return check_receipt(c, c->paths.at[0], c->paths.at[1]);
    }
    for (uint32_t i = 0; i < c->paths.len; i++) {
        int code = check_file(c, c->paths.at[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}

const tp_command tp_command_recheck = {"recheck", 'c', "[OPTIONS] CERTIFICATES…, or RECEIPT SPEC",
                                       "check certificates, or a receipt, again, without a solver", run};
