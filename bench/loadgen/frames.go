package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
)

// Opaques have ten digits, so that they can be changed in place; they start here and end below 2^31.
const firstOpaque = 1_000_000_000
const lastOpaque = 2_147_483_647

// Request codes and the response codes that a load may get (RequestCode, ResponseCode).
const (
	pullMessage     = 11
	updateOffset    = 15
	routeByTopic    = 105
	heartBeat       = 34
	sendV2          = 310
	popMessage      = 200050
	ackMessage      = 200051
	batchAckMessage = 200151
	success         = 0
	pollingTimeout  = 210
	pullNotFound    = 19
	// Nothing of what was looked at is wanted; there is more.
	pullRetryImmediately = 20
	subscribed           = 4
	suspend              = 2
)

// Frame is a request whose opaque can be changed without making it anew.
type Frame struct {
	bytes  []byte
	opaque int
	marks  []int
	offset int
	due    int
}

// The place of an offset that setOffset changes; Java and Python read leading zeros.
const offsetMark = "0000000000"

// setOffset puts a number where offsetMark was.
func (f *Frame) setOffset(offset int64) { putDigits(f.bytes[f.offset:f.offset+10], offset) }

// The place of a time in milliseconds that setDue changes. What stands before it ends with another digit.
const dueMark = "2222222222222"

// setDue puts a time where dueMark was.
func (f *Frame) setDue(millis int64) { putDigits(f.bytes[f.due:f.due+len(dueMark)], millis) }

// copied has bytes of its own: each connection changes its frames.
func (f *Frame) copied() *Frame {
	own := *f
	own.bytes = append([]byte(nil), f.bytes...)
	return &own
}

// newFrame encodes a request with a JSON header. mark is a text of ten digits in it that is to follow the
// opaque, such as the end of a unique key.
func newFrame(code int, fields map[string]string, body []byte, mark string) *Frame {
	header, err := json.Marshal(map[string]any{
		"code": code, "language": "GO", "version": 500, "opaque": firstOpaque, "flag": 0,
		"serializeTypeCurrentRPC": "JSON", "extFields": fields,
	})
	if err != nil {
		panic(err)
	}
	data := make([]byte, 8, 8+len(header)+len(body))
	binary.BigEndian.PutUint32(data, uint32(4+len(header)+len(body)))
	binary.BigEndian.PutUint32(data[4:], uint32(len(header)))
	data = append(append(data, header...), body...)
	text := []byte(`"opaque":` + strconv.Itoa(firstOpaque))
	frame := &Frame{bytes: data, opaque: bytes.Index(data, text) + len(`"opaque":`)}
	frame.offset = bytes.Index(data, []byte(`"`+offsetMark+`"`)) + 1
	frame.due = bytes.Index(data, []byte(dueMark))
	if mark != "" {
		frame.marks = append(frame.marks, bytes.Index(data, []byte(mark)))
	}
	return frame
}

// stamp puts the opaque in and returns the bytes.
func (f *Frame) stamp(opaque int64) []byte {
	putDigits(f.bytes[f.opaque:f.opaque+10], opaque)
	for _, at := range f.marks {
		putDigits(f.bytes[at:at+10], opaque)
	}
	return f.bytes
}

func putDigits(target []byte, number int64) {
	for i := len(target) - 1; i >= 0; i-- {
		target[i] = byte('0' + number%10)
		number /= 10
	}
}

// Reply is a response's head and where its body lies.
type Reply struct {
	code   int64
	opaque int64
	header []byte
	body   []byte
}

// nextReply takes a reply from the front of data; nothing while it is not whole.
func nextReply(data []byte) (Reply, []byte, bool, error) {
	if len(data) < 8 {
		return Reply{}, data, false, nil
	}
	size := int(binary.BigEndian.Uint32(data))
	if size < 4 || size > 64<<20 {
		return Reply{}, data, false, fmt.Errorf("a frame of %d bytes", size)
	}
	if len(data) < 4+size {
		return Reply{}, data, false, nil
	}
	mark := binary.BigEndian.Uint32(data[4:])
	if mark>>24 != 0 {
		return Reply{}, data, false, fmt.Errorf("a reply in coding %d, asked in JSON", mark>>24)
	}
	length := int(mark)
	if length > size-4 {
		return Reply{}, data, false, fmt.Errorf("a header of %d bytes in a frame of %d", length, size)
	}
	reply := Reply{header: data[8 : 8+length], body: data[8+length : 4+size]}
	var err error
	if reply.code, err = number(reply.header, `"code":`); err != nil {
		return reply, data, false, err
	}
	if reply.opaque, err = number(reply.header, `"opaque":`); err != nil {
		return reply, data, false, err
	}
	return reply, data[4+size:], true, nil
}

// number is what stands behind a key of the JSON header, in quotes or not.
func number(header []byte, key string) (int64, error) {
	at := bytes.Index(header, []byte(key))
	if at < 0 {
		return 0, fmt.Errorf("no %s in %s", key, header)
	}
	at += len(key)
	for at < len(header) && (header[at] == ' ' || header[at] == '"') {
		at++
	}
	value, digits, negative := int64(0), 0, false
	if at < len(header) && header[at] == '-' {
		negative, at = true, at+1
	}
	for ; at < len(header) && header[at] >= '0' && header[at] <= '9'; at++ {
		value, digits = value*10+int64(header[at]-'0'), digits+1
	}
	if digits == 0 {
		return 0, fmt.Errorf("no number behind %s in %s", key, header)
	}
	if negative {
		value = -value
	}
	return value, nil
}

// text is a number as ext fields have it.
func text(number int64) string { return strconv.FormatInt(number, 10) }
