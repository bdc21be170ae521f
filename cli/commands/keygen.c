/* A pair of keys: the private one to sign receipts with, the public one to be trusted. */
#include <unistd.h>

#include "base/file.h"
#include "cli/signature.h"

/* What the line of a trusted key says about whose it is. */
static bool is_name(tp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return s.n > 0 && s.n < 200;
}

static int write_pair(tp_cli *c, const char *path, const char *public_path, const tp_signing_key *k, tp_str name)
{
    tp_str text = tp_signing_key_text(c, k),
           line = tp_printf(c->arena, "%.*s %.*s\n", TP_FMT(tp_signing_key_public(k)), TP_FMT(name)), why;
    if (!text.n)
        tp_leave(c->arena, TP_E_MEMORY);
    if (tp_write_secret(c->arena, path, text, &why) != TP_OK) {
        tp_usage_error("%.*s", TP_FMT(why));
        return TP_EXIT_INTERNAL;
    }
    if (tp_write_file(c->arena, public_path, &line, 1, &why) != TP_OK) {
        unlink(path); /* half a pair is none */
        tp_usage_error("%.*s", TP_FMT(why));
        return TP_EXIT_INTERNAL;
    }
    tp_say(stdout, "%s: the private key: whoever has it can sign as you", path);
    tp_say(stdout, "%s: the public key: a line for the file of --trust", public_path);
    return TP_EXIT_OK;
}

static int run(tp_cli *c)
{
    if (c->paths.len < 1 || c->paths.len > 2)
        return tp_usage_error("keygen takes the file of the private key, and a name: tileproof keygen FILE [NAME]");
    const char *path = tp_cstr(c->arena, c->paths.at[0]), *public_path = tp_printf(c->arena, "%s.pub", path).p;
    const char *slash = strrchr(path, '/');
    tp_str name = c->paths.len == 2 ? c->paths.at[1] : tp_str_c(slash ? slash + 1 : path);
    if (!is_name(name))
        return tp_usage_error("a name is one line of at most 199 bytes");
    if (access(path, F_OK) == 0 || access(public_path, F_OK) == 0)
        return tp_usage_error("`%s` exists already and is left unchanged: choose another name",
                              access(path, F_OK) == 0 ? path : public_path);
    tp_signing_key *k = tp_signing_key_new(c);
    if (!k) {
        tp_usage_error("no key could be made: no memory, or no randomness");
        return TP_EXIT_INTERNAL;
    }
    int code = write_pair(c, path, public_path, k, name);
    tp_signing_key_free(k);
    return code;
}

const tp_command tp_command_keygen = {"keygen", 'G', "FILE [NAME]", "a pair of keys to sign receipts with", run};
