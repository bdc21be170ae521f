/* The language server: diagnostics while a spec is typed, what an operand
 * costs when one points at it, fixes as code actions. JSON-RPC over two file
 * descriptors, as the Language Server Protocol 3.17 has it. */
#ifndef TP_LSP_H
#define TP_LSP_H

#include "verify/verify.h"

/* Serve until the client says exit or closes its end, and what it asked before
 * is answered. Each document is checked by a process of its own, which ends
 * when its text changes; `alone`: by this one, which then waits for it (tests).
 * Exit code: 0 after a shutdown, 1 without one, as the protocol asks; 5 when
 * memory ran out. */
int tp_lsp_serve(int in, int out, const tp_check_settings *s, bool alone);

#endif
