/* The primitives of the format. Only crypto.c uses libsodium and libargon2. */
#ifndef VAULTFMT_READER_CRYPTO_H
#define VAULTFMT_READER_CRYPTO_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialises libsodium; any thread may call it at any time. */
bool vfri_crypto_start(void);

/* Incremental BLAKE2b with 32 bytes of output: H and MAC of section 1. */
typedef struct vfri_hash {
    crypto_generichash_state state;
} vfri_hash;

void vfri_hash_start(vfri_hash *hash);
/* Starts a keyed hash; `length` is 16 to 64. */
void vfri_mac_start(vfri_hash *hash, const uint8_t *key, size_t length);
void vfri_hash_add(vfri_hash *hash, const void *bytes, size_t count);
/* Adds a label, as str8. */
void vfri_hash_label(vfri_hash *hash, const char *label);
/* Stores the 32 bytes of the hash, and wipes the state. */
void vfri_hash_finish(vfri_hash *hash, uint8_t out[32]);

/* Computes derive(key, label, x) of section 1 with a key of 32 bytes. */
void vfri_derive(uint8_t out[32], const uint8_t key[32], const char *label, const void *x, size_t count);

/* Opens `count` bytes, the last 16 of which are the tag, into `out`, which may be the same memory. On failure, `out` is
 * wiped. */
bool vfri_unseal(const uint8_t key[32], const uint8_t nonce[24], const void *ad, size_t ad_count, const uint8_t *sealed,
                 size_t count, uint8_t *out);

/* Compares 32 bytes in constant time. */
bool vfri_equal32(const uint8_t *left, const uint8_t *right);

/* Overwrites memory; the compiler cannot remove this. */
void vfri_wipe(void *memory, size_t count);

/* Computes Argon2id, version 1.3, on this thread only. Returns false on failure, most likely for lack of memory. */
bool vfri_argon2id(uint8_t out[32], const uint8_t input[32], const uint8_t salt[32], uint32_t memory, uint32_t passes,
                   uint32_t lanes);

/* Computes the Ed25519 public key of a seed. */
void vfri_public_key(uint8_t out[32], const uint8_t seed[32]);

/* Verifies a signature exactly as defined by. */
bool vfri_verify(const uint8_t signature[64], const uint8_t *message, size_t count, const uint8_t key[32]);

#endif
