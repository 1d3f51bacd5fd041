/* One page of the tree, for the list that walks it. */
#ifndef VAULTFMT_READER_PAGES_H
#define VAULTFMT_READER_PAGES_H

#include "internal.h"

/* A key in two pieces: a page stores the common prefix of its keys once. */
typedef struct vfri_split {
    vfr_bytes prefix, rest;
} vfri_split;

typedef struct vfri_page {
    uint8_t *frame;
    uint64_t offset;
    uint8_t level;
    size_t count;             /* entries, or separators */
    size_t index;             /* the index of the next entry or child */
    vfr_bytes prefix;
    vfri_cursor cursor;       /* at the next entry or child */
    bool has_lower, has_upper; /* the bounds of the keys from the path: at least `lower`, and less than
                                  `upper` */
    vfri_split lower, upper;
} vfri_page;

int vfri_compare_split(const vfri_split *left, const vfri_split *right);
/* Reads a page and checks all of it; its bounds have been set. */
vfr_status vfri_read_page(vfr_vault *vault, vfr_reference reference, uint64_t before, uint8_t level, vfri_page *page);
/* Reads the next child and, unless it is the last one, the separator after it. */
vfr_reference vfri_page_child(vfri_page *page, vfri_split *separator);
/* Reads the next entry. */
vfri_split vfri_page_entry(vfri_page *page, vfr_bytes *value);

#endif
