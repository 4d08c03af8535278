package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestRatesAreToldUntilTheLoadIsOver(t *testing.T) {
	links := []*link{{}, {}}
	links[0].moved.Add(300)
	links[1].moved.Add(700)
	var out bytes.Buffer
	over, told := make(chan struct{}), make(chan struct{})
	go func() {
		tell(0.05, links, &out, over)
		close(told)
	}()
	time.Sleep(300 * time.Millisecond)
	close(over)
	<-told
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) < 2 {
		t.Fatalf("%d lines: %s", len(lines), out.String())
	}
	rates := make([]float64, len(lines))
	for i, line := range lines {
		var found struct{ Rate float64 }
		if err := json.Unmarshal(line, &found); err != nil {
			t.Fatal(err)
		}
		rates[i] = found.Rate
	}
	// What moved before the second interval does not count in it again.
	if rates[0] <= 0 || rates[1] != 0 {
		t.Fatalf("rates %v", rates)
	}
}

func TestNobodyWhoDidNotAskIsTold(t *testing.T) {
	var out bytes.Buffer
	tell(0, nil, &out, nil)
	if out.Len() > 0 {
		t.Fatal(out.String())
	}
}
