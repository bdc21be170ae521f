#include "reference/reference.h"

/* build/gen/builtins.inc has one X(name) per file of reference/impl. */
#define X(name) extern const tp_builtin tp_builtin_##name;
#include "builtins.inc"
#undef X

static const tp_builtin *const BUILTINS[] = {
#define X(name) &tp_builtin_##name,
#include "builtins.inc"
#undef X
};

const tp_builtin *const *tp_builtins(size_t *n)
{
    *n = sizeof BUILTINS / sizeof *BUILTINS;
    return BUILTINS;
}

const tp_builtin *tp_builtin_find(tp_str name)
{
    for (size_t i = 0; i < sizeof BUILTINS / sizeof *BUILTINS; i++)
        if (tp_str_is(name, BUILTINS[i]->name))
            return BUILTINS[i];
    return NULL;
}

const tp_tensor *tp_builtin_input(const tp_kernel *k, const tp_json *args, const char *key, uint32_t otherwise,
                                  const tp_tensor *arrays)
{
    const tp_json *v = args && args->type == TP_J_OBJECT ? tp_json_get(args, key) : NULL;
    if (!v)
        return otherwise < k->ninputs ? &arrays[otherwise] : NULL;
    int i = v->type == TP_J_STRING ? tp_operand_find(k, v->u.string) : -1;
    return i >= 0 && (uint32_t)i < k->ninputs ? &arrays[i] : NULL;
}
