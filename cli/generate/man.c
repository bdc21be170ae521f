/* tileproof(1) in mdoc(7). */
#include "base/version.h"
#include "cli/generate/generate.h"

/* Text of a paragraph: short lines, a new one for each sentence, none of which
 * is a macro, and no backslash an escape. */
static void put(FILE *out, const char *text)
{
    enum { WIDTH = 72 };
    size_t column = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (column && column + n > WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        if (column)
            fputc(' ', out);
        else if (*p == '.' || *p == '\'')
            fputs("\\&", out);
        for (const char *c = p; c < p + n; c++)
            if (*c == '\\')
                fputs("\\e", out);
            else if (*c == '-')
                fputs("\\-", out);
            else if (strncmp(c, "…", strlen("…")) == 0) {
                fputs("...", out);
                c += strlen("…") - 1;
            } else
                fputc(*c, out);
        column += n + 1;
        if (n && p[n - 1] == '.' && p[n]) {
            fputc('\n', out);
            column = 0;
        }
        p += n;
        p += strspn(p, " ");
    }
    fputc('\n', out);
}

static void print_command(FILE *out, const tp_command *cmd)
{
    size_t n;
    const tp_option_row *rows = tp_option_rows(&n);
    bool any = false;
    fprintf(out, ".It Xo\n.Cm %s\n", cmd->name);
    if (*cmd->usage)
        put(out, cmd->usage);
    fprintf(out, ".Xc\n");
    put(out, cmd->summary);
    for (size_t i = 0; i < n; i++)
        any |= tp_option_applies(&rows[i], cmd) && strcmp(rows[i].name, "help") != 0;
    if (!any)
        return;
    fprintf(out, ".Pp\nOptions:\n");
    bool first = true;
    for (size_t i = 0; i < n; i++)
        if (tp_option_applies(&rows[i], cmd) && strcmp(rows[i].name, "help") != 0) {
            fprintf(out, "%s\\fB\\-\\-%s\\fR", first ? "" : ",\n", rows[i].name);
            first = false;
        }
    fprintf(out, ".\n");
}

static void print_option(FILE *out, const tp_option_row *o)
{
    fprintf(out, ".It Fl Fl %s", o->name);
    if (o->metavar)
        fprintf(out, " Ar %s", o->metavar);
    if (o->brief)
        fprintf(out, " , Fl %c", o->brief);
    fprintf(out, "\n");
    put(out, o->help);
    if (strchr(o->commands, 'C'))
        fprintf(out, "May stand in the settings file.\n");
}

void tp_print_man(tp_command_list commands, FILE *out)
{
    size_t m;
    const tp_option_row *rows = tp_option_rows(&m);
    fprintf(
        out,
        ".Dd " TP_RELEASED "\n.Dt TILEPROOF 1\n.Os\n.Sh NAME\n.Nm tileproof\n.Nd verifier for tiled kernel specs\n"
        ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Op Ar arguments\n.Nm\n.Cm help\n.Op Ar command\n.Nm\n.Fl Fl "
        "version\n.Sh DESCRIPTION\n.Nm\n"
        "proves of tiled kernels, for all sizes, that every window meets its\n"
        "array, is legal for the tiling of the chip and fits its memory,\n"
        "and that no undefined value reaches a result.\n"
        "It executes kernels block by block and compares them with naive references.\n.Pp\n"
        "A folder stands for all\n.Pa *.tile.json\nand\n.Pa *.tile.jsonc\nbelow it (those in hidden folders, in\n.Pa "
        "build ,\n.Pa dist ,\n.Pa node_modules\nand in virtual environments only where these are named themselves),\n"
        ".Sq \\-\nfor standard input, a bare name for a kernel of the gallery.\n.Pp\nThe commands are:\n.Bl -tag "
        "-width Ds\n");
    for (size_t i = 0; i < commands.n; i++)
        print_command(out, commands.at[i]);
    fprintf(out, ".El\n.Sh OPTIONS\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < m; i++)
        print_option(out, &rows[i]);
    fprintf(out,
            ".El\n.Sh ENVIRONMENT\nEvery option has a variable: its long name in capitals after\n.Ev TILEPROOF_ ,\n"
            "with underscores for hyphens.\nThe command line comes before the environment,\nthe environment "
            "before the settings file.\n.Bl -tag -width Ds\n.It Ev NO_COLOR\nNo colour unless\n.Fl Fl color Cm always "
            ".\n.El\n"
            ".Sh FILES\n.Bl -tag -width Ds\n.It Pa .tileproof.json\nSettings: the nearest one to the specs, else to "
            "the working folder, up to "
            "the folder that "
            "holds\n.Pa .git .\n.El\n.Sh EXIT STATUS\n.Bl -tag -width Ds\n"
            ".It 0\nNothing at or over the fail level.\n.It 1\nA rule is violated, or a kernel differs from its "
            "reference.\n"
            ".It 2\nUsage or configuration, or a report that cannot be written.\n.It 3\nAn input cannot be read or is "
            "not a valid spec.\n"
            ".It 4\nOnly unknowns.\n.It 5\nInternal error.\n.El\n.Pp\nWhen several apply, the order is 5, 2, 3, 1, 4.\n"
            ".Sh EXAMPLES\n.Dl $ tileproof lint kernels/\n.Dl $ tileproof verify \\-\\-receipt matmul.receipt.json "
            "matmul.tile.json\n"
            ".Dl $ tileproof explain " TP_RULE_BLOCK_OUT_OF_BOUNDS "\n");
}
