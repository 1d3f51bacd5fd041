#include "load.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

static struct {
    __typeof__(inflateInit2_) *inflateInit2_;
    __typeof__(inflate) *inflate;
    __typeof__(inflateEnd) *inflateEnd;
    __typeof__(deflateInit2_) *deflateInit2_;
    __typeof__(deflate) *deflate;
    __typeof__(deflateEnd) *deflateEnd;
} zlib;

int interchange_load_zlib(void) {
    void *library = interchange_open("libz.so.1");
    return library != NULL && FIND(library, zlib, inflateInit2_) && FIND(library, zlib, inflate) &&
           FIND(library, zlib, inflateEnd) && FIND(library, zlib, deflateInit2_) && FIND(library, zlib, deflate) &&
           FIND(library, zlib, deflateEnd);
}

static voidpf allocate(voidpf context, uInt count, uInt size) {
    (void)context;
    return interchange_allocate((size_t)count * size);
}

static void release(voidpf context, voidpf block) {
    (void)context;
    interchange_free(block);
}

enum { gzip_window = 15 + 16 };

void *interchange_inflate_open(void) {
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->zalloc = allocate;
    stream->zfree = release;
    if (zlib.inflateInit2_(stream, gzip_window, ZLIB_VERSION, (int)sizeof *stream) == Z_OK) return stream;
    free(stream);
    return NULL;
}

void *interchange_deflate_open(void) {
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->zalloc = allocate;
    stream->zfree = release;
    if (zlib.deflateInit2_(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                           (int)sizeof *stream) == Z_OK)
        return stream;
    free(stream);
    return NULL;
}

static uInt at_most(size_t size) { return size < UINT_MAX ? (uInt)size : UINT_MAX; }

static void set(z_stream *stream, const void *input, size_t input_size, void *output, size_t output_size) {
    stream->next_in = input;
    stream->avail_in = at_most(input_size);
    stream->next_out = output;
    stream->avail_out = at_most(output_size);
}

static enum interchange_flow flow(int result) {
    switch (result) {
    case Z_OK:
    case Z_BUF_ERROR: return INTERCHANGE_MORE;
    case Z_STREAM_END: return INTERCHANGE_END;
    case Z_MEM_ERROR: return INTERCHANGE_NO_MEMORY;
    default: return INTERCHANGE_BROKEN;
    }
}

enum interchange_flow interchange_inflate(void *handle, const void *input, size_t *input_size, void *output,
                                          size_t *output_size) {
    z_stream *stream = handle;
    set(stream, input, *input_size, output, *output_size);
    const uInt in = stream->avail_in, out = stream->avail_out;
    int result = zlib.inflate(stream, Z_NO_FLUSH);
    *input_size -= in - stream->avail_in;
    *output_size -= out - stream->avail_out;
    return flow(result);
}

enum interchange_flow interchange_deflate(void *handle, const void *input, size_t *input_size, int is_last, void *output,
                                          size_t *output_size) {
    z_stream *stream = handle;
    set(stream, input, *input_size, output, *output_size);
    const uInt in = stream->avail_in, out = stream->avail_out;
    int result = zlib.deflate(stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    *input_size -= in - stream->avail_in;
    *output_size -= out - stream->avail_out;
    return flow(result);
}

void interchange_inflate_close(void *handle) {
    zlib.inflateEnd(handle);
    interchange_free(handle);
}

void interchange_deflate_close(void *handle) {
    zlib.deflateEnd(handle);
    interchange_free(handle);
}
