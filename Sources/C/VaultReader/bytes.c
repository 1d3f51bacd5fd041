/* Bytes: the cursor over untrusted input, integers, text and comparison (section 1); and memory allocation. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t zeros[VFRI_FIXED];

vfri_cursor vfri_cursor_of(const uint8_t *bytes, size_t length) {
    return (vfri_cursor){.at = bytes, .left = length, .failed = false};
}

void vfri_require(vfri_cursor *cursor, bool condition) {
    if (!condition) cursor->failed = true;
}

vfr_bytes vfri_take(vfri_cursor *cursor, size_t length) {
    vfri_require(cursor, length <= cursor->left);
    if (cursor->failed) return (vfr_bytes){zeros, 0};
    vfr_bytes taken = {cursor->at, length};
    cursor->at += length;
    cursor->left -= length;
    return taken;
}

const uint8_t *vfri_fixed(vfri_cursor *cursor, size_t length) {
    vfr_bytes taken = vfri_take(cursor, length);
    return taken.length == length ? taken.data : zeros;
}

uint8_t vfri_u8(vfri_cursor *cursor) {
    return *vfri_fixed(cursor, 1);
}

uint16_t vfri_u16(vfri_cursor *cursor) {
    const uint8_t *bytes = vfri_fixed(cursor, 2);
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

uint32_t vfri_u32(vfri_cursor *cursor) {
    return vfri_load32(vfri_fixed(cursor, 4));
}

uint64_t vfri_u64(vfri_cursor *cursor) {
    return vfri_load64(vfri_fixed(cursor, 8));
}

/* at most 9 bytes, in the shortest form. */
uint64_t vfri_varint(vfri_cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint8_t byte = vfri_u8(cursor);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            vfri_require(cursor, byte != 0 || shift == 0);
            return cursor->failed ? 0 : value;
        }
    }
    cursor->failed = true;
    return 0;
}

int64_t vfri_zigzag(vfri_cursor *cursor) {
    uint64_t value = vfri_varint(cursor);
    int64_t half = (int64_t)(value >> 1);
    return (value & 1) != 0 ? -half - 1 : half;
}

size_t vfri_count(vfri_cursor *cursor, size_t limit) {
    uint64_t value = vfri_varint(cursor);
    vfri_require(cursor, value <= limit);
    return cursor->failed ? 0 : (size_t)value;
}

void vfri_reserved(vfri_cursor *cursor, size_t length) {
    vfr_bytes taken = vfri_take(cursor, length);
    vfri_require(cursor, vfri_is_zero(taken.data, taken.length));
}

void vfri_padding(vfri_cursor *cursor) {
    vfri_reserved(cursor, cursor->left);
}

uint32_t vfri_load32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint64_t vfri_load64(const uint8_t *bytes) {
    return (uint64_t)vfri_load32(bytes) | (uint64_t)vfri_load32(bytes + 4) << 32;
}

void vfri_store32(uint8_t *bytes, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

void vfri_store64(uint8_t *bytes, uint64_t value) {
    for (unsigned i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

bool vfri_is_zero(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != 0) return false;
    }
    return true;
}

/* Returns the length of the sequence that begins with `first` (RFC 3629), or 0, and the range of its second byte. */
static size_t sequence(uint8_t first, uint8_t *least, uint8_t *greatest) {
    *least = 0x80;
    *greatest = 0xBF;
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return 2;
    if (first >= 0xE0 && first <= 0xEF) {
        if (first == 0xE0) *least = 0xA0;
        if (first == 0xED) *greatest = 0x9F;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (first == 0xF0) *least = 0x90;
        if (first == 0xF4) *greatest = 0x8F;
        return 4;
    }
    return 0;
}

bool vfri_is_text(vfr_bytes bytes) {
    size_t at = 0;
    while (at < bytes.length) {
        uint8_t least, greatest;
        size_t length = sequence(bytes.data[at], &least, &greatest);
        if (length == 0 || length > bytes.length - at) return false;
        for (size_t i = 1; i < length; i++) {
            uint8_t byte = bytes.data[at + i];
            if (byte < least || byte > greatest) return false;
            least = 0x80;
            greatest = 0xBF;
        }
        at += length;
    }
    return true;
}

int vfri_compare(vfr_bytes left, vfr_bytes right) {
    size_t common = left.length < right.length ? left.length : right.length;
    int order = common == 0 ? 0 : memcmp(left.data, right.data, common);
    if (order != 0) return order;
    return (left.length > right.length) - (left.length < right.length);
}

bool vfri_same(vfr_bytes left, vfr_bytes right) {
    return left.length == right.length && vfri_compare(left, right) == 0;
}

bool vfri_is_printable(vfr_bytes bytes) {
    for (size_t i = 0; i < bytes.length; i++) {
        if (bytes.data[i] < 33 || bytes.data[i] > 126) return false;
    }
    return true;
}

/* ---- Memory ---- */

/* The header of each allocated block. */
typedef union head {
    size_t size; /* of the whole block */
    max_align_t alignment;
} head;

void *vfri_allocate(vfri_memory *memory, size_t size) {
    if (size > SIZE_MAX - sizeof(head)) return NULL;
    size_t whole = size + sizeof(head);
    if (whole > memory->budget - memory->used) return NULL;
    const vfr_allocator *allocator = &memory->allocator;
    head *block = allocator->allocate != NULL ? allocator->allocate(allocator->context, whole) : malloc(whole);
    if (block == NULL) return NULL;
    memset(block, 0, whole);
    block->size = whole;
    memory->used += whole;
    return block + 1;
}

void *vfri_allocate_array(vfri_memory *memory, size_t count, size_t size) {
    return count > SIZE_MAX / size ? NULL : vfri_allocate(memory, count * size);
}

void vfri_release(vfri_memory *memory, void *pointer) {
    if (pointer == NULL) return;
    head *block = (head *)pointer - 1;
    size_t whole = block->size;
    vfri_wipe(block, whole);
    memory->used -= whole;
    if (memory->allocator.release != NULL) {
        memory->allocator.release(memory->allocator.context, block, whole);
    } else {
        free(block);
    }
}

static int read_memory(void *context, uint64_t offset, void *buffer, size_t count) {
    const vfr_memory *memory = context;
    if (offset > memory->length || count > memory->length - offset) return -1;
    memcpy(buffer, memory->bytes + offset, count);
    return 0;
}

vfr_source vfr_memory_source(const vfr_memory *memory) {
    /* The callback does not write through its context. */
    return (vfr_source){.context = (void *)(uintptr_t)memory, .read = read_memory, .size = memory->length};
}
