/* Roles: determines which values of a past are left to settle, and which are earlier values to list (the table in
 * section 6.4). */
#include "pasts.h"

#include <string.h>

/* The hash by which a value is compared: the hash of its bytes or, if the value differs from all others, of its dot. */
typedef struct mark {
    uint8_t hash[32];
    bool is_set;
    bool is_read; /* true if the value is from a record that could be read */
} mark;

typedef struct work {
    vfr_past *past;
    const vfr_item *item;
    vfr_record *record; /* the item's; NULL if it cannot be read, or is bound to a device */
    mark *marks;        /* of the values that can have a role */
    vfr_role *roles;
} work;

/* ---- Marks ---- */

static void mark_bytes(mark *out, uint8_t flags, vfr_bytes bytes, const void *more, size_t count) {
    uint8_t start[2] = {0, flags & (VFR_ATTRIBUTE_SEALED | VFR_ATTRIBUTE_CONCEALED | VFR_ATTRIBUTE_BINARY)};
    vfri_hash hash;
    vfri_hash_start(&hash);
    vfri_hash_add(&hash, start, sizeof start);
    vfri_hash_add(&hash, more, count);
    vfri_hash_add(&hash, bytes.data, bytes.length);
    vfri_hash_finish(&hash, out->hash);
    out->is_set = true;
}

/* Marks a value that differs from all values with other dots. */
static void mark_dot(mark *out, const vfr_dot *dot) {
    uint8_t bytes[17] = {1};
    vfri_hash hash;
    vfri_store64(bytes + 1, dot->revision);
    vfri_store64(bytes + 9, dot->position);
    vfri_hash_start(&hash);
    vfri_hash_add(&hash, bytes, sizeof bytes);
    vfri_hash_finish(&hash, out->hash);
    out->is_set = true;
}

static void mark_place(mark *out, uint8_t accessibility, const uint8_t device[16], vfr_bytes group) {
    uint8_t place[17];
    place[0] = accessibility;
    memcpy(place + 1, device, 16);
    mark_bytes(out, 0, group, place, sizeof place);
}

static bool is_bound(const vfr_vault *vault, uint64_t number) {
    const vfri_compartment *compartment = vfri_find_compartment(vault, number);
    return compartment == NULL || vfri_needs_device(compartment->accessibility);
}

/* Returns whether a status is a failure of this machine, rather than of a single value. */
static bool is_fatal(vfr_status status) {
    return status == VFR_OUT_OF_BUDGET || status == VFR_IO;
}

/* Returns whether two values are stored in the same place of the same
 * record. */
static bool is_same_place(const vfr_value *one, const vfr_value *other) {
    return one->has_record && other->has_record && one->record.offset == other->record.offset &&
           one->record.length == other->record.length && memcmp(one->record.hash, other->record.hash, 32) == 0 &&
           one->record_revision == other->record_revision && one->compartment == other->compartment &&
           one->kind == other->kind && one->attribute_flags == other->attribute_flags &&
           vfri_same(one->name, other->name) && vfri_same(one->attributes, other->attributes);
}

/* Returns the first compared value before this one that is stored in the same place; `index` if there is none. Without
 * this, a few kilobytes of values could cause a large record to be read thousands of times. */
static size_t first_in_place(const work *w, size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (w->marks[i].is_set && is_same_place(&w->past->values[i], &w->past->values[index])) return i;
    }
    return index;
}

static vfr_status mark_value(work *w, size_t index) {
    const vfr_value *value = &w->past->values[index];
    mark *out = &w->marks[index];
    if (value->kind == VFR_VALUE_PLACE) {
        mark_place(out, value->accessibility, value->device, value->content);
        return VFR_OK;
    }
    if (!value->has_record) {
        mark_bytes(out, value->attribute_flags, value->content, NULL, 0);
        return VFR_OK;
    }
    mark_dot(out, &value->dot);
    if (is_bound(w->past->vault, value->compartment)) return VFR_OK;
    size_t first = first_in_place(w, index);
    if (first < index) {
        if (w->marks[first].is_read) *out = w->marks[first];
        return VFR_OK;
    }
    vfr_record *record;
    vfr_status status = vfr_read_value(w->past, index, &record);
    if (status == VFR_OK) mark_bytes(out, value->attribute_flags, vfr_record_secret(record), NULL, 0);
    out->is_read = status == VFR_OK;
    vfr_record_close(record);
    return is_fatal(status) ? status : VFR_OK;
}

/* Marks the item's key in the form of a past: without its group, and without a conflict's suffix. */
static void mark_key(const vfr_item *item, mark *out) {
    vfr_bytes key = item->page_key, group;
    bool conflict;
    if (!vfri_check_page_key(key, &conflict, &group)) return;
    if (conflict) key.length -= 16;
    uint8_t sync = key.data[key.length - 1] & 1;
    const uint8_t end[3] = {0, 0, sync};
    vfri_hash hash;
    const uint8_t start[2] = {0, 0};
    vfri_hash_start(&hash);
    vfri_hash_add(&hash, start, sizeof start);
    vfri_hash_add(&hash, key.data, (size_t)(group.data - key.data));
    vfri_hash_add(&hash, end, sizeof end);
    vfri_hash_finish(&hash, out->hash);
    out->is_set = true;
}

static void mark_shown_place(const work *w, mark *out) {
    const vfri_compartment *compartment = vfri_find_compartment(w->past->vault, w->item->compartment);
    const vfri_group *group = compartment == NULL ? NULL : vfri_find_group(w->past->vault, compartment->group);
    if (group != NULL) mark_place(out, compartment->accessibility, compartment->device, group->name);
}

static vfr_status mark_shown_attribute(work *w, vfr_bytes name, mark *out) {
    const vfr_item *item = w->item;
    for (size_t i = 0; i < item->attribute_count; i++) {
        const vfr_attribute *attribute = &item->attributes[i];
        if (!vfri_same(attribute->name, name)) continue;
        if ((attribute->flags & VFR_ATTRIBUTE_IN_RECORD) != 0) {
            vfr_record_value value;
            if (w->record == NULL || vfr_record_attribute(w->record, name, &value) != VFR_OK) return VFR_OK;
            mark_bytes(out, attribute->flags, value.value, NULL, 0);
            return VFR_OK;
        }
        if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) {
            mark_bytes(out, attribute->flags, attribute->value, NULL, 0);
            return VFR_OK;
        }
        if (is_bound(w->past->vault, attribute->compartment)) return VFR_OK;
        vfr_record *record;
        vfr_status status = vfr_read_attribute(w->past->vault, item, i, &record);
        if (status == VFR_OK) mark_bytes(out, attribute->flags, vfr_record_secret(record), NULL, 0);
        vfr_record_close(record);
        return is_fatal(status) ? status : VFR_OK;
    }
    return VFR_OK;
}

/* Marks the shown value of a field; the mark remains unset if there is no such value or it cannot be compared. */
static vfr_status mark_shown(work *w, const vfr_value *field, mark *out) {
    memset(out, 0, sizeof *out);
    switch (field->kind) {
    case VFR_VALUE_SECRET:
        if (w->item->has_secret && w->record != NULL) mark_bytes(out, 0, vfr_record_secret(w->record), NULL, 0);
        return VFR_OK;
    case VFR_VALUE_KEY: mark_key(w->item, out); return VFR_OK;
    case VFR_VALUE_PLACE: mark_shown_place(w, out); return VFR_OK;
    default: return mark_shown_attribute(w, field->name, out);
    }
}

static bool equals(const mark *left, const mark *right) {
    return left->is_set && right->is_set && vfri_equal32(left->hash, right->hash);
}

/* ---- Roles ---- */

/* Returns the role that a value can have before it is compared. */
static vfr_role candidate(const vfr_past *past, size_t index) {
    const vfr_value *value = &past->values[index];
    if ((value->flags & (VFR_VALUE_SHOWN | VFR_VALUE_FORGOTTEN)) != 0) return VFR_ROLE_NONE;
    if ((value->flags & VFR_VALUE_OPEN) != 0) return VFR_ROLE_TO_SETTLE;
    if ((value->flags & VFR_VALUE_EARLIER) != 0) return VFR_ROLE_EARLIER;
    for (size_t i = 0; i < past->sibling_count; i++) {
        if (vfr_sibling_has_earlier(past, i, index)) return VFR_ROLE_EARLIER;
        if (vfri_is_protected(value) && vfr_sibling_has_field(past, i, index)) return VFR_ROLE_EARLIER;
    }
    return VFR_ROLE_NONE;
}

/* Compares by revision, then by replica id (section 1), or by position if the vector has not been read. */
static bool is_newer(const vfr_dot *left, const vfr_dot *right) {
    if (left->revision != right->revision) return left->revision > right->revision;
    if (left->replica != right->replica) return left->replica > right->replica;
    return left->position > right->position;
}

/* Of equal earlier values, keeps only the one with the greatest dot. All values to settle are kept, even equal ones. */
static void merge_equal(work *w, size_t start, size_t end) {
    for (size_t i = start; i < end; i++) {
        for (size_t j = start; j < end && w->roles[i] == VFR_ROLE_EARLIER; j++) {
            if (i == j || w->roles[j] != VFR_ROLE_EARLIER || !equals(&w->marks[i], &w->marks[j])) continue;
            bool newer = is_newer(&w->past->values[i].dot, &w->past->values[j].dot);
            w->roles[newer ? j : i] = VFR_ROLE_NONE;
        }
    }
}

/* Keeps only the newest earlier values. */
static void keep_newest(work *w, size_t start, size_t end) {
    size_t limit = w->past->vault->keyring.limit;
    for (size_t left = end - start; left > 0; left--) {
        size_t count = 0, oldest = end;
        for (size_t i = start; i < end; i++) {
            if (w->roles[i] != VFR_ROLE_EARLIER) continue;
            count++;
            if (oldest == end || is_newer(&w->past->values[oldest].dot, &w->past->values[i].dot)) oldest = i;
        }
        if (count <= limit) return;
        w->roles[oldest] = VFR_ROLE_NONE;
    }
}

/* Keeps only the earlier values that differ from the shown value and from the values to settle. */
static void drop_listed(work *w, size_t start, size_t end, const mark *shown) {
    for (size_t i = start; i < end; i++) {
        if (w->roles[i] != VFR_ROLE_EARLIER) continue;
        bool listed = equals(&w->marks[i], shown);
        for (size_t j = start; j < end; j++) {
            listed = listed || (w->roles[j] == VFR_ROLE_TO_SETTLE && equals(&w->marks[i], &w->marks[j]));
        }
        if (listed) w->roles[i] = VFR_ROLE_NONE;
    }
}

/* Assigns roles to the values of one field. */
static vfr_status assign(work *w, size_t start, size_t end) {
    mark shown;
    vfr_status status = mark_shown(w, &w->past->values[start], &shown);
    for (size_t i = start; i < end && status == VFR_OK; i++) {
        w->roles[i] = candidate(w->past, i);
        if (w->roles[i] != VFR_ROLE_NONE) status = mark_value(w, i);
        if (w->roles[i] == VFR_ROLE_TO_SETTLE && equals(&w->marks[i], &shown)) w->roles[i] = VFR_ROLE_NONE;
    }
    if (status == VFR_OK) {
        merge_equal(w, start, end);
        keep_newest(w, start, end);
        drop_listed(w, start, end, &shown);
    }
    vfri_wipe(&shown, sizeof shown);
    return status;
}

vfr_status vfr_get_roles(vfr_past *past, const vfr_item *item, vfr_role *roles) {
    vfr_vault *vault = past->vault;
    work w = {.past = past, .item = item, .roles = roles};
    for (size_t i = 0; i < past->value_count; i++) roles[i] = VFR_ROLE_NONE;
    if (memcmp(past->item_id, item->id, 16) != 0) return VFR_INVALID_ARGUMENT;
    w.marks = vfri_allocate_array(&vault->memory, past->value_count, sizeof *w.marks);
    if (w.marks == NULL) return VFR_OUT_OF_BUDGET;
    vfr_status status = VFR_OK;
    if (!is_bound(vault, item->compartment)) status = vfr_read_record(vault, item, &w.record);
    if (!is_fatal(status)) status = VFR_OK;
    for (size_t start = 0, end; start < past->value_count && status == VFR_OK; start = end) {
        const vfr_value *first = &past->values[start];
        for (end = start + 1; end < past->value_count; end++) {
            const vfr_value *next = &past->values[end];
            if (next->kind != first->kind || !vfri_same(next->name, first->name)) break;
        }
        status = assign(&w, start, end);
    }
    if (status != VFR_OK) {
        for (size_t i = 0; i < past->value_count; i++) roles[i] = VFR_ROLE_NONE;
    }
    vfr_record_close(w.record);
    vfri_release(&vault->memory, w.marks);
    return status;
}
