/* Stands in for three functions of crypto.c, so that mutated files reach what decodes authenticated data: every tag,
 * MAC, hash and signature is right. What is sealed is decrypted by the stream cipher alone, so a mutated byte of
 * ciphertext is a mutated byte of plaintext. */
#include "../../Sources/C/VaultReader/crypto.h"

#include <string.h>

bool vfri_unseal(const uint8_t key[32], const uint8_t nonce[24], const void *ad, size_t ad_count, const uint8_t *sealed,
                 size_t count, uint8_t *out) {
    (void)ad;
    (void)ad_count;
    if (count < 16) return false;
    memmove(out, sealed, count - 16);
    return crypto_stream_xchacha20_xor_ic(out, out, count - 16, nonce, 1, key) == 0;
}

bool vfri_equal32(const uint8_t *left, const uint8_t *right) {
    (void)left;
    (void)right;
    return true;
}

bool vfri_verify(const uint8_t signature[64], const uint8_t *message, size_t count, const uint8_t key[32]) {
    (void)signature;
    (void)message;
    (void)count;
    (void)key;
    return true;
}
