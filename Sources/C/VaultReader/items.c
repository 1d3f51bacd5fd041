/* Items: decodes and checks the entries of leaves, with their attributes and dots (sections 6.2, 6.3 and 6.5). */
#include "internal.h"

#include <string.h>

enum { FIELD_DOTS = 0x01, TO_SETTLE = 0x02, HAS_PAST = 0x04, NO_SECRET = 0x08 };

static bool is_revision(const vfr_vault *vault, uint64_t revision) {
    return revision >= 1 && revision <= vault->commit.clock;
}

/* ---- Attributes ---- */

void vfri_attribute_name(vfri_cursor *cursor, uint8_t *flags, vfr_bytes *name) {
    *flags = vfri_u8(cursor);
    vfri_require(cursor, (*flags & ~0x37) == 0 && (*flags & 0x30) != 0x30);
    size_t length = vfri_u8(cursor);
    vfri_require(cursor, length >= 1);
    *name = vfri_take(cursor, length);
    vfri_require(cursor, vfri_is_text(*name));
}

void vfri_attributes(const vfr_vault *vault, vfri_cursor *cursor, size_t *count, vfr_attribute *attributes) {
    *count = vfri_count(cursor, VFR_ATTRIBUTES);
    for (size_t i = 0; i < *count && !cursor->failed; i++) {
        vfr_attribute *attribute = &attributes[i];
        memset(attribute, 0, sizeof *attribute);
        vfri_attribute_name(cursor, &attribute->flags, &attribute->name);
        vfri_require(cursor, i == 0 || vfri_compare(attributes[i - 1].name, attribute->name) < 0); /* */
        if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) != 0) {
            attribute->record = vfri_narrow(cursor);
            attribute->record_revision = vfri_u64(cursor);
            attribute->compartment = vfri_u64(cursor);
            vfri_require(cursor, is_revision(vault, attribute->record_revision));
        } else if ((attribute->flags & VFR_ATTRIBUTE_IN_RECORD) == 0) {
            vfri_require(cursor, (attribute->flags & VFR_ATTRIBUTE_SEALED) == 0); /* */
            attribute->value = vfri_take(cursor, vfri_count(cursor, VFRI_PAGE_VALUE));
        }
    }
}

/* ---- Forgotten values ---- */

static uint64_t big_endian(vfri_cursor *cursor) {
    const uint8_t *bytes = vfri_fixed(cursor, 8);
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++) value = value << 8 | bytes[i];
    return value;
}

/* Checks if the vector was read. */
static vfr_status decode_forgotten(const vfr_vault *vault, vfr_bytes key, vfr_bytes value, vfr_forgotten *forgotten) {
    vfri_cursor cursor = vfri_cursor_of(key.data, key.length);
    (void)vfri_u8(&cursor);
    forgotten->revision = big_endian(&cursor);
    forgotten->replica = big_endian(&cursor);
    forgotten->kind = vfri_u8(&cursor);
    forgotten->name = vfri_take(&cursor, cursor.left);
    vfri_require(&cursor, value.length == 0 && forgotten->kind <= 1 && is_revision(vault, forgotten->revision));
    vfri_require(&cursor, (forgotten->replica == 0) == (forgotten->revision <= vault->commit.floor));
    if (forgotten->kind == 0) vfri_require(&cursor, forgotten->name.length == 0);
    else vfri_require(&cursor, forgotten->name.length >= 1 && forgotten->name.length <= 255);
    vfri_require(&cursor, vfri_is_text(forgotten->name));
    if (vault->has_rows && forgotten->replica != 0) {
        const vfr_row *row = vfri_find_row(vault->rows.sorted, vault->rows.count, forgotten->replica);
        vfri_require(&cursor, row != NULL && forgotten->revision <= row->revision);
    }
    return cursor.failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

/* ---- Items ---- */

/* Decodes further dots, and assigns them to fields. */
static void decode_field_dots(vfri_cursor *cursor, const vfr_vault *vault, vfri_item_buffer *buffer, bool has_secret) {
    const vfr_item *item = &buffer->entry.item;
    size_t fields = 3 + item->attribute_count, bitmap_size = (fields + 7) / 8;
    bool given[VFRI_ITEM_FIELDS] = {false};
    uint64_t last_difference = 0, last_position = 0;
    size_t count = vfri_u8(cursor);
    vfri_require(cursor, count >= 1 && count <= VFRI_FURTHER_DOTS);
    for (size_t i = 0; i < count && !cursor->failed; i++) {
        uint64_t difference = vfri_varint(cursor);
        vfr_dot dot = {.position = vfri_varint(cursor)};
        vfri_require(cursor, difference < item->dot.revision);
        if (cursor->failed) return;
        dot.revision = item->dot.revision - difference;
        vfri_require(cursor, vfri_check_dot(vault, &dot) && vfri_compare_dots(&dot, &item->dot) != 0);
        vfri_require(cursor, i == 0 || difference > last_difference ||
                                 (difference == last_difference && dot.position > last_position));
        last_difference = difference;
        last_position = dot.position;
        const uint8_t *bitmap = vfri_fixed(cursor, bitmap_size);
        bool any = false;
        for (size_t bit = 0; bit < 8 * bitmap_size; bit++) {
            if ((bitmap[bit / 8] >> (bit % 8) & 1) == 0) continue;
            vfri_require(cursor, bit < fields && !given[bit] && (bit != 2 || has_secret));
            if (cursor->failed) return;
            given[bit] = any = true;
            buffer->dots[bit] = dot;
        }
        vfri_require(cursor, any);
    }
}

/* Sets the dots of the item's fields, and the times, which are relative to them. */
static void place_dots(vfri_cursor *cursor, vfri_item_buffer *buffer, uint64_t least) {
    vfr_item *item = &buffer->entry.item;
    item->key_dot = buffer->dots[0];
    item->place_dot = buffer->dots[1];
    item->secret_dot = buffer->dots[2];
    for (size_t i = 0; i < item->attribute_count; i++) buffer->attributes[i].dot = buffer->dots[3 + i];
    /* The sum cannot overflow: the terms are at most 2^62 and 2^47. */
    item->created += (int64_t)(least >> 16);
    item->modified += (int64_t)(item->dot.revision >> 16);
    vfri_require(cursor, vfri_is_time(item->created) && vfri_is_time(item->modified));
}

bool vfri_is_time(int64_t time) {
    return time >= -VFRI_TIME_MAX - 1 && time <= VFRI_TIME_MAX;
}

/* Checks that a compartment exists and belongs to the item's group. */
static bool is_in_group(const vfr_vault *vault, uint64_t number, vfr_bytes group) {
    const vfri_compartment *compartment = vfri_find_compartment(vault, number);
    const vfri_group *found = compartment == NULL ? NULL : vfri_find_group(vault, compartment->group);
    return found != NULL && vfri_field_equals(group, found->name);
}

/* Checks, and the record revision. */
static bool is_consistent(const vfr_vault *vault, const vfr_item *item, vfr_bytes group) {
    const vfr_reference *record = &item->record;
    bool none = record->offset == 0 && record->length == 0 && vfri_is_zero(record->hash, 32);
    bool needed = item->has_secret;
    for (size_t i = 0; i < item->attribute_count; i++) {
        const vfr_attribute *attribute = &item->attributes[i];
        needed = needed || (attribute->flags & VFR_ATTRIBUTE_IN_RECORD) != 0;
        if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) continue;
        if (!is_in_group(vault, attribute->compartment, group)) return false;
    }
    if (none == needed || (item->to_settle && !item->has_past)) return false;
    if (none ? item->record_revision != 0 : !is_revision(vault, item->record_revision)) return false;
    return is_in_group(vault, item->compartment, group);
}

static vfr_status decode_item(const vfr_vault *vault, vfr_bytes key, vfr_bytes value, uint64_t page_offset,
                              vfri_item_buffer *buffer) {
    vfr_item *item = &buffer->entry.item;
    vfri_cursor cursor = vfri_cursor_of(value.data, value.length);
    vfr_bytes group;
    if (!vfri_check_page_key(key, &item->conflict, &group)) return VFR_STRUCTURE_INVALID;
    item->page_key = key;
    item->page_offset = page_offset;
    item->record = vfri_narrow(&cursor);
    memcpy(item->id, vfri_fixed(&cursor, 16), 16);
    item->dot = vfri_dot(&cursor);
    vfri_require(&cursor, vfri_check_dot(vault, &item->dot));
    item->record_revision = vfri_u64(&cursor);
    item->compartment = vfri_u64(&cursor);
    item->created = vfri_zigzag(&cursor);
    item->modified = vfri_zigzag(&cursor);
    uint8_t flags = vfri_u8(&cursor);
    vfri_require(&cursor, flags <= 0x0F);
    item->has_secret = (flags & NO_SECRET) == 0;
    item->has_past = (flags & HAS_PAST) != 0;
    item->to_settle = (flags & TO_SETTLE) != 0;
    if (item->has_past) item->past = vfri_narrow(&cursor);
    item->attributes = buffer->attributes;
    vfri_attributes(vault, &cursor, &item->attribute_count, buffer->attributes);
    for (size_t i = 0; i < VFRI_ITEM_FIELDS; i++) buffer->dots[i] = item->dot;
    if (!cursor.failed && (flags & FIELD_DOTS) != 0) decode_field_dots(&cursor, vault, buffer, item->has_secret);
    uint64_t least = item->dot.revision;
    for (size_t i = 0; i < VFRI_ITEM_FIELDS; i++) {
        if (buffer->dots[i].revision < least) least = buffer->dots[i].revision;
    }
    place_dots(&cursor, buffer, least);
    vfri_require(&cursor, cursor.left == 0);
    if (item->conflict) vfri_require(&cursor, memcmp(key.data + key.length - 16, item->id, 16) == 0); /* */
    return !cursor.failed && is_consistent(vault, item, group) ? VFR_OK : VFR_STRUCTURE_INVALID;
}

vfr_status vfri_decode_entry(const vfr_vault *vault, vfr_bytes key, vfr_bytes value, uint64_t page_offset,
                             vfri_item_buffer *buffer) {
    memset(&buffer->entry, 0, sizeof buffer->entry);
    if (key.data[0] == VFRI_FORGOTTEN) return decode_forgotten(vault, key, value, &buffer->entry.forgotten);
    buffer->entry.is_item = true;
    return decode_item(vault, key, value, page_offset, buffer);
}
