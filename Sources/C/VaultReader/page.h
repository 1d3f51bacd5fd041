/* page.h - the interface for a page in a browser: one vault, without state outside this module, based only on
 * vaultfmt_reader.h.
 *
 * JavaScript cannot access C structures, so a function stores its results in one block of bytes, the answer.
 * page_answer() returns its address and page_answer_length() its length; the next call wipes it. Integers are
 * little-endian and not aligned; `bytes` is a u32 length followed by the bytes; `dot` is a revision and a replica id,
 * u64 each. Functions return a vfr_status. There is one vault at a time; a second one requires a second instance.
 *
 * Arguments of variable length are written to memory from page_allocate(). The function that receives them wipes and
 * releases it; page_release() does the same for memory that was not passed to a function. Numbers that may exceed 32
 * bits are doubles, exact up to 2^53: JavaScript has no other fast number type. */
#ifndef VAULTFMT_PAGE_H
#define VAULTFMT_PAGE_H

#include <stddef.h>
#include <stdint.h>

/* In WebAssembly, every function that is declared here is an export of the module. */
#ifdef __wasm__
#define PAGE_EXPORT(name) __attribute__((export_name(#name)))
#else
#define PAGE_EXPORT(name)
#endif

/* ---- Provided by the host ---- */

/* Stores exactly `count` bytes of the vault, beginning at `offset`, and returns 0; any other value is an error. */
#ifdef __wasm__
__attribute__((import_module("reader"), import_name("read")))
#endif
int page_read(double offset, void *buffer, uint32_t count);

/* ---- Arguments and answers ---- */

PAGE_EXPORT(allocate) void *page_allocate(uint32_t count);
PAGE_EXPORT(release) void page_release(void *memory, uint32_t count);
PAGE_EXPORT(answer) const uint8_t *page_answer(void);
PAGE_EXPORT(answer_length) uint32_t page_answer_length(void);

/* Returns the name of a status, which ends with a zero. */
PAGE_EXPORT(status_name) const char *page_status_name(uint32_t status);

/* The arguments of page_give(). */
enum {
    PAGE_PASSPHRASE = 0, /* in NFC */
    PAGE_KEY_FILE = 1,
    PAGE_RAW_KEY = 2,
    PAGE_PROVIDER = 3,   /* its name */
    PAGE_CANDIDATES = 4, /* a provider's answer: 49 bytes each, u8 1 for one slot only, the slot's id, the key */
    PAGE_DEVICE = 5,     /* its id and its secret, 48 bytes */
    PAGE_OWNER = 6,      /* the owners' public key that is required, 32 bytes */
    PAGE_GIVEN = 7
};

/* Sets a factor or an option for the next page_open(). */
PAGE_EXPORT(give) uint32_t page_give(uint32_t what, void *bytes, uint32_t count);

/* ---- The vault ---- */

/* Reads the header of a vault of `size` bytes, without any factor.
 * Answer: id 16; u32 slots, each: id 16, u8 kind, u8 factors, u8 1 if they are known, memory, passes and lanes u32,
 * provider, parameters and the whole slot bytes; u32 extensions, each: u8 flags, name and value bytes.
 * After VFR_UNSUPPORTED_CRITICAL: the name of the extension, bytes. */
PAGE_EXPORT(load) uint32_t page_load(double size);

/* Opens the loaded vault with the given factors and options, within a policy; 0 means the format's default. Answer:
 * vault id 16, owner 32, u8 full, slot id 16, u8 tail, generation u64, chain 32, previous generation u64, previous
 * chain 32, clock, floor, own replica, own revision, items, forgotten and pasts u64. After VFR_UNSUPPORTED_CRITICAL: as
 * page_load(). After VFR_KDF_LIMIT: memory, passes and lanes u32. */
PAGE_EXPORT(open) uint32_t page_open(double memory, double passes, double lanes, double total);

/* Compares the state with an anchor: owner 32, chain 32, floor u64, and the rows, each: replica and revision u64, u8
 * split. Answer: u8, a vfr_verdict. */
PAGE_EXPORT(compare) uint32_t page_compare(void *anchor, uint32_t count);

/* Reads the vector. Answer: u32 rows, each: replica and revision u64, u8 split. */
PAGE_EXPORT(vector) uint32_t page_vector(void);

/* Answer: u8 limit, its dot, the key's dot; u32 counts, each followed by the elements: granted groups u64; extensions
 * of the keyring, as above; groups: number u64, name bytes; compartments: number and group u64, u8 accessibility,
 * device 16; slots: id 16, dots of making and changing, u32 grants, each: group u64, dot; u32 hand-overs. */
PAGE_EXPORT(keyring) uint32_t page_keyring(void);

/* Reads the parts of a slot that only owners can read. Answer: name and data bytes; u32 groups, each u64. */
PAGE_EXPORT(slot_owner) uint32_t page_slot_owner(uint32_t index);

/* Reads a hand-over. Answer: from 32, next 32, floor u64, u8 the status of its vector, u8 valid; rows, as above. */
PAGE_EXPORT(hand_over) uint32_t page_hand_over(uint32_t index);

/* ---- Items ---- */

/* Starts or restarts the list. */
PAGE_EXPORT(list) uint32_t page_list(void);

/* Moves to the next entry; an item becomes the current one. Answer: u8 1 for an item: page key bytes, u8 conflict, id
 * 16, dot, key, place and secret dots, created and modified i64, u8 secret, u8 past, u8 to settle, record revision u64,
 * compartment u64; the key as page_key() describes it; u32 attributes: u8 flags, name and value bytes, dot, record
 * revision and compartment u64. u8 0 for a forgotten value: u8 kind, name bytes, revision and replica u64. */
PAGE_EXPORT(next) uint32_t page_next(void);

/* Finds an item by its page key; it becomes the current one. Answer: as page_next(). */
PAGE_EXPORT(find) uint32_t page_find(void *key, uint32_t count);

/* Decodes an item key. Answer: u8 class, u8 synchronizable, u32 fields, each: u8 kind; a number u32, or else bytes. */
PAGE_EXPORT(key) uint32_t page_key(void *key, uint32_t count);

/* Reads the secret of the current item, or one of its attributes. Answer: the bytes alone. */
PAGE_EXPORT(secret) uint32_t page_secret(void);
PAGE_EXPORT(attribute) uint32_t page_attribute(uint32_t index);

/* Reads the current item's past, which becomes the current one.
 * Answer: u32 values, each: u8 kind, u8 flags, u8 flags of the attribute, name bytes, dot, u8 1 if it has content,
 * replaced i64, content bytes, u8 accessibility, device 16, u8 1 if it has a record, record revision and compartment
 * u64, attributes as above; u32 siblings, each: dot, created and modified i64, and for each value u8: 1 field, 2
 * earlier. */
PAGE_EXPORT(past) uint32_t page_past(void);

/* Reads a value of the current past, or one of the attributes that it lists. Answer: the bytes alone. */
PAGE_EXPORT(value) uint32_t page_value(uint32_t index);
PAGE_EXPORT(value_attribute) uint32_t page_value_attribute(uint32_t index, uint32_t attribute);

/* Determines the role of each value of the current past. Answer: for each value u8, a vfr_role. */
PAGE_EXPORT(roles) uint32_t page_roles(void);

/* Checks forgotten values like vfr_check_forgotten(). */
PAGE_EXPORT(check_forgotten) uint32_t page_check_forgotten(void);

/* Closes and wipes everything, including given factors and options. */
PAGE_EXPORT(close) void page_close(void);

#endif
