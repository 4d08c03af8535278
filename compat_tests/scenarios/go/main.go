// Command driver plays scenarios with the official Go client and writes down, per scenario, what the
// application saw.
//
// Arguments: --namesrv A --broker A --run ID --scenario X,Y --out DIR [--control DIR]
// [--how restart|kill9] [--parallel N]. --list prints the names of all scenarios. The Go client has no TLS.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// object is one JSON object of an outcome.
type object = map[string]any

// scenario is one program of an application; what it returns is what that application observed.
// A scenario that cannot go on panics.
type scenario func(*stage) any

var scenarios = map[string]scenario{}

type result struct {
	Scenario string  `json:"scenario"`
	Outcome  any     `json:"outcome"`
	Error    *string `json:"error"`
}

func main() {
	var place setup
	var names, out string
	var parallel int
	var list bool
	flag.StringVar(&place.namesrv, "namesrv", "", "address of the NameServer")
	flag.StringVar(&place.broker, "broker", "", "address of the broker")
	flag.StringVar(&place.run, "run", "", "part of every topic and group")
	flag.StringVar(&names, "scenario", "", "names, joined by commas")
	flag.StringVar(&out, "out", ".", "folder of the outcomes")
	flag.StringVar(&place.control.folder, "control", "", "folder of requests for restarts")
	flag.StringVar(&place.control.how, "how", "restart", "what a restart is")
	flag.IntVar(&parallel, "parallel", 1, "scenarios at a time")
	flag.BoolVar(&list, "list", false, "print all names")
	flag.Parse()
	if list {
		for _, name := range sortedKeys(scenarios) {
			fmt.Println(name)
		}
		return
	}
	rlog.SetLogLevel("error")
	playAll(strings.Split(names, ","), &place, out, parallel)
	fmt.Println("driver done")
}

func playAll(names []string, place *setup, out string, parallel int) {
	for _, name := range names {
		if scenarios[name] == nil {
			fmt.Println("no scenario", name)
			os.Exit(2)
		}
		place.control.expect(name)
	}
	places := make(chan struct{}, parallel)
	var running sync.WaitGroup
	for _, name := range names {
		running.Add(1)
		places <- struct{}{}
		go func(name string) {
			defer running.Done()
			began := time.Now()
			write(out, play(name, place))
			place.control.finished(name)
			fmt.Println(name, "took", time.Since(began))
			<-places
		}(name)
	}
	running.Wait()
}

func play(name string, place *setup) (seen result) {
	seen.Scenario = name
	stage := &stage{setup: place, name: name}
	defer stage.close()
	defer func() {
		if failure := recover(); failure != nil {
			text := fmt.Sprintf("%v\n%s", failure, debug.Stack())
			seen.Error = &text
		}
	}()
	seen.Outcome = scenarios[name](stage)
	return seen
}

func write(out string, seen result) {
	text, err := json.Marshal(seen)
	check(err)
	partial := filepath.Join(out, seen.Scenario+".partial")
	check(os.WriteFile(partial, text, 0o644))
	check(os.Rename(partial, filepath.Join(out, seen.Scenario+".json")))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func sortedKeys[V any](table map[string]V) []string {
	keys := make([]string, 0, len(table))
	for key := range table {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
