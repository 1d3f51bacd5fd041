/* Opens a vault with an age identity, without the command, and prints a secret: age VAULT IDENTITY-FILE SERVICE ACCOUNT
 * The identity is one that age-keygen has made, AGE-SECRET-KEY-1.... Build it with
 *     cc -Wall -o age age.c $(pkg-config --cflags --libs vaultfmt libsodium)
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <vaultfmt.h>

#define FILE_KEY 16
#define BODY (FILE_KEY + crypto_aead_chacha20poly1305_ietf_ABYTES)
#define MOST 64 /* stanzas of a slot, arguments of a stanza */
#define LONGEST 16384 /* characters of a stanza */

struct identity {
    uint8_t vault[16];
    uint8_t private_key[32];
    uint8_t public_key[32];
};

/* ---- The provider "age" (section 9.3 of the specification), for stanzas of the type X25519 ---- */

/* A stanza: the arguments up to the end of their line, and the body. */
struct stanza {
    const char *arguments;
    size_t size;
    uint8_t body[LONGEST];
    size_t body_size;
};

/* Canonical base64 without padding; 0 if it is anything else. libsodium 1.0.18 takes some bytes above 127 for digits. */
static int decode64(const char *text, size_t size, uint8_t *out, size_t most, size_t *out_size) {
    size_t index;
    for (index = 0; index < size; index++) {
        if (text[index] < '+' || text[index] > 'z') return 0;
    }
    return sodium_base642bin(out, most, text, size, NULL, out_size, NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0;
}

/* Reads the stanza at *at and moves past it; 0 if there is none. */
static int next_stanza(const char **at, const char *end, struct stanza *out) {
    char text[LONGEST];
    size_t used = 0, size, arguments = 1;
    const char *line = *at, *feed = memchr(line, '\n', (size_t)(end - line)), *byte;
    if (feed == NULL || feed - line < 4 || memcmp(line, "-> ", 3) != 0) return 0;
    out->arguments = line + 3;
    out->size = (size_t)(feed - line) - 3;
    /* Arguments of one or more printable characters, with one space between them. */
    for (byte = line + 3; byte < feed; byte++) {
        if (*byte < ' ' || *byte > '~' || (*byte == ' ' && (byte[-1] == ' ' || byte + 1 == feed))) return 0;
        arguments += *byte == ' ';
    }
    if (arguments > MOST) return 0;
    do { /* Lines of 64 characters, and one shorter line. */
        line = feed + 1;
        feed = memchr(line, '\n', (size_t)(end - line));
        size = feed == NULL ? 0 : (size_t)(feed - line);
        if (feed == NULL || size > 64 || used + size > sizeof text) return 0;
        memcpy(text + used, line, size);
        used += size;
    } while (size == 64);
    *at = feed + 1;
    return decode64(text, used, out->body, sizeof out->body, &out->body_size);
}

/* HKDF with SHA-256 and 32 bytes of output (RFC 5869). */
static void hkdf(uint8_t out[32], const uint8_t secret[32], const uint8_t salt[64], const char *info) {
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, salt, 64);
    crypto_auth_hmacsha256_update(&state, secret, 32);
    crypto_auth_hmacsha256_final(&state, out);
    crypto_auth_hmacsha256_init(&state, out, 32);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)info, strlen(info));
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)"\x01", 1);
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof state);
}

/* The file key that a stanza wraps; 0 if it is not for this identity, or malformed. */
static int open_stanza(const struct identity *own, const struct stanza *stanza, uint8_t file_key[FILE_KEY]) {
    static const uint8_t zeros[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    uint8_t salt[64], secret[32]; /* the salt: the share, and the recipient */
    size_t size;
    int opened;
    if (stanza->size < 7 || memcmp(stanza->arguments, "X25519 ", 7) != 0 || stanza->body_size != BODY) return 0;
    if (!decode64(stanza->arguments + 7, stanza->size - 7, salt, 32, &size) || size != 32) return 0;
    memcpy(salt + 32, own->public_key, 32);
    if (crypto_scalarmult(secret, own->private_key, salt) != 0) return 0;
    hkdf(secret, secret, salt, "age-encryption.org/v1/X25519");
    opened = crypto_aead_chacha20poly1305_ietf_decrypt(
                 file_key, NULL, NULL, stanza->body, stanza->body_size, NULL, 0, zeros, secret) == 0;
    sodium_memzero(secret, sizeof secret);
    return opened;
}

/* The slot's key: a keyed hash of its place, so that stanzas copied to another slot do not open it. */
static void external_key(uint8_t out[32], const uint8_t file_key[FILE_KEY], const uint8_t vault[16], const uint8_t slot[16]) {
    uint8_t place[15 + 16 + 16] = "\x0evaultfmt-1 age";
    memcpy(place + 15, vault, 16);
    memcpy(place + 31, slot, 16);
    crypto_generichash(out, 32, place, sizeof place, file_key, FILE_KEY);
}

/* Whether a slot's parameters are stanzas and nothing else; if not, the slot has no candidates. */
static int are_stanzas(const char *at, const char *end, struct stanza *stanza) {
    size_t count;
    for (count = 0; at < end && count < MOST; count++) {
        if (!next_stanza(&at, end, stanza)) return 0;
    }
    return at == end && count > 0;
}

static vaultfmt_status unwrap(
    void *context, const vaultfmt_external_slot *slots, size_t count, vaultfmt_candidates *candidates) {
    const struct identity *own = context;
    struct stanza stanza;
    uint8_t file_key[FILE_KEY], key[VAULTFMT_EXTERNAL_KEY_SIZE];
    vaultfmt_bytes bytes = {key, sizeof key};
    vaultfmt_status status = VAULTFMT_OK;
    size_t slot;
    for (slot = 0; slot < count && status == VAULTFMT_OK; slot++) {
        const char *at = (const char *)slots[slot].parameters.data, *end = at + slots[slot].parameters.size;
        if (!are_stanzas(at, end, &stanza)) continue;
        while (status == VAULTFMT_OK && at < end && next_stanza(&at, end, &stanza)) {
            if (!open_stanza(own, &stanza, file_key)) continue;
            external_key(key, file_key, own->vault, slots[slot].id);
            status = vaultfmt_candidates_add(candidates, slot, bytes);
        }
    }
    sodium_memzero(file_key, sizeof file_key);
    sodium_memzero(key, sizeof key);
    return status;
}

/* ---- The identity file ---- */

/* Bech32 (BIP 173) of 32 bytes, in upper case; 0 if it is anything else. */
static int decode_identity(const char *text, uint8_t out[32]) {
    static const char prefix[] = "AGE-SECRET-KEY-", digits[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
    static const uint32_t generators[5] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    const size_t length = sizeof prefix - 1;
    uint32_t sum = 1, bits = 0, values[2 * (sizeof prefix - 1) + 1 + 58];
    size_t count = 0, index, bit;
    if (strlen(text) != length + 1 + 58 || memcmp(text, prefix, length) != 0 || text[length] != '1') return 0;
    for (index = 0; index < length; index++) values[count++] = (uint32_t)(prefix[index] | 32) >> 5;
    values[count++] = 0;
    for (index = 0; index < length; index++) values[count++] = (uint32_t)prefix[index] & 31;
    for (index = 0; index < 58; index++) {
        const char *digit = strchr(digits, text[length + 1 + index]);
        if (digit == NULL) return 0;
        values[count++] = (uint32_t)(digit - digits);
    }
    for (index = 0; index < count; index++) {
        const uint32_t top = sum >> 25;
        sum = (sum & 0x1ffffff) << 5 ^ values[index];
        for (bit = 0; bit < 5; bit++) sum ^= (top >> bit & 1) ? generators[bit] : 0;
    }
    for (index = 0, bit = 0; index < 52; index++) {
        bits = bits << 5 | values[2 * length + 1 + index];
        if ((bit += 5) % 8 < 5) out[bit / 8 - 1] = (uint8_t)(bits >> bit % 8);
    }
    sodium_memzero(values, sizeof values);
    return sum == 1;
}

static int read_identity(const char *path, struct identity *own) {
    char line[256];
    int found = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = 0;
        found = decode_identity(line, own->private_key);
    }
    fclose(file);
    sodium_memzero(line, sizeof line);
    return found && crypto_scalarmult_base(own->public_key, own->private_key) == 0;
}

static int fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

int main(int argc, char **argv) {
    struct identity own;
    vaultfmt_provider provider = VAULTFMT_PROVIDER_INIT;
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    vaultfmt_local_options local = VAULTFMT_LOCAL_OPTIONS_INIT;
    const vaultfmt_inspection *inspection;
    const vaultfmt_item *item;
    vaultfmt_status status;
    vaultfmt_vault *vault;
    vaultfmt_key key;
    if (argc != 5) return fail("usage", "age VAULT IDENTITY-FILE SERVICE ACCOUNT");
    if (sodium_init() < 0 || !read_identity(argv[2], &own)) return fail(argv[2], "there is no age identity in this file");
    if (vaultfmt_inspect(argv[1], &inspection) != VAULTFMT_OK) return fail(argv[1], vaultfmt_error_text());
    memcpy(own.vault, inspection->vault_id, sizeof own.vault);
    vaultfmt_inspection_free(inspection);

    provider.name = "age";
    provider.context = &own;
    provider.unwrap = unwrap;
    factors.external = &provider;
    status = vaultfmt_local_open(argv[1], &factors, NULL, &local, &vault);
    sodium_memzero(&own, sizeof own);
    if (status != VAULTFMT_OK) return fail(argv[1], vaultfmt_error_text());

    key = vaultfmt_generic_password(argv[3], argv[4]);
    status = vaultfmt_get(vault, &key, &item);
    if (status == VAULTFMT_OK) {
        fwrite(item->secret.data, 1, item->secret.size, stdout);
        vaultfmt_item_free(item);
    } else {
        fail(argv[3], vaultfmt_error_text());
    }
    vaultfmt_close(vault);
    return status == VAULTFMT_OK ? 0 : 1;
}
