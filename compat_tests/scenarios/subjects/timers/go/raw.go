package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// reply is what a broker answers: the fields of a header in JSON, and a body.
type reply struct {
	Code   int               `json:"code"`
	Remark string            `json:"remark"`
	Fields map[string]string `json:"extFields"`
	body   []byte
}

// ask sends one request on a connection of its own: the Go client knows no recall, and hides its connections.
func ask(addr string, code int, fields map[string]string, body []byte) (reply, error) {
	var got reply
	link, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return got, err
	}
	defer link.Close()
	check(link.SetDeadline(time.Now().Add(patience)))
	header, err := json.Marshal(object{
		"code": code, "language": "GO", "version": 317, "opaque": 1, "flag": 0, "remark": "", "extFields": fields,
		"serializeTypeCurrentRPC": "JSON",
	})
	check(err)
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	frame = append(append(frame, header...), body...)
	if _, err := link.Write(frame); err != nil {
		return got, err
	}
	sizes := make([]byte, 8)
	if _, err := io.ReadFull(link, sizes); err != nil {
		return got, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(sizes)-4)
	if _, err := io.ReadFull(link, rest); err != nil {
		return got, err
	}
	// The first byte of the header's size is its coding: JSON, as that of the request.
	length := binary.BigEndian.Uint32(sizes[4:]) & 0xFFFFFF
	got.body = rest[length:]
	return got, json.Unmarshal(rest[:length], &got)
}

// sendRaw is a send with short names, of which the answer has the handle.
func (s *stage) sendRaw(topic, body string, queue int, properties map[string]string) (reply, error) {
	text := ""
	for key, value := range properties {
		text += key + "\x01" + value + "\x02"
	}
	return ask(s.broker, 310, map[string]string{
		"a": s.group("p"), "b": topic, "c": "TBW102", "d": "4", "e": fmt.Sprint(queue), "f": "0",
		"g": fmt.Sprint(time.Now().UnixMilli()), "h": "0", "i": text, "j": "0", "k": "false", "l": "0", "m": "false",
	}, []byte(body))
}

// end is how many messages a queue has had.
func (s *stage) end(topic string, queue int) int {
	got, err := ask(s.broker, 30, map[string]string{"topic": topic, "queueId": fmt.Sprint(queue)}, nil)
	check(err)
	offset, err := strconv.Atoi(got.Fields["offset"])
	check(err)
	return offset
}

func (s *stage) recall(topic, handle string) (reply, error) {
	fields := map[string]string{"producerGroup": s.group("p"), "topic": topic, "recallHandle": handle}
	return ask(s.broker, 370, fields, nil)
}
