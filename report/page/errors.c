/* How far an output is from the reference: a histogram, and the worst of each block. */
#include <math.h>

#include "base/checked.h"
#include "report/page/page.h"

static void write_histogram(const tp_page *p, const tp_output_diff *d)
{
    enum { BAR = 28, HEIGHT = 60 };
    static const char *const LIMITS[] = {"0", "½", "1", "2", "4", "8", "16", "32", "64", "&gt;"};
    _Static_assert(sizeof LIMITS / sizeof *LIMITS == TP_ULP_BUCKETS, "a name for each bucket");
    uint64_t most = 1;
    for (uint32_t i = 0; i < TP_ULP_BUCKETS; i++)
        most = d->ulps[i] > most ? d->ulps[i] : most;
    fprintf(p->out, "<figure><svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\"><title>Errors of ",
            TP_ULP_BUCKETS * BAR, HEIGHT + 22, TP_ULP_BUCKETS * BAR, HEIGHT + 22);
    tp_html_put(p, d->name);
    tp_html_raw(p, " in units of the last place</title>\n");
    for (uint32_t i = 0; i < TP_ULP_BUCKETS; i++) {
        double h = d->ulps[i] ? 4 + (HEIGHT - 8) * log1p((double)d->ulps[i]) / log1p((double)most) : 0;
        fprintf(p->out,
                "<rect x=\"%u\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"var(--a)\" "
                "fill-opacity=\"0.6\"><title>%llu elements</title></rect><text x=\"%u\" y=\"%d\" "
                "class=\"at\">%s</text>\n",
                i * BAR + 2, HEIGHT - h, BAR - 4, h, (unsigned long long)d->ulps[i], i * BAR + BAR / 2, HEIGHT + 16,
                LIMITS[i]);
    }
    tp_html_raw(p, "</svg><figcaption><code>");
    tp_html_put(p, d->name);
    fprintf(p->out,
            "</code>: elements by error, up to so many units of the last place; at most %.3g; logarithmic "
            "height</figcaption></figure>\n",
            d->max_ulp);
}

static void write_error(const tp_page *p, double ulp, double worst, int64_t x, int64_t y, bool numbers, int width,
                        int height)
{
    double shade = isinf(ulp) ? 0.8 : worst > 0 ? 0.05 + 0.55 * ulp / worst : 0;
    fprintf(p->out,
            "<rect x=\"%lld\" y=\"%lld\" width=\"%d\" height=\"%d\" fill=\"var(--bad)\" fill-opacity=\"%.2f\" "
            "stroke=\"var(--line)\">",
            (long long)x, (long long)y, width - 2, height - 2, shade);
    if (isinf(ulp))
        tp_html_raw(p, "<title>not a finite number</title></rect>");
    else
        fprintf(p->out, "<title>%.3g ULP</title></rect>", ulp);
    if (numbers && isinf(ulp))
        fprintf(p->out, "<text x=\"%lld\" y=\"%lld\" class=\"at\">none</text>", (long long)x + width / 2 - 1,
                (long long)y + height / 2 + 3);
    else if (numbers) /* at most six characters have room */
        fprintf(p->out, "<text x=\"%lld\" y=\"%lld\" class=\"at\">%.*g</text>", (long long)x + width / 2 - 1,
                (long long)y + height / 2 + 3, ulp >= 1e4 || (ulp > 0 && ulp < 1e-3) ? 1 : 2, ulp);
    tp_html_raw(p, "\n");
}

/* The worst error of each block. */
static void write_error_map(const tp_page *p, const tp_output_diff *d)
{
    enum { MOST = 30, WITH_NUMBERS = 6 };
    int64_t columns = d->rank ? d->blocks[d->rank - 1] : 0, rows = 1;
    for (uint32_t i = 0; i + 1 < d->rank && rows <= MOST; i++)
        if (!tp_mul(rows, d->blocks[i], &rows))
            return;
    if (!d->block_ulp || columns < 1 || columns > MOST || rows < 1 || rows > MOST || rows * columns < 2)
        return;
    double worst = 0;
    bool infinite = false;
    for (int64_t i = 0; i < rows * columns; i++)
        if (isinf(d->block_ulp[i]))
            infinite = true;
        else
            worst = d->block_ulp[i] > worst ? d->block_ulp[i] : worst;
    bool numbers = columns <= WITH_NUMBERS;
    int width = numbers ? 52 : 10, height = numbers ? 24 : 10;
    fprintf(p->out,
            "<figure><svg role=\"img\" viewBox=\"0 0 %lld %lld\" width=\"%lld\" height=\"%lld\"><title>Worst error by "
            "block of ",
            (long long)columns * width + 2, (long long)rows * height + 2, (long long)columns * width + 2,
            (long long)rows * height + 2);
    tp_html_put(p, d->name);
    tp_html_raw(p, "</title>\n");
    for (int64_t i = 0; i < rows * columns; i++)
        write_error(p, d->block_ulp[i], worst, i % columns * width + 2, i / columns * height + 2, numbers, width,
                    height);
    tp_html_raw(p, "</svg><figcaption><code>");
    tp_html_put(p, d->name);
    fprintf(p->out,
            "</code>: worst error of each block, in units of the last place; darkest %.3g%s</figcaption></figure>\n",
            worst, infinite ? ", and what is no finite number" : "");
}

void tp_html_errors(const tp_page *p, const tp_output_diff *d)
{
    write_histogram(p, d);
    write_error_map(p, d);
}
