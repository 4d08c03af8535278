/*
 * The JSON header of a frame: what every request of an ordinary client begins with.
 *
 * codec/frames/json_head.py does the same in Python; tests compare the two. Nothing here decides anything: anything
 * unusual (a number that is none of 32 bits, a key twice, an escape beyond ASCII, a body that is no JSON) is answered
 * with None.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* The keys that count, in the order of the answer. */
enum { CODE, OPAQUE, FLAG, REMARK, EXT_FIELDS, LANGUAGE, VERSION, KEYS };
static const char *const NAMES[KEYS] = {"code", "opaque", "flag", "remark", "extFields", "language", "version"};

/* Text that is read; `at` never passes `end`. */
typedef struct {
    const char *at, *end;
} Text;

static void skip_spaces(Text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\r' || *text->at == '\n'))
        text->at++;
}

/* Whether this character comes next, spaces aside; then it is behind us. */
static int takes(Text *text, char one)
{
    skip_spaces(text);
    if (text->at == text->end || *text->at != one)
        return 0;
    text->at++;
    return 1;
}

/* Where a text ends whose first quote is behind us; NULL when it does not. Whether it has escapes; without any, whether it is ASCII. */
static const char *closing_quote(const Text *text, int *escaped, int *ascii)
{
    unsigned char all = 0;
    *escaped = 0;
    for (const char *at = text->at; at < text->end; at++) {
        unsigned char one = (unsigned char)*at;
        if (one == '"') {
            *ascii = all < 0x80;
            return at;
        }
        all |= one;
        if (one < 0x20)
            return NULL;
        if (one == '\\') {
            *escaped = 1;
            at++;
        }
    }
    return NULL;
}

static int hex_digit(char one)
{
    if (one >= '0' && one <= '9')
        return one - '0';
    one |= 0x20;
    return one >= 'a' && one <= 'f' ? one - 'a' + 10 : -1;
}

/* The character of the escape at `*at`, which is moved to its last byte; -1: it is none, or not ASCII. */
static int unescaped(const char **at, const char *end)
{
    static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
    const char *begin = *at + 1, *found = begin < end && *begin != 0 ? strchr(FROM, *begin) : NULL;
    *at = begin;
    if (found != NULL)
        return TO[found - FROM];
    if (end - begin < 5 || *begin != 'u')
        return -1;
    int value = 0;
    for (int index = 1; index <= 4; index++) {
        int digit = hex_digit(begin[index]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    *at = begin + 4;
    return value < 128 ? value : -1;
}

/* A text as it is. Most are ASCII, and need no look at each byte; of one character Python has one already. */
static PyObject *plain_text(const char *begin, Py_ssize_t size, int ascii)
{
    if (!ascii || size < 2)
        return PyUnicode_DecodeUTF8(begin, size, NULL);
    PyObject *text = PyUnicode_New(size, 127);
    if (text != NULL)
        memcpy(PyUnicode_1BYTE_DATA(text), begin, (size_t)size);
    return text;
}

/* A text whose first quote is behind us; NULL, with an exception set or not, when it is not ordinary. */
static PyObject *take_text(Text *text)
{
    int escaped, ascii;
    const char *begin = text->at, *end = closing_quote(text, &escaped, &ascii);
    if (end == NULL)
        return NULL;
    text->at = end + 1;
    if (!escaped)
        return plain_text(begin, end - begin, ascii);
    char *room = PyMem_Malloc((size_t)(end - begin)), *to = room;
    if (room == NULL)
        return PyErr_NoMemory();
    unsigned char all = 0;
    for (const char *at = begin; at < end; at++) {
        int one = *at == '\\' ? unescaped(&at, end) : (unsigned char)*at;
        if (one < 0) {
            PyMem_Free(room);
            return NULL;
        }
        all |= (unsigned char)one;
        *to++ = (char)one;
    }
    PyObject *result = plain_text(room, to - room, all < 0x80);
    PyMem_Free(room);
    return result;
}

static int takes_null(Text *text)
{
    skip_spaces(text);
    if (text->end - text->at < 4 || memcmp(text->at, "null", 4) != 0)
        return 0;
    text->at += 4;
    return 1;
}

/* A whole number of 32 bits. */
static PyObject *take_number(Text *text)
{
    skip_spaces(text);
    int negative = text->at < text->end && *text->at == '-';
    const char *begin = text->at += negative;
    int64_t number = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9' && text->at - begin < 11; text->at++)
        number = number * 10 + (*text->at - '0');
    Py_ssize_t digits = text->at - begin;
    if (digits == 0 || digits > 10 || (digits > 1 && *begin == '0'))
        return NULL;
    if (text->at == text->end || (*text->at != ',' && *text->at != '}' && *text->at != ' '))
        return NULL;
    if (negative)
        number = -number;
    return number < INT32_MIN || number > INT32_MAX ? NULL : PyLong_FromLongLong(number);
}

/* An object of texts. */
static PyObject *take_fields(Text *text)
{
    if (!takes(text, '{'))
        return NULL;
    PyObject *fields = PyDict_New();
    if (fields == NULL || takes(text, '}'))
        return fields;
    do {
        PyObject *key = takes(text, '"') ? take_text(text) : NULL;
        PyObject *value = key != NULL && takes(text, ':') && takes(text, '"') ? take_text(text) : NULL;
        int added = value == NULL ? -1 : PyDict_SetItem(fields, key, value);
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (added < 0) {
            Py_DECREF(fields);
            return NULL;
        }
    } while (takes(text, ','));
    if (!takes(text, '}'))
        Py_CLEAR(fields);
    return fields;
}

/* The key whose first quote is behind us, as one of NAMES; KEYS: another one; -1: it is not ordinary. */
static int take_key(Text *text)
{
    int escaped, ascii;
    const char *begin = text->at, *end = closing_quote(text, &escaped, &ascii);
    if (end == NULL || escaped)
        return -1;
    text->at = end + 1;
    for (int key = 0; key < KEYS; key++)
        if (strlen(NAMES[key]) == (size_t)(end - begin) && memcmp(NAMES[key], begin, (size_t)(end - begin)) == 0)
            return key;
    return KEYS;
}

static PyObject *take_value(Text *text, int key)
{
    if (key == EXT_FIELDS)
        return takes_null(text) ? Py_NewRef(Py_None) : take_fields(text);
    if (key == REMARK && takes_null(text))
        return Py_NewRef(Py_None);
    if (key == REMARK || key == LANGUAGE)
        return takes(text, '"') ? take_text(text) : NULL;
    if (key != KEYS)
        return take_number(text);
    /* One that nobody reads: a text, as serializeTypeCurrentRPC is. */
    return takes(text, '"') ? take_text(text) : NULL;
}

/* Fill the values; 0, with an exception set or not, when the header is not ordinary. */
static int take_head(Text *text, PyObject **values)
{
    if (!takes(text, '{'))
        return 0;
    do {
        int key = takes(text, '"') ? take_key(text) : -1;
        if (key < 0 || !takes(text, ':') || (key < KEYS && values[key] != NULL))
            return 0;
        PyObject *value = take_value(text, key);
        if (value == NULL)
            return 0;
        if (key < KEYS)
            values[key] = value;
        else
            Py_DECREF(value);
    } while (takes(text, ','));
    if (!takes(text, '}'))
        return 0;
    skip_spaces(text);
    return text->at == text->end;
}

PyDoc_STRVAR(plain_head_doc,
    "plain_head(frame, end)\n\n"
    "Code, opaque, flag, remark, ext fields, language and version of a frame without its length word, whose JSON header\n"
    "is between its fourth byte and `end`; None: it is not ordinary.");

static PyObject *plain_head(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyBytes_Check(args[0]) || !PyLong_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "plain_head takes bytes and an int");
        return NULL;
    }
    Py_ssize_t end = PyLong_AsSsize_t(args[1]);
    if (end == -1 && PyErr_Occurred())
        return NULL;
    if (end < 4 || end > PyBytes_GET_SIZE(args[0])) {
        PyErr_SetString(PyExc_ValueError, "the header does not end within the frame");
        return NULL;
    }
    const char *data = PyBytes_AS_STRING(args[0]);
    Text text = {data + 4, data + end};
    PyObject *values[KEYS] = {NULL}, *result = NULL;
    int whole = take_head(&text, values);
    if (!whole && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    if (whole) {
        for (int key = 0; whole && key < KEYS; key++)
            if (values[key] == NULL) {
                int is_number = key == CODE || key == OPAQUE || key == FLAG || key == VERSION;
                values[key] = is_number ? PyLong_FromLong(0)
                    : key == LANGUAGE   ? PyUnicode_FromString("JAVA")
                                        : Py_NewRef(Py_None);
                whole = values[key] != NULL;
            }
        result = whole ? PyTuple_New(KEYS) : NULL;
        for (int key = 0; result != NULL && key < KEYS; key++)
            PyTuple_SET_ITEM(result, key, Py_NewRef(values[key]));
    }
    for (int key = 0; key < KEYS; key++)
        Py_XDECREF(values[key]);
    if (result == NULL && !PyErr_Occurred())
        Py_RETURN_NONE;
    return result;
}

static PyMethodDef methods[] = {
    {"plain_head", (PyCFunction)(void (*)(void))plain_head, METH_FASTCALL, plain_head_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef heads = {
    PyModuleDef_HEAD_INIT, "trimq.codec.frames._heads", "codec/frames/json_head.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__heads(void)
{
    return PyModule_Create(&heads);
}
