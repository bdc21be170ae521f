/* Receipts: what `verify` established about a spec, in a file that travels
 * with it, so that whoever runs the kernel need not prove it again.
 *
 * A receipt is bound to the canonical text of the spec, to the target, and to
 * the version of the semantics. Its digest notices accidents, not forgers:
 * there is no key in it. Who must not trust the file has it rechecked, or takes
 * those that a trusted key has signed (cli/signature.h).
 *
 * The canonical form of a receipt is its JSON without blanks, '/' as "\/", and
 * without the members "digest" and "signature"; the order of members stays. The
 * digest is the SHA-256 of that; the signature, by Ed25519, is of the line
 * "tileproof receipt 1" and that.
 */
#ifndef TP_RECEIPT_H
#define TP_RECEIPT_H

#include "spec/kernel.h"

enum {
    TP_RECEIPT_VERSION = 1,
    /* Raised when specs, rules or the machine come to mean something else. */
    TP_SEMANTICS_VERSION = 2,
    TP_RECEIPT_MAX_BYTES = 8 << 20,
};

typedef struct tp_receipt {
    const tp_json *doc; /* all of it */
    tp_str tool, name, spec, target, domain;
    int64_t semantics, proven, cases;
    tp_str
        suppressed;   /* the rules whose findings were suppressed, with their number: "TP401, TP501 (3)"; empty: none */
    tp_str canonical; /* what the digest is of */
    tp_str key, signature; /* of who signed it, as digits; empty: nobody. Not checked here. */
    tp_str inconclusive;   /* tiers without a verdict, "E3 at 2 shapes: …; …"; empty: none */
} tp_receipt;

/* Read c->source. Raises TP001, also when the digest does not match. Inside tp_try(). */
tp_receipt tp_receipt_read(tp_ctx *c);
/* Why this receipt does not cover the spec; empty when it does. Inside tp_try() of s's reader. */
tp_str tp_receipt_refusal(tp_ctx *c, const tp_receipt *r, const tp_spec *s);
/* SHA-256 of the canonical text. */
tp_str tp_spec_digest(tp_ctx *c, const tp_spec *s);
/* What is signed of a receipt of this canonical form. */
tp_str tp_receipt_sign(tp_arena *a, tp_str canonical);
/* The text of a receipt with its digest put in; `body` is a json-c object, which it takes. `sign` (NULL: nobody signs)
 * gets what is signed, and returns the digits of the signature by `key`. */
struct json_object;
typedef struct tp_receipt_signer {
    tp_str (*sign)(void *ctx, tp_arena *a, tp_str bytes);
    void *ctx;
    tp_str key;
} tp_receipt_signer;
tp_str tp_receipt_text(tp_arena *a, struct json_object *body, const tp_receipt_signer *signer);

#endif
