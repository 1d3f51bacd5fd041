/* Item keys: class, fields and flag of an item, escaped to preserve the sort order of fields (section 6.1). */
#include "internal.h"

#include <string.h>

enum { CLASS_MAX = 63, ID = 16 };

/* The fields of each defined class: text, bytes, number. The last one is the group. */
static const char *const classes[] = {"", "ttt", "ttnttttt", "nbbt", "nnbbnnt", "nbbt"};

static vfr_field_kind kind_of(char letter) {
    return letter == 't' ? VFR_FIELD_TEXT : letter == 'b' ? VFR_FIELD_BYTES : VFR_FIELD_NUMBER;
}

/* A field, with its escapes and without its end. */
typedef struct raw_field {
    vfr_field_kind kind;
    vfr_bytes bytes;
} raw_field;

/* A key that has been split into fields. */
typedef struct raw_key {
    uint8_t class_number, sync;
    size_t count;
    raw_field fields[VFR_FIELDS];
} raw_key;

/* Checks text with escapes. Only U+0000 contains a zero byte, so the bytes between escapes are valid text. */
static bool is_escaped_text(vfr_bytes bytes) {
    size_t start = 0;
    for (size_t i = 0; i < bytes.length; i++) {
        if (bytes.data[i] != 0) continue;
        if (!vfri_is_text((vfr_bytes){bytes.data + start, i - start})) return false;
        start = i + 2; /* the escape's second byte exists: take_string() has checked it */
        i++;
    }
    return vfri_is_text((vfr_bytes){bytes.data + start, bytes.length - start});
}

/* Reads a text or bytes field, up to its end. */
static vfr_bytes take_string(vfri_cursor *cursor, vfr_field_kind kind) {
    size_t length = 0, escapes = 0;
    for (;; length++) {
        if (length + 1 >= cursor->left) {
            cursor->failed = true;
            return vfri_take(cursor, 0);
        }
        if (cursor->at[length] != 0) continue;
        if (cursor->at[length + 1] == 0) break;
        vfri_require(cursor, cursor->at[length + 1] == 0xFF);
        length++;
        escapes++;
    }
    vfri_require(cursor, length - escapes <= VFRI_FIELD);
    vfr_bytes taken = vfri_take(cursor, length);
    vfri_require(cursor, kind != VFR_FIELD_TEXT || is_escaped_text(taken));
    vfri_reserved(cursor, 2);
    return taken;
}

static void take_field(vfri_cursor *cursor, vfr_field_kind kind, raw_key *key) {
    raw_field *field = &key->fields[key->count++];
    field->kind = kind;
    field->bytes = kind == VFR_FIELD_NUMBER ? vfri_take(cursor, 4) : take_string(cursor, kind);
}

/* Splits a key, whose last byte is `sync` or one more. */
static bool split(vfr_bytes bytes, uint8_t sync, raw_key *key) {
    if (bytes.length < VFRI_KEY_MIN || bytes.length > VFR_KEY_SIZE) return false;
    vfri_cursor cursor = vfri_cursor_of(bytes.data, bytes.length);
    key->count = 0;
    key->class_number = vfri_u8(&cursor);
    if (key->class_number < 1 || key->class_number > CLASS_MAX) return false;
    if (key->class_number < sizeof classes / sizeof *classes) {
        for (const char *letter = classes[key->class_number]; *letter != 0 && !cursor.failed; letter++) {
            take_field(&cursor, kind_of(*letter), key);
        }
    } else {
        while (cursor.left > 1 && key->count < VFR_FIELDS && !cursor.failed) take_field(&cursor, VFR_FIELD_TEXT, key);
        vfri_require(&cursor, key->count >= 1);
    }
    key->sync = vfri_u8(&cursor);
    vfri_require(&cursor, key->sync >= sync && key->sync <= sync + 1);
    return !cursor.failed && cursor.left == 0;
}

bool vfri_check_key(vfr_bytes bytes, vfr_bytes *group) {
    raw_key key;
    if (!split(bytes, 0, &key)) return false;
    *group = key.fields[key.count - 1].bytes;
    return true;
}

/* Splits a page key. A page key that is a valid item key is treated as an item key. */
static bool split_page_key(vfr_bytes bytes, bool *conflict, raw_key *key) {
    *conflict = false;
    if (split(bytes, 0, key)) return true;
    *conflict = true;
    return bytes.length > ID && split((vfr_bytes){bytes.data, bytes.length - ID}, 2, key);
}

bool vfri_check_page_key(vfr_bytes bytes, bool *conflict, vfr_bytes *group) {
    raw_key key;
    if (!split_page_key(bytes, conflict, &key)) return false;
    *group = key.fields[key.count - 1].bytes;
    return true;
}

bool vfri_field_equals(vfr_bytes field, vfr_bytes bytes) {
    size_t at = 0;
    for (size_t i = 0; i < field.length; i++) {
        if (at == bytes.length || field.data[i] != bytes.data[at++]) return false;
        if (field.data[i] == 0) i++;
    }
    return at == bytes.length;
}

vfr_status vfr_decode_key(vfr_bytes page_key, vfr_key *key) {
    raw_key raw;
    bool conflict;
    memset(key, 0, sizeof *key);
    if (page_key.length == 0 || !split_page_key(page_key, &conflict, &raw)) return VFR_INVALID_ARGUMENT;
    key->class_number = raw.class_number;
    key->synchronizable = (raw.sync & 1) != 0;
    key->field_count = raw.count;
    uint8_t *at = key->storage; /* the fields fit: the key is longer */
    for (size_t i = 0; i < raw.count; i++) {
        vfr_bytes bytes = raw.fields[i].bytes;
        key->fields[i].kind = raw.fields[i].kind;
        if (raw.fields[i].kind == VFR_FIELD_NUMBER) {
            const uint8_t *b = bytes.data;
            key->fields[i].number = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
            continue;
        }
        uint8_t *start = at;
        for (size_t j = 0; j < bytes.length; j++) {
            *at++ = bytes.data[j];
            if (bytes.data[j] == 0) j++;
        }
        key->fields[i].bytes = (vfr_bytes){start, (size_t)(at - start)};
    }
    return VFR_OK;
}

/* The output buffer of an encoder. */
typedef struct writer {
    uint8_t *at;
    size_t left;
    bool failed;
} writer;

static void put(writer *out, uint8_t byte) {
    if (out->left == 0) {
        out->failed = true;
        return;
    }
    *out->at++ = byte;
    out->left--;
}

static void put_field(writer *out, const vfr_field *field) {
    if (field->kind == VFR_FIELD_NUMBER) {
        for (int shift = 24; shift >= 0; shift -= 8) put(out, (uint8_t)(field->number >> shift));
        return;
    }
    if (field->bytes.length > VFRI_FIELD) out->failed = true;
    if (field->kind == VFR_FIELD_TEXT && !vfri_is_text(field->bytes)) out->failed = true;
    for (size_t i = 0; i < field->bytes.length && !out->failed; i++) {
        put(out, field->bytes.data[i]);
        if (field->bytes.data[i] == 0) put(out, 0xFF);
    }
    put(out, 0);
    put(out, 0);
}

vfr_status vfr_encode_key(vfr_key *key, vfr_bytes *bytes) {
    *bytes = (vfr_bytes){NULL, 0};
    if (key->class_number < 1 || key->class_number > CLASS_MAX) return VFR_INVALID_ARGUMENT;
    if (key->field_count < 1 || key->field_count > VFR_FIELDS) return VFR_INVALID_ARGUMENT;
    bool defined = key->class_number < sizeof classes / sizeof *classes;
    const char *letters = defined ? classes[key->class_number] : NULL;
    if (defined && strlen(letters) != key->field_count) return VFR_INVALID_ARGUMENT;
    writer out = {key->storage, sizeof key->storage, false};
    put(&out, key->class_number);
    for (size_t i = 0; i < key->field_count; i++) {
        if (key->fields[i].kind != (defined ? kind_of(letters[i]) : VFR_FIELD_TEXT)) return VFR_INVALID_ARGUMENT;
        put_field(&out, &key->fields[i]);
    }
    put(&out, key->synchronizable ? 1 : 0);
    if (out.failed) return VFR_INVALID_ARGUMENT;
    *bytes = (vfr_bytes){key->storage, (size_t)(out.at - key->storage)};
    return VFR_OK;
}
