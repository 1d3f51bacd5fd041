/* A past, shared by the files that decode it and determine the roles of its
 * values. */
#ifndef VAULTFMT_READER_PASTS_H
#define VAULTFMT_READER_PASTS_H

#include "internal.h"

typedef struct vfri_sibling {
    size_t dot;
    int64_t created, modified;
    const uint8_t *fields, *earlier; /* bitmaps over the values */
} vfri_sibling;

struct vfr_past {
    vfr_vault *vault;
    uint8_t *frame;
    uint64_t offset;
    uint8_t item_id[16];
    size_t dot_count, value_count, sibling_count;
    vfr_dot *dots;
    uint8_t *used;        /* for each dot, whether it is used */
    vfr_value *values;
    size_t *value_dots;   /* indices of their dots */
    vfri_sibling *siblings;
};

/* Returns whether a value is a secret or a sealed attribute. */
bool vfri_is_protected(const vfr_value *value);
/* Returns whether a value has the kind, name and dot of a field that the item shows; `*flags` are set to the flags of
 * the shown attribute. */
bool vfri_is_field(const vfr_item *item, const vfr_value *value, uint8_t *flags);
/* Performs the checks that need the item's entry. */
bool vfri_check_siblings(const vfr_past *past, const vfr_item *item);

#endif
