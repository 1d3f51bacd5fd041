/* Pages: reads a page, and checks all of it before any entry is used (section 5.2). */
#include "pages.h"

#include <string.h>

/* Returns piece 0 or 1 of a key in two pieces. */
static vfr_bytes piece(const vfri_split *key, size_t index) {
    return index == 0 ? key->prefix : key->rest;
}

int vfri_compare_split(const vfri_split *left, const vfri_split *right) {
    size_t at[2] = {0, 0};
    vfr_bytes now[2] = {piece(left, 0), piece(right, 0)};
    for (;;) {
        for (size_t side = 0; side < 2; side++) {
            if (now[side].length == 0 && at[side] == 0) {
                at[side] = 1;
                now[side] = piece(side == 0 ? left : right, 1);
            }
        }
        if (now[0].length == 0 || now[1].length == 0) return (now[0].length > 0) - (now[1].length > 0);
        size_t common = now[0].length < now[1].length ? now[0].length : now[1].length;
        int order = memcmp(now[0].data, now[1].data, common);
        if (order != 0) return order;
        for (size_t side = 0; side < 2; side++) {
            now[side].data += common;
            now[side].length -= common;
        }
    }
}

/* Reads the next key or separator of a page. */
static vfri_split next_key(vfri_page *page) {
    vfri_split key = {.prefix = page->prefix};
    key.rest = vfri_take(&page->cursor, vfri_count(&page->cursor, VFRI_PAGE_KEY));
    vfri_require(&page->cursor, page->prefix.length + key.rest.length <= VFRI_PAGE_KEY);
    return key;
}

vfr_reference vfri_page_child(vfri_page *page, vfri_split *separator) {
    vfr_reference child = vfri_narrow(&page->cursor);
    if (page->index < page->count) *separator = next_key(page);
    page->index++;
    return child;
}

vfri_split vfri_page_entry(vfri_page *page, vfr_bytes *value) {
    vfri_split key = next_key(page);
    *value = vfri_take(&page->cursor, vfri_count(&page->cursor, VFRI_PAGE_MAX));
    page->index++;
    return key;
}

/* the first byte of a leaf's key determines the type of the entry. */
static bool is_entry(const vfri_split *key) {
    vfr_bytes first = key->prefix.length > 0 ? key->prefix : key->rest;
    if (first.length == 0) return false;
    return (first.data[0] >= 1 && first.data[0] <= 63) || first.data[0] == VFRI_FORGOTTEN;
}

/* the parts of the keys after the prefix must not have a common
 * prefix. */
static bool is_longest_prefix(const vfri_page *page, const vfri_split *first, const vfri_split *last) {
    if (page->count == 0) return page->prefix.length == 0;
    if (page->count == 1) return first->rest.length == 0;
    if (first->rest.length == 0 || last->rest.length == 0) return true;
    return first->rest.data[0] != last->rest.data[0];
}

/* Checks the keys, their order, and that they are within the bounds of the path. */
static void check_keys(vfri_page *page) {
    vfri_split first = {.prefix = page->prefix}, last = first;
    vfri_page walk = *page;
    for (size_t i = 0; i < page->count && !walk.cursor.failed; i++) {
        vfri_split key = {.prefix = page->prefix};
        if (page->level == 0) {
            vfr_bytes value;
            key = vfri_page_entry(&walk, &value);
            vfri_require(&walk.cursor, is_entry(&key));
        } else {
            (void)vfri_page_child(&walk, &key);
        }
        vfri_require(&walk.cursor, i == 0 || vfri_compare(last.rest, key.rest) < 0);
        if (i == 0) first = key;
        last = key;
    }
    if (page->level > 0) {
        vfri_split none;
        (void)vfri_page_child(&walk, &none);
    }
    vfri_frame_padding(&walk.cursor);
    page->cursor.failed = walk.cursor.failed || !is_longest_prefix(page, &first, &last);
    if (page->cursor.failed || page->count == 0) return;
    vfri_require(&page->cursor, !page->has_lower || vfri_compare_split(&first, &page->lower) >= 0);
    vfri_require(&page->cursor, !page->has_upper || vfri_compare_split(&last, &page->upper) < 0);
}

vfr_status vfri_read_page(vfr_vault *vault, vfr_reference reference, uint64_t before, uint8_t level, vfri_page *page) {
    vfr_bytes body;
    vfr_status status = vfri_load(vault, "vPAG", "vaultfmt-1 page", vault->keys.index, reference, before, &page->frame,
                                  &body);
    if (status != VFR_OK) return status;
    page->offset = reference.offset;
    page->index = 0;
    page->cursor = vfri_cursor_of(body.data, body.length);
    page->level = vfri_u8(&page->cursor);
    vfri_require(&page->cursor, page->level == level);
    page->count = vfri_count(&page->cursor, VFRI_ENTRIES);
    vfri_require(&page->cursor, level > 0 || page->count >= 1);
    page->prefix = vfri_take(&page->cursor, vfri_count(&page->cursor, VFRI_PAGE_KEY));
    if (!page->cursor.failed) check_keys(page);
    if (!page->cursor.failed) return VFR_OK;
    VFRI_RELEASE(&vault->memory, page->frame);
    return VFR_STRUCTURE_INVALID;
}
