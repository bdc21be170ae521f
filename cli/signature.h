/* Signatures of receipts: Ed25519, by OpenSSL's libcrypto. A private key is a
 * PEM file (PKCS #8) that its owner alone may read, a public key the 64 digits
 * of its 32 bytes; trusted keys are lines of these, each with a name. */
#ifndef TP_CLI_SIGNATURE_H
#define TP_CLI_SIGNATURE_H

#include "cli/cli.h"

typedef struct tp_signing_key tp_signing_key;

/* Digits of a public key and of a signature. */
enum { TP_KEY_DIGITS = 64, TP_SIGNATURE_DIGITS = 128 };

/* The key of `path`, which --`option` names; NULL after a message (nobody else's eyes, no passphrase, Ed25519). */
tp_signing_key *tp_signing_key_read(const tp_cli *c, const char *option, const char *path);
/* A new one, from the system's randomness; NULL when there is none. */
tp_signing_key *tp_signing_key_new(tp_cli *c);
/* As PEM, in the arena; the public half as digits. Empty: memory ran out. */
tp_str tp_signing_key_text(tp_cli *c, const tp_signing_key *k);
tp_str tp_signing_key_public(const tp_signing_key *k);
/* The signature of the bytes as digits in `a`; empty: it could not be made. */
tp_str tp_sign(tp_arena *a, const tp_signing_key *k, tp_str bytes);
void tp_signing_key_free(tp_signing_key *k);

/* A seal that only holders of the private key can make or check, in microseconds: HMAC-SHA256 (FIPS 198-1), as digits
 * in `a`; empty: it could not be made. Safe from several threads. */
enum { TP_SEAL_DIGITS = 64 };
tp_str tp_seal(tp_arena *a, const tp_signing_key *k, tp_str bytes);
bool tp_seal_holds(tp_arena *a, const tp_signing_key *k, tp_str bytes, tp_str seal);

/* Is this the signature of the bytes by that key? Whatever the digits are. *asked: false when memory ran out. */
bool tp_signature_holds(tp_str public_key, tp_str bytes, tp_str signature, bool *asked);

/* Does the file of trusted keys list it? An exit code, not 0 after a message; *name stays empty where it does not. */
int tp_trusted_name(tp_cli *c, const char *path, tp_str public_key, tp_str *name);

#endif
