/* Files of certificates: what a run puts into them, and whether they still hold. */
#ifndef TP_CLI_CERTIFICATES_H
#define TP_CLI_CERTIFICATES_H

#include "cli/check.h"
#include "smt/trust/certificates.h"

bool tp_certificates_write(tp_cli *c, const tp_check_run *run);

/* A section of a file, with the lines that follow it. */
typedef struct tp_section_read {
    const tp_certificate_section *about;
    uint32_t line; /* where it starts */
    TP_VEC(tp_certificate) rows;
} tp_section_read;

/* Are these the obligations of the spec, all of them and no others? They are
 * asked for again, of the rules and for the chip that the section names. An
 * exit code, not 0 after a message. *limits: what the section names in place of
 * all rules and of the spec's chip, ", without TP101"; empty where it does not. */
int tp_section_covers(tp_cli *c, tp_str path, const tp_section_read *s, tp_str spec, tp_str *limits);

#endif
