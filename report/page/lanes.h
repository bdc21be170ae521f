/* Shared by lanes.c, which draws devices side by side, and failing.c, which says of a trap what led to it. */
#ifndef TP_LANES_H
#define TP_LANES_H

#include "report/page/page.h"
#include "report/played.h"

/* The lanes of x with their legend, in pictures side by side. Of many units the first and the last are drawn, of many
 * devices the first ones and those that have part in the trap. */
void tp_html_draw_lanes(const tp_page *p, const tp_played *x);
/* "line 10", as messages count; a statement that nobody wrote has none. */
tp_str tp_html_line_of(const tp_page *p, const tp_statement *s);

#endif
