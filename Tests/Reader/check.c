/* The command that Spec/vectors/README.md describes: opens a vault, prints the verdict and what it releases.
 *
 *     check check [--OPTION VALUE]... FILE
 *     check check                              answers requests from standard input
 *     check check --budget BYTES ... FILE      with another memory budget than 64 MiB
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>
#include <vaultfmt_reader.h>

#include "unassigned.h" /* from Spec/unicode-13.txt */

static void *require(void *memory) {
    if (memory != NULL) return memory;
    fputs("check: out of memory\n", stderr);
    exit(2);
}

/* ---- Text that grows ---- */

typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;

static void put_bytes(text *out, const void *bytes, size_t count) {
    if (count > out->capacity - out->length) {
        out->capacity = 2 * (out->capacity + count) + 256;
        out->bytes = require(realloc(out->bytes, out->capacity));
    }
    if (count > 0) memcpy(out->bytes + out->length, bytes, count);
    out->length += count;
}

__attribute__((format(printf, 2, 3))) static void put(text *out, const char *format, ...) {
    char buffer[512];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    put_bytes(out, buffer, (size_t)count);
}

static void put_hex(text *out, const uint8_t *bytes, size_t count) {
    static const char digits[] = "0123456789abcdef";
    put(out, count == 0 ? " -" : " ");
    for (size_t i = 0; i < count; i++) {
        char pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        put_bytes(out, pair, 2);
    }
}

static void put_value(text *out, vfr_bytes bytes) {
    put_hex(out, bytes.data, bytes.length);
}

static void put_number(text *out, uint64_t number) {
    put(out, " %" PRIu64, number);
}

static void put_dot(text *out, vfr_dot dot) {
    put(out, " %" PRIu64 ".%" PRIu64, dot.revision, dot.replica);
}

static void put_device(text *out, const uint8_t device[16]) {
    static const uint8_t none[16];
    put_hex(out, device, memcmp(device, none, 16) == 0 ? 0 : 16);
}

/* ---- Requests ---- */

typedef struct request {
    vfr_options options;
    vfr_factors factors;
    vfr_device device;
    uint8_t owner[32];
    bool has_anchor, unsupported;
    vfr_anchor anchor;
    const char *provider_keys;
    const char *file;
    uint8_t *owned[8];
    size_t owned_count;
} request;

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes hexadecimal digits to memory that the request owns; "-" is no bytes. */
static bool decode(request *r, const char *hex, size_t count, vfr_bytes *out) {
    if (count == 1 && *hex == '-') count = 0;
    if (count % 2 != 0) return false;
    uint8_t *bytes = require(malloc(count / 2 + 1));
    r->owned[r->owned_count++] = bytes;
    for (size_t i = 0; i < count / 2; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = (vfr_bytes){bytes, count / 2};
    return true;
}

static bool decode_fixed(const char *hex, size_t count, uint8_t *out) {
    for (size_t i = 0; i < 2 * count; i++) {
        int value = digit(hex[i]);
        if (value < 0) return false;
        out[i / 2] = (uint8_t)(i % 2 == 0 ? value << 4 : out[i / 2] | value);
    }
    return true;
}

static bool is_unassigned(int32_t point) {
    for (size_t i = 0; i < sizeof unassigned / sizeof *unassigned; i++) {
        if (point >= unassigned[i][0] && point <= unassigned[i][1]) return true;
    }
    return false;
}

static void put_normalised(text *out, const uint8_t *bytes, size_t count) {
    uint8_t *piece = NULL;
    utf8proc_ssize_t length = utf8proc_map(bytes, (utf8proc_ssize_t)count, &piece, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (length < 0) {
        fputs("check: utf8proc failed\n", stderr);
        exit(2);
    }
    put_bytes(out, piece, (size_t)length);
    free(piece);
}

/* Normalises a passphrase as typed (section 3.1). One that is not text stays as it is; one too long becomes empty. */
static void normalise(request *r, vfr_bytes *passphrase) {
    text out = {0};
    vfr_bytes typed = *passphrase;
    if (typed.length > 65536) passphrase->length = 0;
    if (typed.length == 0 || typed.length > 65536) return;
    size_t start = 0;
    for (size_t at = 0; at < typed.length;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t size = utf8proc_iterate(typed.data + at, (utf8proc_ssize_t)(typed.length - at), &point);
        if (size < 1) {
            free(out.bytes);
            return;
        }
        if (is_unassigned(point)) {
            put_normalised(&out, typed.data + start, at - start);
            put_bytes(&out, typed.data + at, (size_t)size);
            start = at + (size_t)size;
        }
        at += (size_t)size;
    }
    put_normalised(&out, typed.data + start, typed.length - start);
    r->owned[r->owned_count++] = (uint8_t *)out.bytes;
    *passphrase = (vfr_bytes){(const uint8_t *)out.bytes, out.length};
}

/* Answers as the request's list of keys says: DIGITS, or ID=DIGITS, separated by commas. */
static int answer(void *context, vfr_external_slot *slots, size_t count) {
    const request *r = context;
    for (size_t i = 0; i < count; i++) {
        for (const char *key = r->provider_keys; key != NULL && strcmp(key, "-") != 0;) {
            const char *end = strchr(key, ',');
            size_t length = end != NULL ? (size_t)(end - key) : strlen(key);
            uint8_t id[16];
            bool applies = length == 64;
            if (length == 32 + 1 + 64) {
                if (!decode_fixed(key, 16, id)) return -1;
                applies = memcmp(id, slots[i].id, 16) == 0;
            }
            if (applies && slots[i].count < VFR_CANDIDATES) {
                if (!decode_fixed(key + length - 64, 32, slots[i].keys[slots[i].count++])) return -1;
            }
            key = end != NULL ? end + 1 : NULL;
        }
    }
    return 0;
}

/* Parses OWNER:CHAIN:FLOOR:ROWS. */
static bool parse_anchor(request *r, const char *value) {
    if (strlen(value) < 131 || value[64] != ':' || value[129] != ':') return false;
    if (!decode_fixed(value, 32, r->anchor.owner) || !decode_fixed(value + 65, 32, r->anchor.chain)) return false;
    char *at;
    r->anchor.floor = strtoull(value + 130, &at, 10);
    if (*at++ != ':') return false;
    r->has_anchor = true;
    if (strcmp(at, "-") == 0) return true;
    size_t capacity = 1;
    for (const char *c = at; *c != 0; c++) capacity += *c == ',';
    vfr_row *rows = require(calloc(capacity, sizeof *rows));
    r->owned[r->owned_count++] = (uint8_t *)rows;
    r->anchor.rows = rows;
    for (;;) {
        vfr_row *row = &rows[r->anchor.row_count++];
        row->replica = strtoull(at, &at, 10);
        if (*at++ != '=') return false;
        row->revision = strtoull(at, &at, 10);
        if (*at == 0) return true;
        if (*at++ != ',') return false;
    }
}

static bool parse_option(request *r, const char *name, char *value) {
    if (strcmp(name, "passphrase") == 0) {
        if (!decode(r, value, strlen(value), &r->factors.passphrase)) return false;
        normalise(r, &r->factors.passphrase);
        return true;
    }
    if (strcmp(name, "key-file") == 0) return decode(r, value, strlen(value), &r->factors.key_file);
    if (strcmp(name, "raw-key") == 0) return decode(r, value, strlen(value), &r->factors.raw_key);
    if (strcmp(name, "external") == 0) {
        char *colon = strrchr(value, ':');
        if (colon == NULL) return false;
        *colon = 0;
        r->factors.provider = (vfr_bytes){(const uint8_t *)value, strlen(value)};
        r->factors.external = answer;
        r->factors.external_context = r;
        r->provider_keys = colon + 1;
        return true;
    }
    if (strcmp(name, "age-identity") == 0) return r->unsupported = true;
    if (strcmp(name, "device") == 0) {
        r->options.device = &r->device;
        return strlen(value) == 32 + 1 + 64 && decode_fixed(value, 16, r->device.id) &&
            decode_fixed(value + 33, 32, r->device.secret);
    }
    if (strcmp(name, "owner") == 0) {
        r->options.owner = r->owner;
        return strlen(value) == 64 && decode_fixed(value, 32, r->owner);
    }
    if (strcmp(name, "anchor") == 0) return parse_anchor(r, value);
    uint64_t number = strtoull(value, NULL, 10);
    if (strcmp(name, "limit-memory") == 0) r->options.policy.memory = number;
    else if (strcmp(name, "limit-passes") == 0) r->options.policy.passes = number;
    else if (strcmp(name, "limit-lanes") == 0) r->options.policy.lanes = number;
    else if (strcmp(name, "limit-total") == 0) r->options.policy.total = number;
    else if (strcmp(name, "budget") == 0) r->options.budget = number;
    else return false;
    return true;
}

/* ---- The dump ---- */

typedef struct dump {
    text *out;
    vfr_vault *vault;
    vfr_state state;
    vfr_settings settings;
    vfr_status failure; /* the first */
    bool device_bound, pasts_read;
} dump;

/* Notes that a value cannot be read, and returns the reason. */
static const char *reason(dump *d, vfr_status status) {
    if (status == VFR_DEVICE_BOUND) d->device_bound = true;
    else if (status != VFR_NO_KEY && d->failure == VFR_OK) d->failure = status;
    return vfr_status_name(status);
}

static void dump_state(dump *d) {
    text *out = d->out;
    const vfr_state *state = &d->state;
    put(out, "vaultfmt-dump 3\nvault");
    put_hex(out, state->vault_id, 16);
    put(out, "\naccess %s\nowner", state->full ? "full" : "scoped");
    put_hex(out, state->owner, 32);
    put(out, "\ngeneration %" PRIu64 "\nchain", state->generation);
    put_hex(out, state->chain, 32);
    put(out, "\nbefore %" PRIu64, state->previous_generation);
    put_hex(out, state->previous_chain, 32);
    put(out, "\nclock %" PRIu64 " %" PRIu64, state->clock, state->floor);
    put(out, "\nown %" PRIu64 " %" PRIu64 "\n", state->own_replica, state->own_revision);
}

static void put_row(text *out, const char *word, vfr_row row) {
    put(out, "%s %" PRIu64 " %" PRIu64 "%s\n", word, row.replica, row.revision, row.split ? " split" : "");
}

static vfr_status dump_vector(dump *d, const request *r) {
    static const char *const verdicts[] = {"", "foreign", "same", "older", "descends", "forked"};
    if (r->has_anchor) {
        vfr_verdict verdict;
        vfr_status status = vfr_compare(d->vault, &r->anchor, &verdict);
        if (status != VFR_OK) return status;
        put(d->out, "anchor %s\n", verdicts[verdict]);
    }
    vfr_status status = vfr_read_vector(d->vault);
    for (size_t i = 0; i < vfr_row_count(d->vault); i++) put_row(d->out, "row", vfr_get_row(d->vault, i));
    vfr_get_settings(d->vault, &d->settings);
    return status;
}

static vfr_status dump_slot(dump *d, size_t index) {
    static vfr_slot_owner owner;
    vfr_slot slot;
    text *out = d->out;
    (void)vfr_get_slot(d->vault, index, &slot);
    put(out, "slot");
    put_hex(out, slot.id, 16);
    put(out, " %d %d", slot.kind, slot.factors);
    if (slot.known) {
        put(out, " known %" PRIu32 " %" PRIu32 " %" PRIu32, slot.memory, slot.passes, slot.lanes);
        if ((slot.factors & 0x10) != 0) {
            put_value(out, slot.provider);
            put_value(out, slot.parameters);
        }
    } else {
        put(out, " opaque");
        put_value(out, slot.bytes);
    }
    put(out, "\n");
    if (!d->state.full) return VFR_OK;
    vfr_status status = vfr_get_slot_owner(d->vault, index, &owner);
    if (status != VFR_OK) return status;
    put(out, "slot-owner");
    put_hex(out, owner.name, owner.name_length);
    put_hex(out, owner.data, owner.data_length);
    put(out, "\n");
    for (size_t i = 0; i < owner.group_count; i++) put(out, "slot-grant %" PRIu64 "\n", owner.groups[i]);
    return VFR_OK;
}

static void put_extension(text *out, const char *place, const vfr_extension *extension) {
    put(out, "extension %s %d", place, extension->flags);
    put_value(out, extension->name);
    put_value(out, extension->value);
    put(out, "\n");
}

static void dump_slot_dots(dump *d, size_t index) {
    text *out = d->out;
    vfr_slot_dots dots;
    (void)vfr_get_slot_dots(d->vault, index, &dots);
    put(out, "slot-dots");
    put_hex(out, dots.id, 16);
    put_dot(out, dots.made);
    put_dot(out, dots.changed);
    put(out, "\n");
    for (size_t i = 0; i < dots.grant_count; i++) {
        uint64_t group;
        vfr_dot dot;
        (void)vfr_get_slot_grant(d->vault, index, i, &group, &dot);
        put(out, "slot-grant-dot %" PRIu64, group);
        put_dot(out, dot);
        put(out, "\n");
    }
}

static vfr_status dump_hand_over(dump *d, size_t index) {
    text *out = d->out;
    vfr_hand_over hand_over;
    vfr_status status = vfr_read_hand_over(d->vault, index, &hand_over);
    if (status != VFR_OK) return status;
    put(out, "hand-over");
    put_hex(out, hand_over.from, 32);
    put_hex(out, hand_over.next, 32);
    const char *word = hand_over.valid ? "valid" : "invalid";
    if (hand_over.rows_status != VFR_OK) word = vfr_status_name(hand_over.rows_status);
    put(out, " %" PRIu64 " %s\n", hand_over.floor, word);
    for (size_t i = 0; i < hand_over.row_count; i++) put_row(out, "hand-over-row", hand_over.rows[i]);
    vfr_release_hand_over(d->vault, &hand_over);
    return VFR_OK;
}

/* Prints everything from the grants to the hand-overs. */
static vfr_status dump_keyring(dump *d) {
    text *out = d->out;
    const vfr_settings *settings = &d->settings;
    vfr_status status = VFR_OK;
    vfr_extension extension;
    for (size_t i = 0; i < settings->grants; i++) {
        uint64_t group;
        (void)vfr_get_grant(d->vault, i, &group);
        put(out, "grant %" PRIu64 "\n", group);
    }
    for (size_t i = 0; i < settings->slots && status == VFR_OK; i++) status = dump_slot(d, i);
    if (status != VFR_OK) return status;
    for (size_t i = 0; vfr_get_header_extension(d->vault, i, &extension) == VFR_OK; i++) {
        put_extension(out, "header", &extension);
    }
    for (size_t i = 0; vfr_get_keyring_extension(d->vault, i, &extension) == VFR_OK; i++) {
        put_extension(out, "keyring", &extension);
    }
    put(out, "limit %d", settings->limit);
    put_dot(out, settings->limit_dot);
    put(out, "\nkey-dot");
    put_dot(out, settings->key_dot);
    put(out, "\n");
    vfr_group group;
    for (size_t i = 0; vfr_get_group(d->vault, i, &group) == VFR_OK; i++) {
        put(out, "group %" PRIu64, group.number);
        put_value(out, group.name);
        put(out, "\n");
    }
    vfr_compartment compartment;
    for (size_t i = 0; vfr_get_compartment(d->vault, i, &compartment) == VFR_OK; i++) {
        put(out, "compartment %" PRIu64 " %" PRIu64 " %d", compartment.number, compartment.group,
            compartment.accessibility);
        put_device(out, compartment.device);
        put(out, "\n");
    }
    for (size_t i = 0; i < settings->slots; i++) dump_slot_dots(d, i);
    for (size_t i = 0; i < settings->hand_overs && status == VFR_OK; i++) status = dump_hand_over(d, i);
    return status;
}

static void put_record(text *out, const char *word, uint64_t revision, uint64_t compartment) {
    put(out, "%s %" PRIu64 " %" PRIu64 "\n", word, revision, compartment);
}

/* Prints an attribute whose value, or the status of reading it, is known. */
static void put_attribute(dump *d, const vfr_attribute *attribute, vfr_status status, vfr_bytes value, bool with_dot) {
    text *out = d->out;
    put(out, status == VFR_OK ? "attribute" : "attribute-unavailable");
    put_value(out, attribute->name);
    put_number(out, attribute->flags);
    if (status == VFR_OK) put_value(out, value);
    else put(out, " %s", reason(d, status));
    if (with_dot) put_dot(out, attribute->dot);
    put(out, "\n");
    if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) return;
    put_record(out, "attribute-record", attribute->record_revision, attribute->compartment);
}

/* Prints an attribute whose value is in the page, or in the record, which may be NULL. */
static void put_stored(dump *d, const vfr_attribute *attribute, const vfr_record *record, vfr_status status,
                       bool with_dot) {
    vfr_bytes value = attribute->value;
    if ((attribute->flags & VFR_ATTRIBUTE_IN_RECORD) == 0) {
        put_attribute(d, attribute, VFR_OK, value, with_dot);
        return;
    }
    vfr_record_value found;
    if (status == VFR_OK) status = vfr_record_attribute(record, attribute->name, &found);
    put_attribute(d, attribute, status, status == VFR_OK ? found.value : value, with_dot);
}

static void put_secret(dump *d, const char *word, const vfr_record *record, vfr_status status) {
    put(d->out, status == VFR_OK ? "%s" : "%s-unavailable", word);
    if (status == VFR_OK) put_value(d->out, vfr_record_secret(record));
    else put(d->out, " %s", reason(d, status));
    put(d->out, "\n");
}

/* Prints what a value that is a secret has. */
static void dump_earlier_secret(dump *d, const vfr_past *past, size_t index, const vfr_value *value) {
    vfr_attribute attributes[VFR_ATTRIBUTES];
    vfr_record *record, *own;
    vfr_status status = vfr_read_value(past, index, &record);
    put_record(d->out, "record", value->record_revision, value->compartment);
    (void)vfr_value_attributes(past, index, attributes);
    for (size_t i = 0; i < value->attribute_count; i++) {
        if ((attributes[i].flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) {
            put_stored(d, &attributes[i], record, status, false);
            continue;
        }
        vfr_status read = vfr_read_value_attribute(past, index, &attributes[i], &own);
        put_attribute(d, &attributes[i], read, read == VFR_OK ? vfr_record_secret(own) : attributes[i].value, false);
        vfr_record_close(own);
    }
    put_secret(d, "secret", record, status);
    vfr_record_close(record);
}

static void dump_value(dump *d, const vfr_past *past, size_t index) {
    text *out = d->out;
    vfr_value value;
    (void)vfr_get_value(past, index, &value);
    put(out, "value %d", value.kind);
    put_value(out, value.name);
    put_dot(out, value.dot);
    put(out, " %d %d", value.flags, value.attribute_flags);
    if (value.has_content) put(out, " %" PRId64, value.replaced);
    put(out, "\n");
    if (!value.has_content) return;
    if (value.kind == VFR_VALUE_SECRET) {
        dump_earlier_secret(d, past, index, &value);
    } else if (value.has_record) {
        vfr_record *record;
        bool own = (value.attribute_flags & VFR_ATTRIBUTE_OWN_RECORD) != 0;
        vfr_status status = vfr_read_value(past, index, &record);
        put_record(out, own ? "attribute-record" : "record", value.record_revision, value.compartment);
        put_secret(d, "content", record, status);
        vfr_record_close(record);
    } else {
        put(out, "content");
        put_value(out, value.content);
        if (value.kind == VFR_VALUE_PLACE) {
            put(out, " %d", value.accessibility);
            put_device(out, value.device);
        }
        put(out, "\n");
    }
}

static void dump_sibling(dump *d, const vfr_past *past, size_t index) {
    text *out = d->out;
    vfr_sibling sibling;
    (void)vfr_get_sibling(past, index, &sibling);
    put(out, "sibling");
    put_dot(out, sibling.dot);
    put(out, " %" PRId64 " %" PRId64 "\n", sibling.created, sibling.modified);
    for (int earlier = 0; earlier < 2; earlier++) {
        for (size_t i = 0; i < vfr_value_count(past); i++) {
            bool has = earlier ? vfr_sibling_has_earlier(past, index, i) : vfr_sibling_has_field(past, index, i);
            if (!has) continue;
            vfr_value value;
            (void)vfr_get_value(past, i, &value);
            put(out, earlier ? "sibling-earlier %d" : "sibling-field %d", value.kind);
            put_value(out, value.name);
            put_dot(out, value.dot);
            put(out, "\n");
        }
    }
}

static vfr_status dump_past(dump *d, const vfr_item *item) {
    vfr_past *past;
    vfr_status status = vfr_read_past(d->vault, item, &past);
    if (status == VFR_OUT_OF_BUDGET || status == VFR_IO) return status;
    if (status != VFR_OK) {
        d->pasts_read = false;
        put(d->out, "past-unavailable %s\n", reason(d, status));
        return VFR_OK;
    }
    for (size_t i = 0; i < vfr_value_count(past); i++) dump_value(d, past, i);
    for (size_t i = 0; i < vfr_sibling_count(past); i++) dump_sibling(d, past, i);
    vfr_past_close(past);
    return VFR_OK;
}

/* Decodes the key of an item and encodes it again, which must give the same. */
static void check_key(const vfr_item *item) {
    static vfr_key key, copy;
    vfr_bytes encoded;
    if (vfr_decode_key(item->page_key, &key) != VFR_OK) abort();
    copy.class_number = key.class_number;
    copy.synchronizable = key.synchronizable;
    copy.field_count = key.field_count;
    memcpy(copy.fields, key.fields, sizeof copy.fields);
    if (vfr_encode_key(&copy, &encoded) != VFR_OK) abort();
    if (item->conflict) return;
    if (encoded.length != item->page_key.length) abort();
    if (memcmp(encoded.data, item->page_key.data, encoded.length) != 0) abort();
}

static vfr_status dump_item(dump *d, const vfr_item *item) {
    text *out = d->out;
    check_key(item);
    put(out, "item");
    put_value(out, item->page_key);
    put(out, "\nid");
    put_hex(out, item->id, 16);
    put(out, "\ndot");
    put_dot(out, item->dot);
    put(out, "\ntimes %" PRId64 " %" PRId64 "\nfields", item->created, item->modified);
    put_dot(out, item->key_dot);
    put_dot(out, item->place_dot);
    if (item->has_secret) put_dot(out, item->secret_dot);
    else put(out, " -");
    put(out, "\n");
    if (item->to_settle) put(out, "to-settle\n");
    put_record(out, "record", item->record_revision, item->compartment);
    vfr_record *record, *own;
    vfr_status status = vfr_read_record(d->vault, item, &record);
    if (status == VFR_OUT_OF_BUDGET || status == VFR_IO) return status;
    for (size_t i = 0; i < item->attribute_count; i++) {
        const vfr_attribute *attribute = &item->attributes[i];
        if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) {
            put_stored(d, attribute, record, status, true);
            continue;
        }
        vfr_status read = vfr_read_attribute(d->vault, item, i, &own);
        put_attribute(d, attribute, read, read == VFR_OK ? vfr_record_secret(own) : attribute->value, true);
        vfr_record_close(own);
    }
    if (!item->has_secret && (status == VFR_OK || status == VFR_NO_SECRET)) put(out, "secret-none\n");
    else put_secret(d, "secret", record, status);
    vfr_record_close(record);
    return item->has_past ? dump_past(d, item) : VFR_OK;
}

static void dump_forgotten(dump *d, const vfr_forgotten *forgotten) {
    put(d->out, "forgotten %d", forgotten->kind);
    put_value(d->out, forgotten->name);
    put_dot(d->out, (vfr_dot){.revision = forgotten->revision, .replica = forgotten->replica});
    put(d->out, "\n");
}

/* Prints the items and what was forgotten; looks up every 7th item by its key. */
static vfr_status dump_tree(dump *d) {
    vfr_list *list, *finder = NULL;
    vfr_status status = vfr_list_open(d->vault, &list);
    if (status == VFR_OK) status = vfr_list_open(d->vault, &finder);
    for (size_t n = 0; status == VFR_OK; n++) {
        const vfr_entry *entry, *found;
        status = vfr_list_next(list, &entry);
        if (status != VFR_OK) break;
        if (!entry->is_item) {
            dump_forgotten(d, &entry->forgotten);
            continue;
        }
        if (n % 7 == 0) {
            status = vfr_list_find(finder, entry->item.page_key, &found);
            if (status == VFR_OUT_OF_BUDGET) break;
            if (status != VFR_OK || memcmp(found->item.id, entry->item.id, 16) != 0) abort();
        }
        status = dump_item(d, &entry->item);
    }
    vfr_list_close(finder);
    vfr_list_close(list);
    if (status == VFR_END) status = VFR_OK;
    if (status == VFR_OK && d->state.full && d->pasts_read) status = vfr_check_forgotten(d->vault);
    return status;
}

/* ---- Verdicts ---- */

static const char *verdict_of(const dump *d) {
    static const char *const tails[] = {
        "success",
        "success-tail-torn",
        "success-tail-incomplete",
        "success-tail-damaged",
    };
    if (d->failure != VFR_OK) return vfr_status_name(d->failure);
    return d->device_bound ? "device-bound" : tails[d->state.tail];
}

static bool read_file(const char *path, vfr_memory *memory) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    text bytes = {0};
    char buffer[16384];
    size_t count;
    while ((count = fread(buffer, 1, sizeof buffer, file)) > 0) put_bytes(&bytes, buffer, count);
    bool read = ferror(file) == 0;
    fclose(file);
    *memory = (vfr_memory){(uint8_t *)bytes.bytes, bytes.length};
    return read;
}

static bool same_bytes(vfr_bytes left, vfr_bytes right) {
    return left.length == right.length && (left.length == 0 || memcmp(left.data, right.data, left.length) == 0);
}

static bool same_slot(const vfr_slot *left, const vfr_slot *right) {
    return memcmp(left->id, right->id, 16) == 0 && left->kind == right->kind && left->factors == right->factors &&
           left->known == right->known && left->memory == right->memory && left->passes == right->passes &&
           left->lanes == right->lanes && same_bytes(left->provider, right->provider) &&
           same_bytes(left->parameters, right->parameters) && same_bytes(left->bytes, right->bytes);
}

static bool same_extension(const vfr_extension *left, const vfr_extension *right) {
    return left->flags == right->flags && same_bytes(left->name, right->name) && same_bytes(left->value, right->value);
}

/* Reads the header alone, and compares it with what opening says. */
static void check_header(const vfr_source *source, const request *r, vfr_status opened, const vfr_vault *vault) {
    vfr_header *header;
    vfr_failure failure;
    vfr_status status = vfr_header_open(source, &r->options, &header, &failure);
    bool of_header = opened == VFR_NOT_A_VAULT || opened == VFR_UNSUPPORTED_VERSION || opened == VFR_HEADER_INVALID;
    if (of_header && status != opened) abort();
    if (status != VFR_OK) {
        /* A keyring can have a critical extension, too. */
        if (header != NULL || (status != opened && status != VFR_OUT_OF_BUDGET)) abort();
        return;
    }
    vfr_slot slot, other;
    vfr_extension extension, known;
    uint8_t id[16];
    vfr_state state;
    vfr_header_id(header, id);
    if (vault != NULL) {
        vfr_get_state(vault, &state);
        if (memcmp(id, state.vault_id, 16) != 0) abort();
        size_t i = 0;
        for (; vfr_header_slot(header, i, &slot) == VFR_OK; i++) {
            if (vfr_get_slot(vault, i, &other) != VFR_OK || !same_slot(&slot, &other)) abort();
        }
        if (i == 0 || vfr_get_slot(vault, i, &other) != VFR_NOT_FOUND) abort();
        for (i = 0; vfr_header_extension(header, i, &extension) == VFR_OK; i++) {
            if (vfr_get_header_extension(vault, i, &known) != VFR_OK || !same_extension(&extension, &known)) abort();
        }
        if (vfr_get_header_extension(vault, i, &known) != VFR_NOT_FOUND) abort();
    }
    vfr_header_close(header);
}

static int run(request *r, text *out) {
    vfr_memory memory;
    if (r->unsupported) {
        put(out, "unsupported-provider\n");
        return 0;
    }
    if (!read_file(r->file, &memory)) {
        fprintf(stderr, "check: cannot read %s\n", r->file);
        return 2;
    }
    text body = {0};
    dump d = {.out = &body, .pasts_read = true};
    vfr_source source = vfr_memory_source(&memory);
    vfr_status status = vfr_open(&source, &r->options, &r->factors, &d.vault, NULL);
    check_header(&source, r, status, d.vault);
    if (status == VFR_OK) {
        vfr_get_state(d.vault, &d.state);
        vfr_get_settings(d.vault, &d.settings);
        dump_state(&d);
        status = dump_vector(&d, r);
        if (status == VFR_OK) status = dump_keyring(&d);
        if (status == VFR_OK) status = dump_tree(&d);
        if (status == VFR_OK) put(&body, "end\n");
    }
    if (d.failure == VFR_OK) d.failure = status;
    put(out, "%s\n", verdict_of(&d));
    put_bytes(out, body.bytes, body.length);
    vfr_close(d.vault);
    free(body.bytes);
    free((void *)(uintptr_t)memory.bytes);
    return 0;
}

/* Answers one request, whose words are changed. */
static int respond(char **words, size_t count) {
    request r = {.options = {.budget = (size_t)64 << 20}};
    text out = {0};
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(words[i], "--", 2) != 0) {
            r.file = words[i];
        } else if (i + 1 == count || !parse_option(&r, words[i] + 2, words[i + 1])) {
            fprintf(stderr, "check: wrong option %s\n", words[i]);
            code = 2;
            break;
        } else {
            i++;
        }
    }
    if (code == 0 && r.file == NULL) code = 2;
    if (code == 0) code = run(&r, &out);
    fwrite(out.bytes, 1, out.length, stdout);
    for (size_t i = 0; i < r.owned_count; i++) free(r.owned[i]);
    free(out.bytes);
    return code;
}

/* Answers the requests of standard input, one a line. */
static int serve(void) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        char *words[64];
        size_t count = 0;
        if (line[length - 1] == '\n') line[length - 1] = 0;
        for (char *word = strtok(line, " "); word != NULL && count < 64; word = strtok(NULL, " ")) {
            words[count++] = word;
        }
        if (respond(words, count) != 0) {
            free(line);
            return 2;
        }
        puts(".");
        fflush(stdout);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "check") != 0) {
        fputs("usage: check check [--OPTION VALUE]... FILE\n", stderr);
        return 2;
    }
    return argc == 2 ? serve() : respond(argv + 2, (size_t)argc - 2);
}
