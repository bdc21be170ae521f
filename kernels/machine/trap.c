/* Where a run ends, and what it may take. */
#include "base/assert.h"
#include "base/checked.h"
#include "kernels/machine/internal.h"

void *tp_workspace(tp_machine *m, tp_vid v, size_t bytes)
{
    if (m->workspace_size[v] < bytes) {
        m->workspace[v] = tp_alloc_unset(m->arena, bytes);
        m->workspace_size[v] = bytes;
    }
    return m->workspace[v];
}

void tp_exec_spend(tp_machine *m, int64_t work)
{
    tp_assert(work >= 0);
    m->stats.work += work;
    if (!m->request->max_work || m->stats.work <= m->request->max_work)
        return;
    m->trap->message = tp_printf(m->arena, "it takes more than %lld operations", (long long)m->request->max_work);
    m->trap->step = m->step;
    tp_leave(m->arena, TP_E_LIMIT);
}

void tp_tell_side(tp_machine *m, tp_trap_side s)
{
    tp_tell(m, (tp_event){.kind = TP_EVENT_SIDE, .side = &s});
}

_Noreturn void tp_trap_raise(tp_machine *m, const char *rule, tp_str subject, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_trap *t = m->trap;
    t->rule = rule;
    t->subject = subject;
    t->message = tp_vprintf(m->arena, fmt, ap);
    va_end(ap);
    t->step = m->step;
    for (uint32_t x = 0; m->step >= 0 && x < m->k->naxes; x++)
        tp_push(m->arena, t->coordinates, (tp_binding){m->k->axes[x].name, m->env[m->k->axes[x].sym]});
    if (m->at && m->at->syntax) {
        tp_buf s = {.arena = m->arena};
        tp_print_stmt_head(&s, m->at->syntax);
        t->statement = tp_buf_view(&s);
        t->loc = tp_json_place(m->at->syntax->line);
    }
    tp_tell(m, (tp_event){.kind = TP_EVENT_TRAP, .statement = m->at});
    tp_leave(m->arena, TP_E_TRAP);
}
