package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// control asks the harness to restart the server.
//
// A restart hits every scenario of this process, so those that want one meet here first: the last to
// arrive makes the request for all.
type control struct {
	folder, how string

	lock     sync.Mutex
	expected map[string]bool
	arrived  map[string]chan struct{}
	number   int
}

// expect says that a scenario will ask for a restart, by its name's beginning.
func (c *control) expect(name string) {
	if strings.HasPrefix(name, "restart_") {
		if c.expected == nil {
			c.expected = map[string]bool{}
			c.arrived = map[string]chan struct{}{}
		}
		c.expected[name] = true
	}
}

// finished says that a scenario will ask for nothing more.
func (c *control) finished(name string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.expected, name)
	c.meet()
}

// restart returns when the server has been restarted.
func (c *control) restart(name string) {
	done := make(chan struct{})
	c.lock.Lock()
	c.arrived[name] = done
	c.meet()
	c.lock.Unlock()
	<-done
}

func (c *control) meet() {
	if len(c.arrived) == 0 || len(c.arrived) < len(c.expected) {
		return
	}
	c.number++
	partial := filepath.Join(c.folder, "request.partial")
	request := filepath.Join(c.folder, fmt.Sprintf("request-%d.json", c.number))
	check(os.WriteFile(partial, []byte(fmt.Sprintf(`{"do":%q}`, c.how)), 0o644))
	check(os.Rename(partial, request))
	mark := filepath.Join(c.folder, fmt.Sprintf("done-%d", c.number))
	await("the harness restarts the server", 240*time.Second, func() bool {
		_, err := os.Stat(mark)
		return err == nil
	})
	for name, done := range c.arrived {
		close(done)
		delete(c.arrived, name)
	}
}

// holds waits until something is so, or not for longer than the time given.
func holds(patience time.Duration, isSo func() bool) bool {
	deadline := time.Now().Add(patience)
	for !isSo() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}

func await(what string, patience time.Duration, isSo func() bool) {
	if !holds(patience, isSo) {
		panic(fmt.Sprintf("waited %s in vain until %s", patience, what))
	}
}
