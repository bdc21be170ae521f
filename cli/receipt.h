/* Receipts of verified kernels: writing them, and running by them. */
#ifndef TP_CLI_RECEIPT_H
#define TP_CLI_RECEIPT_H

#include "cli/check.h"
#include "kernels/receipt.h"

/* tp_spec_digest() of a valid job. */
tp_str tp_job_digest(tp_cli *c, tp_job *j);
/* Can this run end in a receipt? False after a message. */
bool tp_receipt_possible(const tp_cli *c);
/* Write it, signed where --sign is given, or say why there is none: an exit code. */
int tp_receipt_write(tp_cli *c, const char *path, const tp_check_run *run);
/* Read a receipt, hold its signature against the keys of --trust, where that is given, and hold it against the spec of
 * a loaded job; an exit code, not 0 after a message. *by: who signed it, as that file names them; empty without
 * --trust. */
int tp_receipt_accept(tp_cli *c, const char *path, tp_job *j, tp_receipt *out, tp_str *by);

#endif
