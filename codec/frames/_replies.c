/*
 * The JSON header of a reply, and the two words before it.
 *
 * codec/frames/json_head.py does the same in Python; tests compare the two. Nothing here decides anything: a field that
 * JSON does not write as it is, or a frame that is too large, is answered with None.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define LONGEST_HEADER 0xFFFFFF
/* Everything in a header but its fields, with the longest numbers, and the two words before it. */
#define ROOM_BESIDE_FIELDS 256

/* The bytes of a text that JSON writes as they are; NULL when it is none, or has others. */
static const char *plain_text(PyObject *text, Py_ssize_t *size)
{
    if (!PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text))
        return NULL;
    const char *data = (const char *)PyUnicode_1BYTE_DATA(text);
    *size = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t index = 0; index < *size; index++)
        if (data[index] < 0x20 || data[index] == '"' || data[index] == '\\' || data[index] == 0x7F)
            return NULL;
    return data;
}

/* Bytes that the fields take, with their quotes and separators; -1: one is not ordinary. */
static Py_ssize_t measure_fields(PyObject *fields)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, total = 0, key_size, value_size;
    while (PyDict_Next(fields, &at, &key, &value)) {
        if (plain_text(key, &key_size) == NULL || plain_text(value, &value_size) == NULL)
            return -1;
        total += key_size + value_size + 6;
        if (total > LONGEST_HEADER)
            return -1;
    }
    return total;
}

static char *put_ascii(char *to, const char *text)
{
    size_t size = strlen(text);
    memcpy(to, text, size);
    return to + size;
}

static char *put_number(char *to, int64_t number)
{
    char digits[20], *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        *to++ = '-';
    size_t size = (size_t)(digits + sizeof digits - at);
    memcpy(to, at, size);
    return to + size;
}

static char *put_text(char *to, PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    *to++ = '"';
    memcpy(to, PyUnicode_1BYTE_DATA(text), (size_t)size);
    to[size] = '"';
    return to + size + 1;
}

static char *put_fields(char *to, PyObject *fields)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    to = put_ascii(to, "\"extFields\":{");
    if (PyDict_GET_SIZE(fields) == 0)
        return put_ascii(to, "},");
    while (PyDict_Next(fields, &at, &key, &value)) {
        to = put_text(to, key);
        *to++ = ':';
        to = put_text(to, value);
        *to++ = ',';
    }
    to[-1] = '}';
    *to++ = ',';
    return to;
}

static char *put_word(char *to, uint32_t word)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *to++ = (char)(word >> shift & 0xFF);
    return to;
}

PyDoc_STRVAR(plain_reply_doc,
    "plain_reply(code, flag, opaque, version, fields, body_length)\n\n"
    "The length words and the JSON header of a frame without a remark, or, with None, fields; None: it is not ordinary.");

static PyObject *plain_reply(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    int64_t numbers[4];
    if (count != 6 || !(args[4] == Py_None || PyDict_Check(args[4])) || !PyLong_Check(args[5])) {
        PyErr_SetString(PyExc_TypeError, "plain_reply takes four numbers, a dict or None, and a number");
        return NULL;
    }
    int overflow = 0, beyond = 0;
    for (int index = 0; index < 4; index++) {
        if (!PyLong_Check(args[index])) {
            PyErr_SetString(PyExc_TypeError, "plain_reply takes four numbers, a dict or None, and a number");
            return NULL;
        }
        numbers[index] = PyLong_AsLongLongAndOverflow(args[index], &overflow);
        beyond |= overflow;
    }
    int64_t body_length = PyLong_AsLongLongAndOverflow(args[5], &overflow);
    Py_ssize_t room = args[4] == Py_None ? 0 : measure_fields(args[4]);
    if (beyond || overflow || room < 0 || body_length < 0 || body_length > INT32_MAX)
        Py_RETURN_NONE;
    PyObject *made = PyBytes_FromStringAndSize(NULL, room + ROOM_BESIDE_FIELDS);
    if (made == NULL)
        return NULL;
    char *begin = PyBytes_AS_STRING(made), *to = begin + 8;
    to = put_number(put_ascii(to, "{\"code\":"), numbers[0]);
    *to++ = ',';
    if (args[4] != Py_None)
        to = put_fields(to, args[4]);
    to = put_number(put_ascii(to, "\"flag\":"), numbers[1]);
    to = put_number(put_ascii(to, ",\"language\":\"JAVA\",\"opaque\":"), numbers[2]);
    to = put_number(put_ascii(to, ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":"), numbers[3]);
    *to++ = '}';
    int64_t length = to - begin - 8;
    if (length > LONGEST_HEADER) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    put_word(put_word(begin, (uint32_t)(4 + length + body_length)), (uint32_t)length);
    _PyBytes_Resize(&made, to - begin);
    return made;
}

static PyMethodDef methods[] = {
    {"plain_reply", (PyCFunction)(void (*)(void))plain_reply, METH_FASTCALL, plain_reply_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef replies = {
    PyModuleDef_HEAD_INIT, "trimq.codec.frames._replies", "codec/frames/json_head.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__replies(void)
{
    return PyModule_Create(&replies);
}
