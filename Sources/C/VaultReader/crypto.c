/* Crypto: the primitives of the format, from libsodium and libargon2. */
#include "crypto.h"

#include <argon2.h>
#include <string.h>

bool vfri_crypto_start(void) {
    return sodium_init() >= 0;
}

void vfri_hash_start(vfri_hash *hash) {
    (void)crypto_generichash_init(&hash->state, NULL, 0, 32);
}

void vfri_mac_start(vfri_hash *hash, const uint8_t *key, size_t length) {
    (void)crypto_generichash_init(&hash->state, key, length, 32);
}

void vfri_hash_add(vfri_hash *hash, const void *bytes, size_t count) {
    if (count > 0) (void)crypto_generichash_update(&hash->state, bytes, count);
}

void vfri_hash_label(vfri_hash *hash, const char *label) {
    uint8_t length = (uint8_t)strlen(label);
    vfri_hash_add(hash, &length, 1);
    vfri_hash_add(hash, label, length);
}

void vfri_hash_finish(vfri_hash *hash, uint8_t out[32]) {
    (void)crypto_generichash_final(&hash->state, out, 32);
    vfri_wipe(hash, sizeof *hash);
}

void vfri_derive(uint8_t out[32], const uint8_t key[32], const char *label, const void *x, size_t count) {
    vfri_hash hash;
    vfri_mac_start(&hash, key, 32);
    vfri_hash_label(&hash, label);
    vfri_hash_add(&hash, x, count);
    vfri_hash_finish(&hash, out);
}

bool vfri_unseal(const uint8_t key[32], const uint8_t nonce[24], const void *ad, size_t ad_count, const uint8_t *sealed,
                 size_t count, uint8_t *out) {
    if (count < crypto_aead_xchacha20poly1305_ietf_ABYTES) return false;
    size_t length = count - crypto_aead_xchacha20poly1305_ietf_ABYTES;
    /* libsodium verifies the tag before it writes any plaintext. */
    const uint8_t *tag = sealed + length;
    bool opened = crypto_aead_xchacha20poly1305_ietf_decrypt_detached(out, NULL, sealed, length, tag, ad, ad_count,
                                                                      nonce, key) == 0;
    if (!opened) vfri_wipe(out, length);
    return opened;
}

bool vfri_equal32(const uint8_t *left, const uint8_t *right) {
    return sodium_memcmp(left, right, 32) == 0;
}

void vfri_wipe(void *memory, size_t count) {
    sodium_memzero(memory, count);
}

bool vfri_argon2id(uint8_t out[32], const uint8_t input[32], const uint8_t salt[32], uint32_t memory, uint32_t passes,
                   uint32_t lanes) {
    uint8_t password[32], salt_copy[32]; /* the context needs pointers to non-constant memory */
    memcpy(password, input, sizeof password);
    memcpy(salt_copy, salt, sizeof salt_copy);
    argon2_context context = {
        .out = out,
        .outlen = 32,
        .pwd = password,
        .pwdlen = sizeof password,
        .salt = salt_copy,
        .saltlen = sizeof salt_copy,
        .t_cost = passes,
        .m_cost = memory,
        .lanes = lanes,
        .threads = 1,
        .version = ARGON2_VERSION_13,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    int result = argon2_ctx(&context, Argon2_id);
    vfri_wipe(password, sizeof password);
    return result == ARGON2_OK;
}

void vfri_public_key(uint8_t out[32], const uint8_t seed[32]) {
    uint8_t pair[crypto_sign_SECRETKEYBYTES];
    (void)crypto_sign_seed_keypair(out, pair, seed);
    vfri_wipe(pair, sizeof pair);
}

/* ---- Signatures ----
 *
 * defines exactly which signatures are valid, but libsodium's verification has changed: up to 1.0.18, it
 * compares the encoding of SB - kA with R; later versions multiply by the cofactor, and therefore accept more
 * signatures. A signature that libsodium accepts is therefore checked again.
 *
 * If the key is in the group of prime order, like those of honest signers, both equations agree for an R in that group,
 * and SB - kA does not equal any other R. For any other key, the equation is computed here with additions only, because
 * libsodium does not multiply such points. The result does not depend on libsodium making all checks of. */

enum { POINT = crypto_core_ed25519_BYTES };

static const uint8_t identity[POINT] = {1};
static const uint8_t base[POINT] = {0x58, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                    0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                    0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};

/* Returns whether S is less than the order of the group. */
static bool is_reduced(const uint8_t scalar[32]) {
    uint8_t wide[64] = {0}, reduced[32];
    memcpy(wide, scalar, 32);
    crypto_core_ed25519_scalar_reduce(reduced, wide);
    return memcmp(reduced, scalar, 32) == 0;
}

/* Returns whether a point is canonically encoded and not of small order. */
static bool is_usable(const uint8_t point[POINT]) {
    uint8_t sum[POINT], twice[POINT];
    if (crypto_core_ed25519_add(sum, point, identity) != 0 || memcmp(sum, point, POINT) != 0) return false;
    for (int i = 0; i < 3; i++) { /* 8 times the point */
        memcpy(twice, sum, POINT);
        if (crypto_core_ed25519_add(sum, twice, twice) != 0) return false;
    }
    return memcmp(sum, identity, POINT) != 0;
}

/* Stores scalar times point. The scalar is public, so the time may depend on it. */
static bool multiply(uint8_t out[POINT], const uint8_t scalar[32], const uint8_t point[POINT]) {
    memcpy(out, identity, POINT);
    for (int bit = 255; bit >= 0; bit--) {
        uint8_t sum[POINT];
        if (crypto_core_ed25519_add(sum, out, out) != 0) return false;
        memcpy(out, sum, POINT);
        if ((scalar[bit / 8] >> (bit % 8) & 1) != 0) {
            if (crypto_core_ed25519_add(sum, out, point) != 0) return false;
            memcpy(out, sum, POINT);
        }
    }
    return true;
}

/* Returns whether the encoding of SB - kA equals R. */
static bool equation_holds(const uint8_t signature[64], const uint8_t *message, size_t count, const uint8_t key[32]) {
    crypto_hash_sha512_state state;
    uint8_t digest[crypto_hash_sha512_BYTES], k[32];
    (void)crypto_hash_sha512_init(&state);
    (void)crypto_hash_sha512_update(&state, signature, 32);
    (void)crypto_hash_sha512_update(&state, key, 32);
    (void)crypto_hash_sha512_update(&state, message, count);
    (void)crypto_hash_sha512_final(&state, digest);
    crypto_core_ed25519_scalar_reduce(k, digest);
    uint8_t left[POINT], right[POINT], difference[POINT];
    return multiply(left, signature + 32, base) && multiply(right, k, key) &&
           crypto_core_ed25519_sub(difference, left, right) == 0 && memcmp(difference, signature, POINT) == 0;
}

bool vfri_verify(const uint8_t signature[64], const uint8_t *message, size_t count, const uint8_t key[32]) {
    if (!is_reduced(signature + 32) || crypto_sign_verify_detached(signature, message, count, key) != 0) return false;
    if (crypto_core_ed25519_is_valid_point(key) == 1) return crypto_core_ed25519_is_valid_point(signature) == 1;
    return is_usable(key) && is_usable(signature) && equation_holds(signature, message, count, key);
}
