#include "load.h"
#include <expat.h>
#include <stdlib.h>

static struct {
    __typeof__(XML_ParserCreate_MM) *XML_ParserCreate_MM;
    __typeof__(XML_SetUserData) *XML_SetUserData;
    __typeof__(XML_SetElementHandler) *XML_SetElementHandler;
    __typeof__(XML_SetCharacterDataHandler) *XML_SetCharacterDataHandler;
    __typeof__(XML_SetStartDoctypeDeclHandler) *XML_SetStartDoctypeDeclHandler;
    __typeof__(XML_StopParser) *XML_StopParser;
    __typeof__(XML_Parse) *XML_Parse;
    __typeof__(XML_GetErrorCode) *XML_GetErrorCode;
    __typeof__(XML_ErrorString) *XML_ErrorString;
    __typeof__(XML_GetCurrentLineNumber) *XML_GetCurrentLineNumber;
    __typeof__(XML_ParserFree) *XML_ParserFree;
} expat;

int interchange_load_expat(void) {
    void *library = interchange_open("libexpat.so.1");
    return library != NULL && FIND(library, expat, XML_ParserCreate_MM) && FIND(library, expat, XML_SetUserData) &&
           FIND(library, expat, XML_SetElementHandler) && FIND(library, expat, XML_SetCharacterDataHandler) &&
           FIND(library, expat, XML_SetStartDoctypeDeclHandler) && FIND(library, expat, XML_StopParser) &&
           FIND(library, expat, XML_Parse) && FIND(library, expat, XML_GetErrorCode) &&
           FIND(library, expat, XML_ErrorString) && FIND(library, expat, XML_GetCurrentLineNumber) &&
           FIND(library, expat, XML_ParserFree);
}

struct parser {
    XML_Parser expat;
    void *context;
    struct interchange_xml_handlers handlers;
    int has_document_type;
    int is_stopped;
};

static void start(void *data, const XML_Char *name, const XML_Char **attributes) {
    struct parser *parser = data;
    if (!parser->is_stopped) parser->handlers.start(parser->context, name, (const char *const *)attributes);
}

static void end(void *data, const XML_Char *name) {
    struct parser *parser = data;
    (void)name;
    if (!parser->is_stopped) parser->handlers.end(parser->context);
}

static void text(void *data, const XML_Char *bytes, int size) {
    struct parser *parser = data;
    if (!parser->is_stopped) parser->handlers.text(parser->context, bytes, size);
}

static void document_type(void *data, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                          int has_subset) {
    struct parser *parser = data;
    (void)name, (void)system, (void)public, (void)has_subset;
    parser->has_document_type = 1;
    interchange_xml_stop(parser);
}

void *interchange_xml_open(void *context, const struct interchange_xml_handlers *handlers) {
    static const XML_Memory_Handling_Suite memory = {interchange_allocate, interchange_reallocate, interchange_free};
    struct parser *parser = calloc(1, sizeof *parser);
    if (parser == NULL) return NULL;
    parser->expat = expat.XML_ParserCreate_MM("UTF-8", &memory, NULL);
    if (parser->expat == NULL) {
        free(parser);
        return NULL;
    }
    parser->context = context;
    parser->handlers = *handlers;
    expat.XML_SetUserData(parser->expat, parser);
    expat.XML_SetElementHandler(parser->expat, start, end);
    expat.XML_SetCharacterDataHandler(parser->expat, text);
    expat.XML_SetStartDoctypeDeclHandler(parser->expat, document_type);
    return parser;
}

int interchange_xml_parse(void *handle, const void *bytes, size_t size, int is_last) {
    enum { most = 1 << 30 };
    struct parser *parser = handle;
    const char *next = bytes;
    while (size > most) {
        if (expat.XML_Parse(parser->expat, next, most, 0) != XML_STATUS_OK) return 0;
        next += most;
        size -= most;
    }
    return expat.XML_Parse(parser->expat, next, (int)size, is_last) == XML_STATUS_OK;
}

void interchange_xml_stop(void *handle) {
    struct parser *parser = handle;
    parser->is_stopped = 1;
    expat.XML_StopParser(parser->expat, XML_FALSE);
}

int interchange_xml_lacks_memory(void *handle) {
    struct parser *parser = handle;
    return expat.XML_GetErrorCode(parser->expat) == XML_ERROR_NO_MEMORY;
}

uint64_t interchange_xml_line(void *handle) {
    struct parser *parser = handle;
    return expat.XML_GetCurrentLineNumber(parser->expat);
}

const char *interchange_xml_error(void *handle) {
    struct parser *parser = handle;
    if (parser->has_document_type) return "it has a document type declaration, which is not allowed";
    const char *words = expat.XML_ErrorString(expat.XML_GetErrorCode(parser->expat));
    return words == NULL ? "it is not well-formed" : words;
}

void interchange_xml_close(void *handle) {
    struct parser *parser = handle;
    expat.XML_ParserFree(parser->expat);
    free(parser);
}
