/* The run record: everything that the formats print. Renderers read it and
 * add nothing; the same record gives the same bytes.
 */
#ifndef TP_REPORT_H
#define TP_REPORT_H

#include <stdio.h>

#include "analyzer/analyze.h"
#include "analyzer/equality/equality.h"
#include "base/version.h"
#include "kernels/trial/equiv.h"

enum { TP_REPORT_SCHEMA = 1 };

typedef enum tp_unknown_policy { TP_UNKNOWN_WARN, TP_UNKNOWN_FAIL, TP_UNKNOWN_IGNORE } tp_unknown_policy;
/* From which findings on a run fails; what is undecided counts as its policy says. */
typedef enum tp_fail_level { TP_FAIL_ON_ERROR, TP_FAIL_ON_WARNING, TP_FAIL_NEVER } tp_fail_level;

/* What single elements at far sizes say about a proof of equality (verify/opinion.h). */
typedef struct tp_opinion {
    bool asked;
    uint32_t equal, different;
    uint32_t close;       /* constants have no exact residues, and the numbers do not differ */
    uint32_t unsure;      /* residues differ or are none, and the numbers confirm nothing */
    uint32_t not_reached; /* within the budget */
    uint64_t seed;
    tp_str reached;            /* the largest sizes of elements that are equal: "M=4097, K=39937" */
    tp_str far;                /* the first few that were not reached: "K = 65537: it takes more than …; …" */
    TP_VEC(tp_str) places;     /* more of them */
    uint32_t left_out;         /* places that were not tried, beyond the limit on their number */
    tp_str left_out_at;        /* the first of them */
    uint32_t numbers_left_out; /* constants around which none were looked for */
    tp_str element;            /* the one that differs, else the first unsure one: "o[3, 17]" */
    /* of the one that differs: */
    const tp_kernel *kernel;
    int64_t *env;
    uint32_t output;
    int64_t at[TP_MAX_RANK];
    tp_str got, want;
} tp_opinion;

typedef struct tp_counts tp_counts;
typedef struct tp_spec_report {
    const tp_source *source; /* its path is UTF-8 */
    tp_str name, sha256;
    bool valid;          /* false: findings are errors of the spec itself */
    const tp_spec *spec; /* NULL when invalid */
    tp_findings findings;
    tp_memory_table vmem;  /* limit 0: not computed */
    const tp_equiv *equiv; /* NULL: not executed */
    tp_equality equality;  /* for all sizes; with equiv */
    tp_opinion opinion;    /* on it, when it was proven */
    tp_prover_stats stats;
    bool internal_error, out_of_memory;
    double ms, cpu_ms; /* by the clock; of this spec's thread and its children */
    struct {
        double rules, e1, e2, e3, e4, e5, opinion;
    } tier_ms;     /* of cpu_ms: what is left is reading, cases and fixes */
    int64_t units; /* of work (base/budget.h), and how many it was allowed; 0: any number */
    int64_t most_units;
    size_t memory;            /* bytes of its arenas, at most at once */
    const tp_counts *counted; /* what tp_count() says, once the findings are gone; else NULL */
} tp_spec_report;

/* The specs of a report among those of a run in several shards; of 0: there is one. */
typedef struct tp_shard {
    uint32_t index, of;  /* from 1 */
    uint32_t specs;      /* of all shards */
    uint32_t *positions; /* per spec of this report, from 0 */
} tp_shard;

typedef struct tp_report {
    tp_arena *arena; /* for what the formats make; running out leaves through it */
    TP_VEC(tp_spec_report) specs;
    tp_shard shard;
    uint32_t interrupted; /* not 0: so many specs were given, and the report is of those that were done */
    bool color, quiet, verbose;
    tp_str sweep_page; /* that the page links to: a path from there; empty: none */
    tp_unknown_policy unknown;
    tp_fail_level fail_on;
} tp_report;

struct tp_counts {
    uint32_t proven, violated, unknown, vacuous, assumed, suppressed, tested, advice;
    uint32_t stale; /* entries of "allow" that suppress nothing: no rule is violated there */
};
tp_counts tp_count(const tp_spec_report *s);
/* Valid, and nothing in it is violated, vacuous, undecided or stale. */
bool tp_is_clean(const tp_spec_report *s);
/* Violated, vacuous or undecided; suppressed ones, too. */
bool tp_is_open(const tp_finding *f);
/* Open, and nobody allowed it. */
bool tp_is_standing(const tp_finding *f);
/* A statement on this program, not on the kernel: nothing allows it, no baseline hides it. */
bool tp_is_internal(const tp_finding *f);
/* Exit code that the record calls for; see docs/REPORTS.md. */
int tp_report_exit_code(const tp_report *r);

/* A format: one file of report/formats, one descriptor named after it. */
typedef struct tp_writing tp_writing; /* writing.h */
typedef struct tp_format {
    const char *name, *summary;
    /* Called for each spec in turn, to write parts of the report; `a` is its own. */
    void (*spec)(tp_writing *w, const tp_spec_report *s, tp_arena *a);
    /* Puts the parts together. Of the specs of `r`, counts, names and paths are there; NULL: part 0 is the report. */
    void (*end)(tp_writing *w, const tp_report *r, FILE *out);
} tp_format;
/* A report of the specs that r has. False: not all of it was written. */
bool tp_write_report(const tp_format *f, const tp_report *r, FILE *out);
/* The same for specs that come one by one, and need not stay: `alone`: there will be one. `r` stays, and so does the
 * arena, which is used between the calls. A format without an end writes to `out` at once where that is not NULL. */
void tp_writing_begin(tp_writing **into, tp_arena *a, const tp_format *f, const tp_report *r, bool alone, FILE *out);
void tp_writing_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a);
bool tp_writing_end(tp_writing *w, const tp_report *r, FILE *out);
const tp_format *tp_format_find(tp_str name);
extern const tp_format tp_format_json; /* others embed it */
const tp_format *const *tp_formats(size_t *n);

/* shown.c: what renderers for CI systems share. */

/* Is it something to act on or to know? Not a proof, not suppressed, no unknown that is to be ignored. */
bool tp_is_shown(const tp_report *r, const tp_finding *f);
/* How grave it is for this run: an unknown that fails it is an error. */
tp_severity tp_shown_severity(const tp_report *r, const tp_finding *f);
typedef struct tp_shown_finding {
    const tp_spec_report *spec;
    const tp_finding *finding;
    tp_severity severity;
} tp_shown_finding;
/* Those of the spec, in the arena: what is violated, what follows from that, what is undecided, advice; each in order.
 * Reports begin with the worst: a part for each severity. */
const tp_shown_finding *tp_shown_findings(tp_arena *a, const tp_report *r, const tp_spec_report *s, uint32_t *n);
/* Its help and its precondition, where its fix does not say the same; what its fix does and how it was tried (empty:
 * none). Together each thing is said once. */
tp_str tp_shown_help(const tp_finding *f);
tp_str tp_shown_precondition(tp_arena *a, const tp_finding *f);
tp_str tp_shown_fix(tp_arena *a, const tp_finding *f);
/* The whole finding in lines of text: message, case, note, help. Nothing in it can steer a terminal. */
tp_str tp_finding_story(tp_arena *a, const tp_finding *f);
/* The part of a finding's line around its place, whole characters in at most `width` bytes. */
typedef struct tp_excerpt {
    tp_str text;
    size_t start, end;   /* of the place, in it */
    bool before, behind; /* something of the line is left out there */
} tp_excerpt;
tp_excerpt tp_excerpt_of(const tp_source *s, const tp_finding *f, size_t width);
/* Is the byte there one of a character that begins before it? Text is cut elsewhere. */
bool tp_inside_character(tp_str text, size_t at);
/* place.c: where a finding is, by names that survive edits elsewhere:
 * "/inputs/x/index_map/0", "/kernel/acc[...] = 0". */
tp_str tp_place(tp_arena *a, const tp_spec_report *s, const tp_finding *f);
/* 32 hex digits that stay while rule, kernel and named place do. */
tp_str tp_fingerprint(tp_arena *a, const tp_spec_report *s, const tp_finding *f);
const char *tp_rule_title(const tp_finding *f);
/* What every claim of the report speaks of: "1 <= M <= 2^30, 1 <= K <= 4096,
 * T=bfloat16 or T=float32". Fact F1 is named where a finding cites it; the
 * others hold without it. */
tp_str tp_domain_text(tp_arena *a, const tp_spec_report *s);
/* Sizes in it of which the claims are empty: "no tables can be at N = 1: …"; mostly empty. */
tp_str tp_domain_but(const tp_spec_report *s);
struct json_object;
/* json.c: a finding as an object of the JSON report. */
struct json_object *tp_finding_json(const tp_source *source, const tp_finding *f);
/* sarif.c: `full`: everything that was decided, for archives; else what code scanning shows. */
void tp_sarif_spec(tp_writing *w, const tp_spec_report *s, bool full, tp_arena *a);
void tp_sarif_end(tp_writing *w, bool full, FILE *out);

/* Text helpers of the renderers. */
/* "all 27 of a box", "8 of the 20 of a box"; "" where no shape of it was equal. */
tp_str tp_box_share_text(tp_arena *a, const tp_equiv *e);
tp_str tp_opinion_text(tp_arena *a, const tp_opinion *o); /* "159 equal at sizes up to …" */
tp_str tp_witness_text(tp_arena *a, const tp_witness *w); /* "M = 129, i = 1" */
tp_str tp_case_text(tp_arena *a, const tp_case *c);
tp_str tp_case_phrase(tp_arena *a, const tp_case *c); /* "case N = 3", "the only case" */

#endif
