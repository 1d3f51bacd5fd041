/* bcrypt_pbkdf, which OpenSSH derives the keys of its private key files with: PBKDF2's shape around a hash that is
   Blowfish with an expensive key schedule. */
#include "load.h"
#include <pthread.h>
#include <string.h>

enum { p_words = 18, s_words = 4 * 256, words = p_words + s_words };

/* Blowfish's state: 18 words that its rounds add, then its four boxes. */
struct blowfish {
    uint32_t p[p_words];
    uint32_t s[s_words];
};

/* Its first state is the fraction of pi. Computing that, by Machin's formula, takes a moment and no table. */
enum { guard_words = 8, pi_words = 1 + words + guard_words };

static void divide(uint32_t *number, size_t from, uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = from; i < pi_words; i++) {
        rest = rest << 32 | number[i];
        number[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
}

static void add(uint32_t *sum, const uint32_t *number, int is_negative) {
    uint64_t carry = is_negative ? 1 : 0;
    for (size_t i = pi_words; i-- > 0;) {
        carry += (uint64_t)sum[i] + (is_negative ? (uint32_t)~number[i] : number[i]);
        sum[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Adds `factor` times the arc tangent of 1 / `x`, or subtracts it. */
static void add_arctangent(uint32_t *sum, uint32_t factor, uint32_t x, int is_negative) {
    uint32_t power[pi_words] = {factor}, term[pi_words];
    divide(power, 0, x);
    size_t first = 0;
    for (uint32_t k = 1;; k += 2) {
        while (first < pi_words && power[first] == 0) first++;
        if (first == pi_words) return;
        memcpy(term, power, sizeof term);
        divide(term, first, k);
        add(sum, term, is_negative ^ (k / 2 % 2));
        divide(power, first, x * x);
    }
}

static struct blowfish initial;

static void compute_initial(void) {
    uint32_t pi[pi_words] = {0};
    add_arctangent(pi, 16, 5, 0);
    add_arctangent(pi, 4, 239, 1);
    memcpy(initial.p, pi + 1, sizeof initial.p);
    memcpy(initial.s, pi + 1 + p_words, sizeof initial.s);
}

static void encipher(const struct blowfish *state, uint32_t *left, uint32_t *right) {
    uint32_t l = *left, r = *right;
    for (size_t i = 0; i < 16; i += 2) {
        l ^= state->p[i];
        r ^= ((state->s[l >> 24] + state->s[256 + (l >> 16 & 255)]) ^ state->s[512 + (l >> 8 & 255)]) +
             state->s[768 + (l & 255)];
        r ^= state->p[i + 1];
        l ^= ((state->s[r >> 24] + state->s[256 + (r >> 16 & 255)]) ^ state->s[512 + (r >> 8 & 255)]) +
             state->s[768 + (r & 255)];
    }
    *left = r ^ state->p[17];
    *right = l ^ state->p[16];
}

static uint32_t word(const uint8_t *bytes, size_t index) {
    bytes += index % 16 * 4;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Mixes 64 bytes of a key into the state, and 64 bytes of salt where there are some. */
static void expand(struct blowfish *state, const uint8_t *key, const uint8_t *salt) {
    for (size_t i = 0; i < p_words; i++) state->p[i] ^= word(key, i);
    uint32_t left = 0, right = 0;
    for (size_t i = 0; i < words; i += 2) {
        if (salt != NULL) {
            left ^= word(salt, i);
            right ^= word(salt, i + 1);
        }
        encipher(state, &left, &right);
        uint32_t *target = i < p_words ? state->p + i : state->s + (i - p_words);
        target[0] = left;
        target[1] = right;
    }
}

enum { hash_size = 32, digest_size = 64, longest_salt = 64 };

static void hash(const uint8_t *passphrase, const uint8_t *salt, uint8_t *out) {
    static const uint8_t text[] = "OxychromaticBlowfishSwatDynamite";
    struct blowfish state = initial;
    uint32_t block[hash_size / 4];
    expand(&state, passphrase, salt);
    for (int i = 0; i < 64; i++) {
        expand(&state, salt, NULL);
        expand(&state, passphrase, NULL);
    }
    for (size_t i = 0; i < hash_size / 4; i++) block[i] = word(text, i);
    for (int i = 0; i < 64; i++) {
        for (size_t j = 0; j < hash_size / 4; j += 2) encipher(&state, block + j, block + j + 1);
    }
    for (size_t i = 0; i < hash_size; i++) out[i] = (uint8_t)(block[i / 4] >> (8 * (i % 4)));
    interchange_wipe(&state, sizeof state);
    interchange_wipe(block, sizeof block);
}

void interchange_bcrypt_pbkdf(const void *passphrase, size_t size, const void *salt, size_t salt_size, uint32_t rounds,
                              void *key, size_t key_size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (salt_size > longest_salt || key_size == 0) return;
    pthread_once(&once, compute_initial);
    uint8_t hashed_passphrase[digest_size], hashed_salt[digest_size], sum[hash_size], last[hash_size];
    uint8_t counted[longest_salt + 4];
    uint8_t *out = key;
    size_t stride = (key_size + hash_size - 1) / hash_size;
    interchange_sha512(passphrase, size, hashed_passphrase);
    memcpy(counted, salt, salt_size);
    for (size_t block = 0; block < stride; block++) {
        for (size_t i = 0; i < 4; i++) counted[salt_size + i] = (uint8_t)((block + 1) >> (24 - 8 * i));
        interchange_sha512(counted, salt_size + 4, hashed_salt);
        hash(hashed_passphrase, hashed_salt, last);
        memcpy(sum, last, sizeof sum);
        for (uint32_t round = 1; round < rounds; round++) {
            interchange_sha512(last, sizeof last, hashed_salt);
            hash(hashed_passphrase, hashed_salt, last);
            for (size_t i = 0; i < hash_size; i++) sum[i] ^= last[i];
        }
        /* The key's bytes are dealt out: each block has every so manieth of them. */
        for (size_t i = 0; i < hash_size && i * stride + block < key_size; i++) out[i * stride + block] = sum[i];
    }
    interchange_wipe(hashed_passphrase, sizeof hashed_passphrase);
    interchange_wipe(hashed_salt, sizeof hashed_salt);
    interchange_wipe(sum, sizeof sum);
    interchange_wipe(last, sizeof last);
}
