/* Parts of the HTML page, which has no scripts and asks no network. Text from specs goes through tp_html_put(),
 * tp_html_content() and tp_html_prose() only. */
#ifndef TP_PAGE_H
#define TP_PAGE_H

#include "report/report.h"
#include "report/usual.h"

typedef struct tp_page {
    const tp_report *r;
    tp_arena *a;
    FILE *out;
    uint32_t spec; /* number of the one at hand */
} tp_page;

void tp_html_raw(const tp_page *p, const char *text);
/* Text as text, in attributes, too. */
void tp_html_put(const tp_page *p, tp_str s);
/* Between tags only: the quotes of much text are as short as they are. */
void tp_html_content(const tp_page *p, tp_str s);
/* A name, which may end a line behind each "_". */
void tp_html_breakable(const tp_page *p, tp_str s);
/* Text with `code` in backticks. */
void tp_html_prose(const tp_page *p, tp_str s);
/* The class of what carries a verdict, and its word: "ok", "bad", "open", "note". */
const char *tp_html_class(const tp_finding *f);
/* The anchor of a finding: "f0-12". */
tp_str tp_html_anchor(const tp_page *p, const tp_spec_report *s, const tp_finding *f);

/* style.c: the sheet in parts, NULL behind them, and the patterns that pictures fill with. */
extern const char *const tp_page_style[], tp_page_patterns[];
/* findings.c: what is to be acted on; source.c: the spec with them in its margin. */
void tp_html_findings(const tp_page *p, const tp_spec_report *s);
void tp_html_source(const tp_page *p, const tp_spec_report *s);
/* verdicts.c: rules by what they speak of; how many of each were decided. */
void tp_html_verdicts(const tp_page *p, const tp_spec_report *s);
void tp_html_rules(const tp_page *p, const tp_spec_report *s);
/* pictures.c: blocks by first visit, copies of the pipeline, VMEM. */
void tp_html_maps(const tp_page *p, const tp_spec_report *s);
void tp_html_pipeline(const tp_page *p, const tp_spec_report *s);
void tp_html_vmem(const tp_page *p, const tp_spec_report *s);
/* lanes.c: devices side by side, with copies on their way and semaphores. */
void tp_html_lanes(const tp_page *p, const tp_spec_report *s);
/* failing.c: of a finding, what its smallest case does up to the moment that breaks the rule. */
void tp_html_failing(const tp_page *p, const tp_spec_report *s, const tp_finding *f);
/* memory.c: which buffers are busy in which steps. */
void tp_html_memory(const tp_page *p, const tp_spec_report *s);
/* cost.c: what it moves and computes at usual sizes, and a roofline. */
void tp_html_cost(const tp_page *p, const tp_spec_report *s, const tp_usual_cost *c);
/* rules.c: the code of a rule, with a link to what tp_html_about() says of it; the rules of used[], in the order of
 * tp_rules(). */
void tp_html_code(const tp_page *p, const char *code);
void tp_html_about(const tp_page *p, const bool *used);
/* equivalence.c: what was compared with the reference; errors.c: how far apart. */
void tp_html_equivalence(const tp_page *p, const tp_spec_report *s);
void tp_html_errors(const tp_page *p, const tp_output_diff *d);

#endif
