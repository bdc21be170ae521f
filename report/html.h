/* Parts of the HTML page. Text from specs goes through tp_html_put() only. */
#ifndef TP_HTML_H
#define TP_HTML_H

#include "report/report.h"

typedef struct tp_page {
    const tp_report *r;
    tp_arena *a;
    FILE *out;
} tp_page;

void tp_html_raw(const tp_page *p, const char *text);
/* Text as text. */
void tp_html_put(const tp_page *p, tp_str s);
/* Text with `code` in backticks. */
void tp_html_prose(const tp_page *p, tp_str s);

/* pictures.c: blocks by first visit, copies of the pipeline, VMEM, errors. */
void tp_html_maps(const tp_page *p, const tp_spec_report *s);
void tp_html_lanes(const tp_page *p, const tp_spec_report *s);
void tp_html_vmem(const tp_page *p, const tp_spec_report *s);
void tp_html_errors(const tp_page *p, const tp_output_diff *d);

#endif
