/* vaultfmt_reader.h - a portable reader of vaultfmt vaults, in C11: opens a vault, lists it, and reads its secrets.
 *
 * The format is specified in vaultfmt-1.md; "section" and "R-" below refer to it.
 * Link with `pkg-config --cflags --libs vaultfmt-reader`. It needs libsodium (1.0.18 or later) and libargon2.
 *
 * Conventions
 *
 *   Status     Functions return VFR_OK or another vfr_status. Outputs are zeroed first, so after an error a pointer is
 *              NULL and a count 0. Arguments must not be NULL unless a description allows it.
 *   Bytes      Names, texts and secrets are vfr_bytes: a pointer and a length, without a terminator. Text in a vault is
 *              valid UTF-8 and may contain any character, including NUL.
 *   Lifetime   Results returned through a pointer are valid as long as the object that they come from.
 *              Close lists, records and pasts before their vault. Closing accepts NULL, and wipes.
 *   Memory     All memory comes from the allocator in vfr_options, within its budget: VFR_OUT_OF_BUDGET means that more
 *              was needed; a list must then be closed, but other objects can still be used. The only exception is the
 *              memory of Argon2, which libargon2 allocates, wipes and frees: the policy in vfr_options limits it.
 *              Functions use at most 64 KiB of stack and do not recurse.
 *   Threads    There is no state outside the handles. Different threads may use different vaults at the same time; a
 *              vault with its lists, records and pasts must be used by one thread at a time.
 *   Times      Milliseconds since 1970-01-01T00:00:00Z; they are signed.
 *   Trust      All returned data is authenticated, except vfr_failure and the results of vfr_header_open().
 */
#ifndef VAULTFMT_READER_H
#define VAULTFMT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library to which this header belongs. */
#define VFR_VERSION "0.1.0"

/* ---- Status ---- */

typedef enum vfr_status {
    VFR_OK = 0,
    VFR_END = 1,                   /* there are no further entries to list */
    VFR_NOT_A_VAULT = 2,           /* the file does not begin with a vault header */
    VFR_UNSUPPORTED_VERSION = 3,   /* the vault has a different version of the format */
    VFR_HEADER_INVALID = 4,        /* the header is malformed or damaged */
    VFR_UNSUPPORTED_CRITICAL = 5,  /* the vault requires an extension that the caller does not know */
    VFR_NO_SLOT_OPENS = 6,         /* no slot opens with these factors, or they are not valid */
    VFR_KDF_LIMIT = 7,             /* a slot costs more than the policy allows */
    VFR_FOREIGN = 8,               /* the vault's owners differ from the required ones */
    VFR_AUTHENTICATION_FAILED = 9, /* a seal, MAC, signature or hash is wrong, or no state can be found */
    VFR_STRUCTURE_INVALID = 10,    /* authenticated data is malformed */
    VFR_UNSUPPORTED_FORM = 11,     /* the value is stored in a form that this version does not know */
    VFR_DEVICE_BOUND = 12,         /* the value is bound to a device whose secret was not given */
    VFR_NO_KEY = 13,               /* the opened slot does not grant this */
    VFR_NO_SECRET = 14,            /* the item does not have a secret, or the requested attribute or past */
    VFR_NOT_FOUND = 15,            /* no item has this key */
    VFR_OUT_OF_BUDGET = 16,        /* more memory is needed than the budget or the allocator allows */
    VFR_IO = 17,                   /* the read callback failed */
    VFR_INVALID_ARGUMENT = 18,     /* an argument is outside its limits */
    VFR_CRYPTO_FAILED = 19         /* Argon2 failed, most likely for lack of memory; or libsodium cannot start */
} vfr_status;

/* Returns the name of a status, such as "no-slot-opens". The string is static. */
const char *vfr_status_name(vfr_status status);

typedef struct vfr_bytes {
    const uint8_t *data;
    size_t length;
} vfr_bytes;

/* ---- Opening ---- */

/* The source of a vault's bytes.
 *
 * `read` stores exactly `count` bytes, beginning at `offset`, and returns 0; any other value is an error (VFR_IO). It
 * is called only for ranges within `size`, which is the length of the file in bytes. The bytes must not change while
 * the vault is open; if a writer replaces or truncates the file, open the vault again. */
typedef struct vfr_source {
    void *context;
    int (*read)(void *context, uint64_t offset, void *buffer, size_t count);
    uint64_t size;
} vfr_source;

/* A vault held completely in memory. Initialise a vfr_source for it with vfr_memory_source(). */
typedef struct vfr_memory {
    const uint8_t *bytes;
    size_t length;
} vfr_memory;

/* Returns a source that reads from `memory`, which must outlive the source. */
vfr_source vfr_memory_source(const vfr_memory *memory);

/* The maximum key derivation cost that a program accepts from a vault. A more costly slot results in
 * VFR_KDF_LIMIT before any work. A value of 0 means the format's default, given here. */
typedef struct vfr_kdf_policy {
    uint64_t memory; /* KiB for each slot: 2,097,152 (2 GiB) */
    uint64_t passes; /* for each slot: 16 */
    uint64_t lanes;  /* for each slot: 16 */
    uint64_t total;  /* KiB times passes, over all attempts: 16,777,216 */
} vfr_kdf_policy;

/* A device (section 3.6): its id, and the secret that opens items bound to it. */
typedef struct vfr_device {
    uint8_t id[16];
    uint8_t secret[32];
} vfr_device;

#define VFR_CANDIDATES 16

/* A slot passed to a provider of external keys (section 3.1).
 *
 * The provider stores up to VFR_CANDIDATES keys, in its order, and sets `count`. `keys` is wiped after use. */
typedef struct vfr_external_slot {
    uint8_t id[16];
    vfr_bytes parameters;              /* the provider's parameters: not authenticated */
    uint8_t (*keys)[32];               /* room for VFR_CANDIDATES keys */
    size_t count;
} vfr_external_slot;

/* The factors that open a slot, all of them together. A slot must require exactly these factors.
 *
 * passphrase  1 to 65,536 bytes of UTF-8 as typed, converted to NFC: the caller normalises it by the rules of Unicode
 *             13.0. A code point that Unicode 13.0 does not assign (unicode-13.txt lists them) must be left as it is,
 *             and nothing may be reordered or composed across it: divide the text at such code points and normalise
 *             the pieces. Text is neither trimmed nor case-folded, and the Stream-Safe Text Process is not applied.
 *             Limits apply to the text as typed, so the library accepts up to 196,608 bytes here.
 * key_file    The content of a key file, 1 byte to 64 MiB; a generated one (section 3.1) is recognised.
 * raw_key     32 bytes.
 * provider    The name of the provider of external keys that `external` asks, 1 to 64 characters.
 *
 * A NULL pointer means that the factor is not given. A non-NULL pointer with length 0 is an empty factor, which results
 * in VFR_NO_SLOT_OPENS. The library does not keep factors after vfr_open() has returned. */
typedef struct vfr_factors {
    vfr_bytes passphrase;
    vfr_bytes key_file;
    vfr_bytes raw_key;
    vfr_bytes provider;
    void *external_context;
    /* Called once, with all slots that these factors might open. A result other than 0 makes vfr_open() return
     * VFR_NO_SLOT_OPENS. */
    int (*external)(void *context, vfr_external_slot *slots, size_t count);
} vfr_factors;

/* The library's allocator. `allocate` returns `size` bytes aligned for any type, or NULL; `release` frees them and
 * receives the same size. If both are NULL, malloc and free are used. */
typedef struct vfr_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory, size_t size);
} vfr_allocator;

/* 2 MiB: sufficient for opening and listing a typical vault, which takes about 100 KiB. In addition, a record takes its
 * own length (at most 20 MiB). The largest possible header takes 1 MiB, the largest keyring 5 MiB, the largest vector
 * 21 MiB, and the largest past 4 MiB. */
#define VFR_USUAL_BUDGET ((size_t)2 << 20)

/* Options for opening a vault. All zeros, except for a budget, is a valid value. */
typedef struct vfr_options {
    size_t budget; /* the maximum number of bytes allocated at any time, as counted by the allocator */
    vfr_allocator allocator;
    vfr_kdf_policy policy;
    const vfr_device *device;             /* copied; NULL for none */
    const uint8_t *owner;                 /* the required owners' public key, 32 bytes; NULL for any */
    const char *const *extensions;        /* names of the extensions that the caller knows */
    size_t extension_count;
    bool writer_active;                   /* another process holds the writer's lock */
} vfr_options;

/* Details of a failure to open. It is not authenticated; use it only in messages to the user. */
typedef struct vfr_failure {
    uint8_t extension_length;
    uint8_t extension[64];                    /* VFR_UNSUPPORTED_CRITICAL: the name, which is printable ASCII */
    uint32_t memory, passes, lanes;           /* VFR_KDF_LIMIT: the cost of the slot that exceeds the policy */
} vfr_failure;

typedef struct vfr_vault vfr_vault;

/* Opens a vault: checks the header, opens a slot, finds the newest state and reads its keyring (section 7.1).
 *
 * `source`, `options` and `factors` are copied. Their pointers are used only during this call, except the contexts of
 * the source and of the allocator. `failure` may be NULL. Errors: VFR_NOT_A_VAULT to VFR_STRUCTURE_INVALID,
 * VFR_OUT_OF_BUDGET, VFR_IO, VFR_INVALID_ARGUMENT, VFR_CRYPTO_FAILED. With `writer_active`, VFR_AUTHENTICATION_FAILED
 * can mean that a write was in progress: try once more. */
vfr_status vfr_open(const vfr_source *source, const vfr_options *options, const vfr_factors *factors, vfr_vault **vault,
                    vfr_failure *failure);

/* Closes a vault and wipes its keys. */
void vfr_close(vfr_vault *vault);

/* ---- The state ---- */

/* Identifies a change by its revision and the replica that made it (section 1). `replica` is 0 until vfr_read_vector()
 * has succeeded, and for a revision that is not above the floor. */
typedef struct vfr_dot {
    uint64_t revision;
    uint64_t replica;
    uint64_t position; /* the position of the replica's row in the vector, from 1; 0 at or below the floor */
} vfr_dot;

/* The bytes after the state in use (section 7.1). Tell the user about any value except VFR_TAIL_NONE. */
typedef enum vfr_tail {
    VFR_TAIL_NONE = 0,
    VFR_TAIL_TORN = 1,       /* an interrupted write */
    VFR_TAIL_INCOMPLETE = 2, /* a commit whose data is incomplete; the previous state is used */
    VFR_TAIL_DAMAGED = 3,    /* a commit that does not open */
    VFR_TAIL_WRITING = 4     /* bytes of any kind, while `writer_active` is set */
} vfr_tail;

typedef struct vfr_state {
    uint8_t vault_id[16];
    uint8_t owner[32];            /* the owners' public key */
    bool full;                    /* true if a full slot was opened, false for a scoped one */
    uint8_t slot_id[16];          /* the slot that was opened */
    vfr_tail tail;
    uint64_t generation;
    uint8_t chain[32];
    uint64_t previous_generation; /* 0 if there is none */
    uint8_t previous_chain[32];
    uint64_t clock, floor;
    uint64_t own_replica, own_revision;
    uint64_t items, forgotten, pasts; /* the numbers stated in the commit */
    uint64_t live_bytes;
} vfr_state;

/* Describes the state in use. */
void vfr_get_state(const vfr_vault *vault, vfr_state *state);

/* A row of a vector: the greatest revision that a state includes under a replica id. */
typedef struct vfr_row {
    uint64_t replica;
    uint64_t revision;
    bool split; /* two writers have used the id */
} vfr_row;

/* Reads the state's vector and checks it (section 5.5), as well as the keyring's dots against it.
 *
 * The vector is needed for replica ids and for comparing most anchors; once it is read, every dot is checked against
 * it. Further calls have no effect. If reading it fails, the state can still be used. */
vfr_status vfr_read_vector(vfr_vault *vault);

/* Returns the number of rows of the vector; 0 if it has not been read. */
size_t vfr_row_count(const vfr_vault *vault);

/* Returns a row of the vector, by its position minus 1; all zeros if the index is out of range. */
vfr_row vfr_get_row(const vfr_vault *vault, size_t index);

/* A remembered state (section 7.2): the owner, chain and floor of its vfr_state, and all rows of its vector. */
typedef struct vfr_anchor {
    uint8_t owner[32];
    uint8_t chain[32];
    uint64_t floor;
    const vfr_row *rows;
    size_t row_count; /* at most 262,000 */
} vfr_anchor;

typedef enum vfr_verdict {
    VFR_VERDICT_NONE = 0, /* an error occurred */
    VFR_VERDICT_FOREIGN = 1,
    VFR_VERDICT_SAME = 2,
    VFR_VERDICT_OLDER = 3,
    VFR_VERDICT_DESCENDS = 4,
    VFR_VERDICT_FORKED = 5
} vfr_verdict;

/* Compares the state with a remembered one of the same vault id.
 *
 * Unless the verdict is VFR_VERDICT_SAME or VFR_VERDICT_DESCENDS, refuse the vault until the user accepts it.
 * The state's vector and the vectors of hand-overs are read only if the verdict depends on them; the function fails if
 * one of them cannot be read. */
vfr_status vfr_compare(vfr_vault *vault, const vfr_anchor *anchor, vfr_verdict *verdict);

/* ---- Header and keyring. Indices start at 0; one that is out of range results in VFR_NOT_FOUND. ---- */

typedef struct vfr_slot {
    uint8_t id[16];
    uint8_t kind;                    /* 0x01 full, 0x82 scoped; others are unknown */
    uint8_t factors;                 /* section 3.1 */
    bool known;                      /* true if this version knows its kind and factors */
    uint32_t memory, passes, lanes;  /* the cost; 0 if the slot has none */
    vfr_bytes provider, parameters;  /* of external keys; valid as long as the vault */
    vfr_bytes bytes;                 /* the whole slot; valid as long as the vault */
} vfr_slot;

/* Describes a slot in the header. */
vfr_status vfr_get_slot(const vfr_vault *vault, size_t index, vfr_slot *slot);

/* The parts of a slot that only owners can read (section 3.1). The structure
 * takes 17 KiB. */
typedef struct vfr_slot_owner {
    uint8_t name_length;
    uint8_t name[63];
    uint8_t group_count;
    uint64_t groups[32]; /* the groups granted to a scoped slot */
    uint16_t data_length;
    uint8_t data[16384]; /* the provider's data */
} vfr_slot_owner;

/* Reads the owner part of a slot and, for a scoped slot, the groups that it opens. Returns VFR_NO_KEY if the
 * vault was opened with a scoped slot. */
vfr_status vfr_get_slot_owner(vfr_vault *vault, size_t index, vfr_slot_owner *owner);

/* Returns the number of a group granted by the scoped slot that opened the vault. */
vfr_status vfr_get_grant(const vfr_vault *vault, size_t index, uint64_t *group);

typedef struct vfr_extension {
    uint8_t flags; /* 1 critical, 2 read-only */
    vfr_bytes name, value;
} vfr_extension;

/* Describes an extension in the header or in the keyring. The bytes are valid as long as the vault. */
vfr_status vfr_get_header_extension(const vfr_vault *vault, size_t index, vfr_extension *extension);
vfr_status vfr_get_keyring_extension(const vfr_vault *vault, size_t index, vfr_extension *extension);

typedef struct vfr_settings {
    uint8_t limit;     /* earlier values kept for each field */
    vfr_dot limit_dot; /* the change that set it */
    vfr_dot key_dot;   /* the change that made the vault key */
    size_t groups, compartments, slots, hand_overs, header_extensions, keyring_extensions, grants; /* their numbers */
} vfr_settings;

/* Returns the keyring's settings, and the number of each kind of entry. */
void vfr_get_settings(const vfr_vault *vault, vfr_settings *settings);

typedef struct vfr_group {
    uint64_t number;
    vfr_bytes name; /* valid as long as the vault */
} vfr_group;

/* Describes an access group. */
vfr_status vfr_get_group(const vfr_vault *vault, size_t index, vfr_group *group);

typedef struct vfr_compartment {
    uint64_t number;
    uint64_t group;        /* the group's number; 0 for the owners' group */
    uint8_t accessibility; /* 1 to 7 (section 5.4) */
    uint8_t device[16];    /* zeros if there is none */
} vfr_compartment;

/* Describes a compartment, by index or by number. */
vfr_status vfr_get_compartment(const vfr_vault *vault, size_t index, vfr_compartment *compartment);
vfr_status vfr_find_compartment(const vfr_vault *vault, uint64_t number, vfr_compartment *compartment);

typedef struct vfr_slot_dots {
    uint8_t id[16];
    vfr_dot made, changed;
    size_t grant_count;
} vfr_slot_dots;

/* Describes the keyring's entry for a slot; `index` refers to the keyring, not to the header. */
vfr_status vfr_get_slot_dots(const vfr_vault *vault, size_t index, vfr_slot_dots *dots);

/* Describes a grant of a slot, by the keyring's indices. */
vfr_status vfr_get_slot_grant(const vfr_vault *vault, size_t slot, size_t index, uint64_t *group, vfr_dot *dot);

/* A hand-over (section 7.3). */
typedef struct vfr_hand_over {
    uint8_t from[32], next[32];
    uint64_t floor;
    vfr_status rows_status; /* the reason why the vector cannot be read, or VFR_OK */
    bool valid;             /* true if the signature is valid; false if the vector cannot be read */
    vfr_row *rows;
    size_t row_count;
} vfr_hand_over;

/* Reads a hand-over with its vector, and checks its signature. Release it with vfr_release_hand_over(). */
vfr_status vfr_read_hand_over(vfr_vault *vault, size_t index, vfr_hand_over *hand_over);
void vfr_release_hand_over(vfr_vault *vault, vfr_hand_over *hand_over);

/* ---- The header alone, without any factor ---- */

typedef struct vfr_header vfr_header;

/* Reads and checks a header as vfr_open() does before it tries a slot, to determine which factors the slots require.
 *
 * Only the budget, allocator and extensions in `options` are used. A header is not authenticated before a slot has been
 * opened; use the result only to ask the user for factors. Errors: VFR_NOT_A_VAULT to VFR_UNSUPPORTED_CRITICAL,
 * VFR_OUT_OF_BUDGET, VFR_IO, VFR_INVALID_ARGUMENT. */
vfr_status vfr_header_open(const vfr_source *source, const vfr_options *options, vfr_header **header,
                           vfr_failure *failure);

/* Stores the vault's id. */
void vfr_header_id(const vfr_header *header, uint8_t id[16]);

/* Like vfr_get_slot() and vfr_get_header_extension(), these describe the slot or extension with an index from 0. The
 * bytes in the description are valid until the header is closed. */
vfr_status vfr_header_slot(const vfr_header *header, size_t index, vfr_slot *slot);
vfr_status vfr_header_extension(const vfr_header *header, size_t index, vfr_extension *extension);

void vfr_header_close(vfr_header *header);

/* ---- Items ---- */

enum {
    VFR_ATTRIBUTE_SEALED = 0x01,    /* protected like the item's secret */
    VFR_ATTRIBUTE_CONCEALED = 0x02, /* to be shown only on request */
    VFR_ATTRIBUTE_BINARY = 0x04,    /* not text */
    VFR_ATTRIBUTE_IN_RECORD = 0x10, /* the value is in the item's record: vfr_record_attribute() */
    VFR_ATTRIBUTE_OWN_RECORD = 0x20 /* the value is in a separate record: vfr_read_attribute() */
};

/* A reference to a frame, used by the library. */
typedef struct vfr_reference {
    uint64_t offset;
    uint64_t length;
    const uint8_t *hash;
} vfr_reference;

typedef struct vfr_attribute {
    uint8_t flags;
    vfr_bytes name;
    vfr_bytes value;          /* the value, if it is in the page; otherwise empty */
    vfr_dot dot;              /* the dot of its value */
    uint64_t record_revision; /* with VFR_ATTRIBUTE_OWN_RECORD */
    uint64_t compartment;
    vfr_reference record;
} vfr_attribute;

#define VFR_ATTRIBUTES 64

/* An item without its secret. Its contents are valid until the list moves to another entry or is closed. */
typedef struct vfr_item {
    vfr_bytes page_key;       /* its key in the tree (section 6.1) */
    bool conflict;            /* an item with a smaller id has the same key: list with the suffix of section 6.1 */
    uint8_t id[16];
    vfr_dot dot;
    vfr_dot key_dot, place_dot, secret_dot;
    int64_t created, modified;
    bool has_secret, has_past, to_settle;
    uint64_t record_revision; /* 0: the item has no record */
    uint64_t compartment;     /* its place: vfr_find_compartment() */
    size_t attribute_count;
    const vfr_attribute *attributes; /* in ascending order of their names */
    vfr_reference record, past; /* used by the library, like the next one */
    uint64_t page_offset;
} vfr_item;

/* A forgotten value (section 6.5). */
typedef struct vfr_forgotten {
    uint8_t kind; /* 0 secret, 1 attribute */
    vfr_bytes name;
    uint64_t revision, replica;
} vfr_forgotten;

/* An entry of a list: an item or, after all items, a forgotten value. */
typedef struct vfr_entry {
    bool is_item;
    vfr_item item;
    vfr_forgotten forgotten;
} vfr_entry;

typedef struct vfr_list vfr_list;

/* Starts listing the vault. The list needs about 30 KiB, and memory for one page of each level of the tree, at most
 * 65,536 bytes each. Close it before the vault. */
vfr_status vfr_list_open(vfr_vault *vault, vfr_list **list);

/* Moves to the next entry, in ascending order of page keys.
 *
 * `*entry` is valid until the next call on this list. Returns VFR_END at the end, after comparing the counts of the
 * whole tree with the commit's. After an error, the list does not move, and the error is returned again. */
vfr_status vfr_list_next(vfr_list *list, const vfr_entry **entry);

/* Finds the item whose page key is `key`, reading one page for each level. Returns VFR_NOT_FOUND if there is no such
 * item.
 *
 * `*entry` is valid until the next call on this list; vfr_list_next() then starts again at the vault's first entry. */
vfr_status vfr_list_find(vfr_list *list, vfr_bytes key, const vfr_entry **entry);

void vfr_list_close(vfr_list *list);

/* Checks that forgotten values have been removed, and that only forgotten values are missing, by reading
 * the whole tree and all pasts. Returns VFR_NO_KEY if the vault was opened with a scoped slot. */
vfr_status vfr_check_forgotten(vfr_vault *vault);

/* ---- Keys of items (section 6.1) ---- */

typedef enum vfr_field_kind { VFR_FIELD_TEXT = 1, VFR_FIELD_BYTES = 2, VFR_FIELD_NUMBER = 3 } vfr_field_kind;

#define VFR_FIELDS 16
#define VFR_KEY_SIZE 8176

/* A field of an item key, without its escapes. For a number, the bytes are NULL and 0. */
typedef struct vfr_field {
    vfr_field_kind kind;
    vfr_bytes bytes;
    uint32_t number;
} vfr_field;

typedef struct vfr_key {
    uint8_t class_number; /* 1 generic password, 2 internet password, 3 certificate, 4 key, 5 identity, or reserved */
    bool synchronizable;
    size_t field_count;
    vfr_field fields[VFR_FIELDS]; /* in the order of the table; the last one is the group */
    uint8_t storage[VFR_KEY_SIZE];
} vfr_key;

/* Decodes a page key, such as a vfr_item's, into `key`, which contains a copy of all fields and takes about 9
 * KiB. */
vfr_status vfr_decode_key(vfr_bytes page_key, vfr_key *key);

/* Encodes the class, flag and fields in `key`. The result is stored in `key->storage`; the fields must not point into
 * this storage. Pass `*bytes` to vfr_list_find(). Returns VFR_INVALID_ARGUMENT if the fields do not match the class or
 * exceed a limit. */
vfr_status vfr_encode_key(vfr_key *key, vfr_bytes *bytes);

/* ---- Values ---- */

/* An attribute in a record. */
typedef struct vfr_record_value {
    uint8_t flags;
    vfr_bytes name, value;
} vfr_record_value;

typedef struct vfr_record vfr_record;

/* Reads an item's record, with the item's secret and the attributes that are sealed or longer than 256 bytes.
 *
 * `item` must be the current item of a list. The record takes memory equal to its length, at most 20 MiB, and is wiped
 * when it is closed. Returns VFR_NO_SECRET if the item has no record. After VFR_DEVICE_BOUND, VFR_NO_KEY and
 * VFR_UNSUPPORTED_FORM, other values can still be read. */
vfr_status vfr_read_record(vfr_vault *vault, const vfr_item *item, vfr_record **record);

/* Reads the record of an attribute with VFR_ATTRIBUTE_OWN_RECORD; vfr_record_secret() then returns the value. */
vfr_status vfr_read_attribute(vfr_vault *vault, const vfr_item *item, size_t index, vfr_record **record);

/* Returns the secret or attribute value in the record, which is valid as long as the record. */
vfr_bytes vfr_record_secret(const vfr_record *record);

/* Finds the value of an attribute with VFR_ATTRIBUTE_IN_RECORD. Returns VFR_NOT_FOUND if the record does not contain
 * it. */
vfr_status vfr_record_attribute(const vfr_record *record, vfr_bytes name, vfr_record_value *value);

void vfr_record_close(vfr_record *record);

/* ---- Earlier values, and values that are left to settle (sections 5.3 and 6.4) ---- */

enum { VFR_VALUE_SECRET = 0, VFR_VALUE_ATTRIBUTE = 1, VFR_VALUE_KEY = 2, VFR_VALUE_PLACE = 3 };
enum { VFR_VALUE_OPEN = 1, VFR_VALUE_EARLIER = 2, VFR_VALUE_SHOWN = 4, VFR_VALUE_FORGOTTEN = 8 };

/* A value in an item's past; the item shows it if VFR_VALUE_SHOWN is set. */
typedef struct vfr_value {
    uint8_t kind;
    uint8_t flags;
    uint8_t attribute_flags;
    vfr_bytes name;           /* the attribute's name */
    vfr_dot dot;
    bool has_content;         /* the value is neither shown nor forgotten */
    int64_t replaced;         /* when it was replaced; 0 if unknown */
    vfr_bytes content;        /* an attribute's value if it is in the past itself; an item key with an empty group; or a
                                 group's name */
    uint8_t accessibility;    /* for a place */
    uint8_t device[16];       /* for a place */
    bool has_record;          /* the content is in a record: vfr_read_value() */
    uint64_t record_revision, compartment;
    size_t attribute_count;   /* the attributes stored with a secret: vfr_value_attributes() */
    vfr_reference record;
    vfr_bytes attributes;     /* used by the library */
} vfr_value;

typedef struct vfr_sibling {
    vfr_dot dot;
    int64_t created, modified;
} vfr_sibling;

typedef struct vfr_past vfr_past;

/* Reads and checks an item's past. Returns VFR_NO_SECRET if the item has no past, and VFR_NO_KEY if the vault was
 * opened with a scoped slot. The past does not depend on the list once it has been read. */
vfr_status vfr_read_past(vfr_vault *vault, const vfr_item *item, vfr_past **past);

/* Counts and describes the values of a past, in its order: secrets, attributes by name, keys, places. */
size_t vfr_value_count(const vfr_past *past);
vfr_status vfr_get_value(const vfr_past *past, size_t index, vfr_value *value);

/* Stores the attributes that the item had at the time of an earlier secret; `attributes` must have room for
 * VFR_ATTRIBUTES. */
vfr_status vfr_value_attributes(const vfr_past *past, size_t index, vfr_attribute *attributes);

/* Reads the record of a value. vfr_record_secret() then returns the secret or the attribute's value, even for a record
 * of form 0. */
vfr_status vfr_read_value(const vfr_past *past, size_t index, vfr_record **record);

/* Reads the record of an attribute with VFR_ATTRIBUTE_OWN_RECORD that the item had at the time of an earlier secret. */
vfr_status vfr_read_value_attribute(const vfr_past *past, size_t index, const vfr_attribute *attribute,
                                    vfr_record **record);

/* Counts and describes the siblings in a past; the count is 0 if the item has a single sibling, which the item's
 * entry describes. */
size_t vfr_sibling_count(const vfr_past *past);
vfr_status vfr_get_sibling(const vfr_past *past, size_t index, vfr_sibling *sibling);

/* Return whether a value is a field, or an earlier value, of a sibling. */
bool vfr_sibling_has_field(const vfr_past *past, size_t sibling, size_t value);
bool vfr_sibling_has_earlier(const vfr_past *past, size_t sibling, size_t value);

typedef enum vfr_role {
    VFR_ROLE_NONE = 0,     /* shown, forgotten, or equal to another value that is listed */
    VFR_ROLE_TO_SETTLE = 1,
    VFR_ROLE_EARLIER = 2
} vfr_role;

/* Determines the role of each value of a past (the table in section 6.4); `roles` must have room for vfr_value_count()
 * elements.
 *
 * Values are compared by their contents, so their records and the item's record are read; a value whose record cannot
 * be read differs from all others. `item` must be the item to which the past belongs. */
vfr_status vfr_get_roles(vfr_past *past, const vfr_item *item, vfr_role *roles);

void vfr_past_close(vfr_past *past);

#ifdef __cplusplus
}
#endif

#endif
