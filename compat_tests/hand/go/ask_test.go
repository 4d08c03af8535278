package stories

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"
)

// ask sends one request on a connection of its own. Its answer has to be a success.
func ask(broker string, code int, fields map[string]string) error {
	link, err := net.DialTimeout("tcp", broker, time.Second)
	if err != nil {
		return err
	}
	defer link.Close()
	header, err := json.Marshal(map[string]any{"code": code, "language": "GO", "version": 317, "opaque": 1, "flag": 0, "extFields": fields})
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)))
	frame = append(binary.BigEndian.AppendUint32(frame, uint32(len(header))), header...)
	if _, err := link.Write(frame); err != nil {
		return err
	}
	var sizes [8]byte
	if _, err := io.ReadFull(link, sizes[:]); err != nil {
		return err
	}
	said := make([]byte, binary.BigEndian.Uint32(sizes[4:])&0xFFFFFF)
	if _, err := io.ReadFull(link, said); err != nil {
		return err
	}
	var answer struct {
		Code   int
		Remark string
	}
	if err := json.Unmarshal(said, &answer); err != nil || answer.Code != 0 {
		return fmt.Errorf("%s: %v", said, err)
	}
	return nil
}
