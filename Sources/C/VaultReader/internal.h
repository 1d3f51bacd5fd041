/* Declarations shared by the files of the reader. Names that are not public begin with vfri_. */
#ifndef VAULTFMT_READER_INTERNAL_H
#define VAULTFMT_READER_INTERNAL_H

#include "crypto.h"
#include "vaultfmt_reader.h"

/* ---- Limits (section 11) ---- */

enum {
    VFRI_BLOCK = 512,
    VFRI_HEADER_STEP = 4096,
    VFRI_HEADER_MAX = 1 << 20,
    VFRI_SLOTS = 64,
    VFRI_SLOT_MAX = 65536,
    VFRI_SLOT_PARAMETERS = 17408,
    VFRI_OWNER_PART_MIN = 168,
    VFRI_OWNER_PART_MAX = 17408,
    VFRI_GRANTS = 32,
    VFRI_PROVIDER_NAME = 64,
    VFRI_PROVIDER_BYTES = 16384,
    VFRI_SCOPED_PAYLOAD = 1352,
    VFRI_EXTENSIONS = 16,
    VFRI_RECORD_MIN = 208,
    VFRI_RECORD_MAX = 20 << 20,
    VFRI_VALUE_MAX = 16 << 20,
    VFRI_PAGE_VALUE = 256,
    VFRI_RECORD_VALUE = 4096,
    VFRI_FIELD = 4096,
    VFRI_KEY_MIN = 4,
    VFRI_PAGE_KEY = 8192,
    VFRI_PAGE_MAX = 65536,
    VFRI_ENTRIES = 4096,
    VFRI_LEVELS = 16,
    VFRI_FURTHER_DOTS = 67,
    VFRI_ITEM_FIELDS = 3 + VFR_ATTRIBUTES,
    VFRI_PAST_MAX = 2 << 20,
    VFRI_VALUES = 4096,
    VFRI_SIBLINGS = 256,
    VFRI_DOTS = 4352,
    VFRI_LIMIT = 50,
    VFRI_KEYRING_MAX = 4 << 20,
    VFRI_GROUPS = 1024,
    VFRI_COMPARTMENTS = 8192,
    VFRI_HAND_OVERS = 16,
    VFRI_VECTOR_MAX = 4 << 20,
    VFRI_ROWS = 262000,
    VFRI_CHANGED_ROWS = 64,
    VFRI_RESERVE = 262144,
    VFRI_HEADS = 64,
    VFRI_INLINE_COMMIT = 32768,
    VFRI_FRAME_HEAD = 32, /* type, length, nonce */
    VFRI_TAG = 16,
    VFRI_FORGOTTEN = 0x7E /* the first byte of the keys of forgotten values */
};
#define VFRI_FILE_MAX ((uint64_t)1 << 48)
#define VFRI_SEARCH (((uint64_t)1 << 28) + 1024)
#define VFRI_NUMBER_MAX INT64_MAX /* of revisions, generations, group and compartment numbers */
#define VFRI_TIME_MAX (((int64_t)1 << 61) - 1)

/* ---- Bytes (bytes.c) ---- */

/* The only way to decode bytes from a file.
 *
 * A read beyond the end sets `failed` and returns 0 or no bytes, so later reads stay within bounds. Check `failed`
 * before using any result. Pointers to fixed-size fields are never NULL: after a failure, they point to zeros. */
typedef struct vfri_cursor {
    const uint8_t *at;
    size_t left;
    bool failed;
} vfri_cursor;

vfri_cursor vfri_cursor_of(const uint8_t *bytes, size_t length);
uint8_t vfri_u8(vfri_cursor *cursor);
uint16_t vfri_u16(vfri_cursor *cursor);
uint32_t vfri_u32(vfri_cursor *cursor);
uint64_t vfri_u64(vfri_cursor *cursor);
uint64_t vfri_varint(vfri_cursor *cursor);
int64_t vfri_zigzag(vfri_cursor *cursor);
/* Reads a number of at most `limit`, which fits in a size_t; a greater number
 * is a failure. */
size_t vfri_count(vfri_cursor *cursor, size_t limit);
/* Reads `length` bytes; returns no bytes after a failure. */
vfr_bytes vfri_take(vfri_cursor *cursor, size_t length);
/* Reads a field of a fixed size of at most VFRI_FIXED bytes; returns zeros after a failure. */
enum { VFRI_FIXED = 88 };
const uint8_t *vfri_fixed(vfri_cursor *cursor, size_t length);
/* Skips `length` bytes, which must be zero. */
void vfri_reserved(vfri_cursor *cursor, size_t length);
/* Checks that all remaining bytes are zero. */
void vfri_padding(vfri_cursor *cursor);
/* Fails unless `condition` holds. */
void vfri_require(vfri_cursor *cursor, bool condition);

uint32_t vfri_load32(const uint8_t *bytes);
uint64_t vfri_load64(const uint8_t *bytes);
void vfri_store32(uint8_t *bytes, uint32_t value);
void vfri_store64(uint8_t *bytes, uint64_t value);
bool vfri_is_zero(const uint8_t *bytes, size_t length);
bool vfri_is_text(vfr_bytes bytes);
/* Compares like memcmp; a string sorts before any longer one that begins with it. */
int vfri_compare(vfr_bytes left, vfr_bytes right);
bool vfri_same(vfr_bytes left, vfr_bytes right);
/* Returns whether all bytes are printable ASCII, 33 to 126. */
bool vfri_is_printable(vfr_bytes bytes);

/* ---- Memory (bytes.c) ---- */

typedef struct vfri_memory {
    vfr_allocator allocator;
    size_t budget, used;
} vfri_memory;

/* Returns zeroed memory, or NULL. */
void *vfri_allocate(vfri_memory *memory, size_t size);
/* Returns zeroed memory for `count` elements, or NULL. */
void *vfri_allocate_array(vfri_memory *memory, size_t count, size_t size);
/* Wipes and releases memory; accepts NULL. */
void vfri_release(vfri_memory *memory, void *block);
/* Like vfri_release, for a variable, which is set to NULL; the argument is evaluated twice. */
#define VFRI_RELEASE(memory, pointer) (vfri_release((memory), (pointer)), (pointer) = NULL)

/* ---- The vault ---- */

typedef struct vfri_slot {
    const uint8_t *bytes;
    uint32_t length, parameters, owner_part; /* s, p, o of section 3.1 */
    bool known;
    uint32_t memory, passes, lanes;
    vfr_bytes provider, provider_parameters;
} vfri_slot;

typedef struct vfri_reference {
    uint64_t offset;
    uint64_t length;
    uint8_t hash[32];
} vfri_reference;

typedef struct vfri_commit {
    uint64_t offset; /* the offset at which it was found */
    uint64_t generation, previous_generation;
    uint8_t previous_chain[32];
    uint64_t own_offset, start, clock, floor;
    uint32_t flags;
    vfri_reference root, keyring, vector;
    uint8_t root_level;
    uint8_t header_hash[32], digest[32];
    uint64_t items, forgotten, pasts, live_bytes;
    uint64_t own_replica, own_revision;
    bool reserved_is_zero;
    uint8_t owner_mac[32], signature[64];
    uint8_t chain[32];
} vfri_commit;

/* The rows of a vector, in their original order and sorted by replica id. */
typedef struct vfri_rows {
    vfr_row *rows, *sorted;
    size_t count;
} vfri_rows;

/* The keys that a slot grants (section 3.4). */
typedef struct vfri_keys {
    bool full;
    uint8_t index[32];
    uint8_t owner_public[32];
    uint8_t past[32], owner[32], slot_owner[32], keyring[32], earlier[32]; /* full */
    size_t grant_count;                                                   /* scoped */
    uint64_t grants[VFRI_GRANTS];
    uint8_t grant_keys[VFRI_GRANTS][32];
} vfri_keys;

typedef struct vfri_group {
    uint64_t number;
    vfr_bytes name;
    const uint8_t *sealed; /* nonce and seal of the key: 72 bytes */
} vfri_group;

typedef struct vfri_compartment {
    uint64_t number, group;
    uint8_t accessibility;
    const uint8_t *device; /* 16 bytes */
    const uint8_t *nonce;
    vfr_bytes sealed;
} vfri_compartment;

typedef struct vfri_slot_entry {
    const uint8_t *id;
    vfr_dot made, changed;
    size_t grant_count;
    size_t first_grant; /* in vfri_keyring.grants */
} vfri_slot_entry;

typedef struct vfri_grant {
    uint64_t group;
    vfr_dot dot;
} vfri_grant;

typedef struct vfri_hand_over {
    const uint8_t *from, *next, *signature;
    uint64_t floor;
    vfr_reference vector;
} vfri_hand_over;

typedef struct vfri_keyring {
    uint8_t *frame;
    uint8_t limit;
    vfr_dot limit_dot, key_dot;
    size_t group_count, compartment_count, slot_count, grant_count, hand_over_count, extension_count;
    vfri_group *groups;
    vfri_compartment *compartments;
    vfri_slot_entry slots[VFRI_SLOTS];
    vfri_grant *grants;
    vfri_hand_over hand_overs[VFRI_HAND_OVERS];
    vfr_extension extensions[VFRI_EXTENSIONS];
} vfri_keyring;

struct vfr_vault {
    vfri_memory memory;
    vfr_source source;
    uint8_t *header; /* L bytes */
    uint32_t header_length;
    uint64_t body; /* 2L */
    const uint8_t *id, *epoch, *header_hash;
    size_t slot_count, extension_count;
    vfri_slot slots[VFRI_SLOTS];
    vfr_extension extensions[VFRI_EXTENSIONS];
    size_t opened_slot;
    vfri_keys keys;
    bool has_device;
    uint8_t device_id[16], device_key[32];
    vfri_commit commit;
    vfr_tail tail;
    vfri_keyring keyring;
    bool has_rows;
    vfri_rows rows;
};

/* The last item that is listed under its plain key, for checking the conflicts after it. */
typedef struct vfri_plain {
    uint8_t stem[VFR_KEY_SIZE];
    size_t length;
    bool has[2];
    uint8_t ids[2][16];
} vfri_plain;

/* An item, together with the memory allocated for its attributes. */
typedef struct vfri_item_buffer {
    vfr_entry entry;
    vfr_attribute attributes[VFR_ATTRIBUTES];
    vfr_dot dots[VFRI_ITEM_FIELDS];
} vfri_item_buffer;

/* ---- header.c ---- */

/* Reads the header and makes all checks that are possible before a slot is tried. */
vfr_status vfri_read_header(vfr_vault *vault, const vfr_options *options, vfr_failure *failure);
/* Checks the header MAC. */
bool vfri_header_is_authentic(const vfr_vault *vault);
/* Decodes `count` extensions (section 3.3, R-3.22). */
void vfri_extensions(vfri_cursor *cursor, size_t count, vfr_extension *extensions);
/* Refuses a critical extension that the caller does not know. */
vfr_status vfri_check_critical(const vfr_extension *extensions, size_t count, const vfr_options *options,
                               vfr_failure *failure);
uint8_t vfri_slot_kind(const vfri_slot *slot);
uint8_t vfri_slot_factors(const vfri_slot *slot);

/* ---- slots.c ---- */

/* Factors that have been checked, ready to be stretched. */
typedef struct vfri_factors {
    uint8_t kinds;
    vfr_bytes passphrase;
    bool has_file;        /* another key file: `file` is its hash */
    uint8_t file[32];
    bool has_key;         /* generated or raw */
    uint8_t key[32];
} vfri_factors;

vfr_status vfri_check_factors(const vfr_factors *factors, vfri_factors *checked);
/* Opens a slot with factors, and derives the keys that it grants. */
vfr_status vfri_open_slot(vfr_vault *vault, const vfr_factors *given, const vfri_factors *factors,
                          const vfr_kdf_policy *policy, vfr_failure *failure);

/* ---- frames.c ---- */

/* Reads from the source. Fails if the range is not within the file. */
vfr_status vfri_read(const vfr_vault *vault, uint64_t offset, void *buffer, size_t count);
/* Returns whether the type exists and may have this length (section 2). */
bool vfri_is_possible(const char type[4], uint64_t length);
/* Performs the first two checks of for a reference; the frame that contains it starts at `before`. */
bool vfri_is_placed(const vfr_vault *vault, const char type[4], uint64_t offset, uint64_t length, uint64_t before);
/* Reads the frame that a reference points to, with all checks of. Release `*frame`. */
vfr_status vfri_read_frame(vfr_vault *vault, const char type[4], vfr_reference reference, uint64_t before,
                           uint8_t **frame);
/* Opens a frame other than a record in place; `key` is the index key or the past key. The body begins at
 * VFRI_FRAME_HEAD. */
vfr_status vfri_open_frame(const vfr_vault *vault, const char *label, const uint8_t key[32], uint64_t offset,
                           uint8_t *frame, size_t length, vfr_bytes *body);
/* Builds AD(label, x) for a frame and returns its length (section 4); `count` is at most 32 bytes of x. */
enum { VFRI_AD = 128 };
size_t vfri_frame_ad(const vfr_vault *vault, const char *label, const uint8_t *x, size_t count, const uint8_t *frame,
                     uint8_t ad[VFRI_AD]);
/* Reads and opens a frame; the remaining bytes of `body` must be its padding. Release `*frame`. */
vfr_status vfri_load(vfr_vault *vault, const char type[4], const char *label, const uint8_t key[32],
                     vfr_reference reference, uint64_t before, uint8_t **frame, vfr_bytes *body);
/* Checks the padding after the content of a body: fewer than 256 zeros. */
void vfri_frame_padding(vfri_cursor *cursor);
/* Reads a narrow reference (section 5). */
vfr_reference vfri_narrow(vfri_cursor *cursor);
vfr_reference vfri_wide(const vfri_reference *reference);

/* ---- state.c ---- */

/* Finds the commit to use, and classifies the bytes after it (section 7.1). */
vfr_status vfri_find_state(vfr_vault *vault, bool writer_active);

/* ---- commit.c ---- */

/* Opens 512 bytes as a commit that was found at `offset`, and decodes it. */
bool vfri_open_commit(const vfr_vault *vault, uint64_t offset, const uint8_t frame[VFRI_BLOCK], vfri_commit *commit);
/* Performs step 6 of section 7.1. */
vfr_status vfri_check_commit(const vfr_vault *vault, const vfri_commit *commit);
/* Performs step 7; `*right` is set to whether the digest is correct. */
vfr_status vfri_check_digest(vfr_vault *vault, const vfri_commit *commit, bool *right);

/* ---- keyring.c ---- */

vfr_status vfri_read_keyring(vfr_vault *vault, const vfr_options *options, vfr_failure *failure);
const vfri_group *vfri_find_group(const vfr_vault *vault, uint64_t number);
const vfri_compartment *vfri_find_compartment(const vfr_vault *vault, uint64_t number);
/* Opens the key of a compartment. Can return VFR_NO_KEY, VFR_AUTHENTICATION_FAILED and VFR_DEVICE_BOUND. */
vfr_status vfri_compartment_key(vfr_vault *vault, const vfri_compartment *compartment, uint8_t key[32]);
/* Checks all dots of the keyring, and finds their replicas. */
bool vfri_check_keyring_dots(vfr_vault *vault);
/* Returns whether an accessibility is for "this device only". */
bool vfri_needs_device(uint8_t accessibility);

/* ---- vector.c ---- */

/* Reads an encoded dot. A malformed dot fails the cursor; vfri_check_dot() checks whether the dot is possible. */
vfr_dot vfri_dot(vfri_cursor *cursor);
/* Checks a dot, and finds its replica. */
bool vfri_check_dot(const vfr_vault *vault, vfr_dot *dot);
/* Compares by revision, then by position. */
int vfri_compare_dots(const vfr_dot *left, const vfr_dot *right);
vfr_status vfri_read_rows(vfr_vault *vault, vfr_reference reference, uint64_t before, uint64_t floor, vfri_rows *rows);
void vfri_release_rows(vfr_vault *vault, vfri_rows *rows);
/* Copies rows and sorts them by replica id; returns VFR_STRUCTURE_INVALID if an id occurs twice. Always release
 * `*sorted`. */
vfr_status vfri_sort_rows(vfri_memory *memory, const vfr_row *rows, size_t count, vfr_row **sorted);
/* Finds the row of a replica among sorted ones, or NULL. */
const vfr_row *vfri_find_row(const vfr_row *sorted, size_t count, uint64_t replica);

/* ---- itemkeys.c ---- */

/* Checks an item key, without a conflict's suffix. `group` is its last field, with its escapes. */
bool vfri_check_key(vfr_bytes key, vfr_bytes *group);
/* Checks a page key. If `*conflict` is set, the last 16 bytes are not part of the item key. */
bool vfri_check_page_key(vfr_bytes key, bool *conflict, vfr_bytes *group);
/* Compares a field with escapes to bytes without escapes. */
bool vfri_field_equals(vfr_bytes field, vfr_bytes bytes);

/* ---- items.c ---- */

/* Decodes and checks the entry of a leaf: an item or a forgotten value. `key` must live as long as the entry. */
vfr_status vfri_decode_entry(const vfr_vault *vault, vfr_bytes key, vfr_bytes value, uint64_t page_offset,
                             vfri_item_buffer *item);
/* Decodes attributes in the form of pages and pasts (section 6.2), and checks and their revisions. */
void vfri_attributes(const vfr_vault *vault, vfri_cursor *cursor, size_t *count, vfr_attribute *attributes);
/* Returns whether a time is within its limits. */
bool vfri_is_time(int64_t time);
/* Decodes flags and name of an attribute. */
void vfri_attribute_name(vfri_cursor *cursor, uint8_t *flags, vfr_bytes *name);

/* ---- records.c ---- */

/* The expected properties of a record. */
typedef struct vfri_expected {
    const uint8_t *item_id;
    uint64_t revision, compartment;
    uint64_t before;                  /* the offset of the frame that refers to the record */
    uint8_t form;                     /* 0 or 1 */
    const vfr_attribute *attributes;  /* form 0: the record must contain those with flag 10; form 1: the attribute */
    size_t attribute_count;
    bool exact;                       /* form 0: the record contains no others, unless its compartment has a device */
    bool no_secret;                   /* form 0: the record contains no secret, with the same exception */
} vfri_expected;

/* Follows a reference to a record, opens it and decodes it. */
vfr_status vfri_follow_record(vfr_vault *vault, vfr_reference reference, const vfri_expected *expected,
                              vfr_record **record);
/* Follows an attribute's reference to its separate record; the frame that contains the reference starts at `before`. */
vfr_status vfri_follow_attribute(vfr_vault *vault, const uint8_t *item_id, const vfr_attribute *attribute,
                                 uint64_t before, vfr_record **record);
/* Makes the expected attribute the content of a record of form 0. */
void vfri_show_attribute(vfr_record *record);

#endif
