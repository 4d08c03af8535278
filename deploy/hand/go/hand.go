// Package hand starts a RocketMQ broker whose time, faults and life are in the hand of a test: copy this file.
// It runs the command trimq, or takes the server of TRIMQ_HAND and NAMESRV_ADDR (HOST:PORT each), in a container perhaps.
package hand

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// Words are what an operation takes, by name. Durations are text ("2h", "1m30s", "500ms") or seconds.
type Words map[string]any

// Server is a broker with its NameServer.
type Server struct {
	NamesrvAddr, BrokerAddr string
	address                 string
	t                       testing.TB
}

// Start gives a server that ends with the test. Settings are those of a broker.conf, each KEY=VALUE.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := &Server{NamesrvAddr: os.Getenv("NAMESRV_ADDR"), address: os.Getenv("TRIMQ_HAND"), t: t}
	if s.address != "" {
		return s
	}
	words := []string{"server", "--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0",
		"--hand", "127.0.0.1:0", "--store", t.TempDir(), "--log-level", "warning"}
	for _, setting := range settings {
		words = append(words, "--set", setting)
	}
	command := exec.Command("trimq", words...)
	command.Stderr = os.Stderr
	output, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Process.Signal(syscall.SIGTERM); command.Wait() })
	line, _ := bufio.NewReader(output).ReadString('\n')
	found := regexp.MustCompile(`namesrv=(\S+) broker=(\S+) .* hand=(\S+)`).FindStringSubmatch(line)
	if found == nil {
		t.Fatal("trimq did not start: see its output above")
	}
	s.NamesrvAddr, s.BrokerAddr, s.address = found[1], found[2], found[3]
	return s
}

// With is the same server for another test, which fails then.
func (s *Server) With(t testing.TB) *Server {
	return &Server{s.NamesrvAddr, s.BrokerAddr, s.address, t}
}

// Try asks for an operation of docs/hand.md. Its answer goes into the value that into points to, if that is not nil.
func (s *Server) Try(path string, words Words, into any) error {
	body, _ := json.Marshal(words)
	answer, err := http.Post("http://"+s.address+"/"+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("no hand answers at %s: %w", s.address, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, said)
	} else if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(said, into)
}

// Call is Try, and ends the test when that fails.
func (s *Server) Call(path string, words Words, into any) {
	s.t.Helper()
	if err := s.Try(path, words, into); err != nil {
		s.t.Fatal(err)
	}
}

// Advance moves the server's clock on. Clients go by their own clocks, which nobody moves.
func (s *Server) Advance(by string) { s.t.Helper(); s.Call("time/advance", Words{"by": by}, nil) }

// Until waits, in real time, for what clients do.
func (s *Server) Until(holds func() bool) { s.t.Helper(); s.until(holds, false) }

// AdvanceUntil moves from one thing that is due to the next until it holds: clients have real time in between.
func (s *Server) AdvanceUntil(holds func() bool) { s.t.Helper(); s.until(holds, true) }

func (s *Server) until(holds func() bool, moves bool) {
	s.t.Helper()
	for ends := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(ends) {
			s.t.Fatal("not so after 30 s")
		}
		if moves { // Nothing may be due.
			s.Try("time/step", nil, nil)
		}
	}
}

// Message is one that is stored.
type Message struct {
	Text           string            `json:"text"`
	Keys           string            `json:"keys"`
	Properties     map[string]string `json:"properties"`
	StoreMillis    int64             `json:"store_millis"`
	ReconsumeTimes int               `json:"reconsume_times"`
}

// Sent is what a topic has; WaitFor waits until it has so many; DeadLetters is what a group was given too often.
func (s *Server) Sent(topic string) []Message { return s.messages("looks/sent", Words{"topic": topic}) }
func (s *Server) WaitFor(topic string, count int) []Message {
	return s.messages("looks/wait_for", Words{"topic": topic, "count": count})
}
func (s *Server) DeadLetters(group string) []Message {
	return s.messages("looks/dead_letters", Words{"group": group})
}

func (s *Server) messages(path string, words Words) []Message {
	var found struct{ Messages []Message }
	s.Call(path, words, &found)
	return found.Messages
}

// Kill does what kill -9 does, and Restart starts it again over the same store, on the same ports.
func (s *Server) Kill()    { s.ends("server/kill", false) }
func (s *Server) Restart() { s.ends("server/restart", true) }

func (s *Server) ends(path string, serves bool) {
	type state struct {
		Run    string
		Serves bool
	}
	var before, now state
	s.Call("server/state", nil, &before)
	s.Call(path, nil, nil)
	s.Until(func() bool { // Between two programs nobody listens.
		return s.Try("server/state", nil, &now) == nil && now.Run != before.Run && now.Serves == serves
	})
}
