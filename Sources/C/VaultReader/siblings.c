/* Siblings: checks a past against the item's entry (R-5.28, R-5.29; section 6.4). */
#include "pasts.h"

#include <string.h>

static bool same_dot(const vfr_dot *left, const vfr_dot *right) {
    return vfri_compare_dots(left, right) == 0;
}

bool vfri_is_field(const vfr_item *item, const vfr_value *value, uint8_t *flags) {
    *flags = 0;
    switch (value->kind) {
    case VFR_VALUE_SECRET: return item->has_secret && same_dot(&item->secret_dot, &value->dot);
    case VFR_VALUE_KEY: return same_dot(&item->key_dot, &value->dot);
    case VFR_VALUE_PLACE: return same_dot(&item->place_dot, &value->dot);
    default: break;
    }
    for (size_t i = 0; i < item->attribute_count; i++) {
        const vfr_attribute *attribute = &item->attributes[i];
        if (!vfri_same(attribute->name, value->name)) continue;
        *flags = attribute->flags;
        return same_dot(&attribute->dot, &value->dot);
    }
    return false;
}

/* Checks the values of a past that lists no siblings. */
static bool check_without_siblings(const vfr_past *past, const vfr_item *item) {
    for (size_t i = 0; i < past->value_count; i++) {
        const vfr_value *value = &past->values[i];
        uint8_t flags;
        if ((value->flags & (VFR_VALUE_OPEN | VFR_VALUE_EARLIER)) == 0) return false;
        if ((value->flags & VFR_VALUE_SHOWN) != 0) return false;
        if (vfri_is_field(item, value, &flags)) return false;
    }
    return true;
}

/* Checks that the values with flag 04 are exactly the fields in the entry. */
static bool check_shown(const vfr_past *past, const vfr_item *item) {
    size_t shown = 0;
    for (size_t i = 0; i < past->value_count; i++) {
        const vfr_value *value = &past->values[i];
        uint8_t flags;
        bool is_field = vfri_is_field(item, value, &flags);
        if (is_field != ((value->flags & VFR_VALUE_SHOWN) != 0)) return false;
        if (is_field && flags != value->attribute_flags) return false;
        shown += is_field;
    }
    return shown == 2 + (size_t)item->has_secret + item->attribute_count;
}

/* Checks the fields and earlier values of one sibling. */
static bool check_sibling(const vfr_past *past, size_t sibling) {
    size_t counts[4] = {0};
    const vfr_value *last = NULL; /* the previous attribute: values with the same name are adjacent */
    for (size_t i = 0; i < past->value_count; i++) {
        const vfr_value *value = &past->values[i];
        bool field = vfr_sibling_has_field(past, sibling, i), earlier = vfr_sibling_has_earlier(past, sibling, i);
        if (earlier && (field || !vfri_is_protected(value) || (value->flags & VFR_VALUE_FORGOTTEN) != 0)) return false;
        if (!field) continue;
        counts[value->kind]++;
        if (value->kind != VFR_VALUE_ATTRIBUTE) continue;
        if (last != NULL && vfri_same(last->name, value->name)) return false;
        last = value;
    }
    return counts[VFR_VALUE_KEY] == 1 && counts[VFR_VALUE_PLACE] == 1 && counts[VFR_VALUE_SECRET] <= 1;
}

/* Returns whether the siblings should have been omitted: there is only one, its fields are the shown ones, and all of
 * them are open. */
static bool is_single(const vfr_past *past) {
    if (past->sibling_count != 1) return false;
    for (size_t i = 0; i < past->value_count; i++) {
        uint8_t flags = past->values[i].flags;
        bool field = vfr_sibling_has_field(past, 0, i);
        if (field != ((flags & VFR_VALUE_SHOWN) != 0) || (field && (flags & VFR_VALUE_OPEN) == 0)) return false;
    }
    return true;
}

/* Checks that every value is open or belongs to a sibling, and is not flagged as earlier. */
static bool check_owners(const vfr_past *past) {
    for (size_t i = 0; i < past->value_count; i++) {
        uint8_t flags = past->values[i].flags;
        bool found = (flags & VFR_VALUE_OPEN) != 0;
        for (size_t j = 0; j < past->sibling_count && !found; j++) {
            found = vfr_sibling_has_field(past, j, i) || vfr_sibling_has_earlier(past, j, i);
        }
        if (!found || (flags & VFR_VALUE_EARLIER) != 0) return false;
    }
    return true;
}

bool vfri_check_siblings(const vfr_past *past, const vfr_item *item) {
    if (past->sibling_count == 0) return check_without_siblings(past, item);
    int64_t created = past->siblings[0].created, modified = past->siblings[0].modified;
    for (size_t i = 0; i < past->sibling_count; i++) {
        const vfri_sibling *sibling = &past->siblings[i];
        if (sibling->created < created) created = sibling->created;
        if (sibling->modified > modified) modified = sibling->modified;
        if (!check_sibling(past, i)) return false;
    }
    const vfr_dot *last = &past->dots[past->siblings[past->sibling_count - 1].dot];
    return same_dot(last, &item->dot) && created == item->created && modified == item->modified && check_owners(past) &&
           check_shown(past, item) && !is_single(past);
}
