// The program orders is an order service: PUT /7 places order 7, DELETE /7 cancels it, GET /7 says its state.
// NAMESRV_ADDR is RocketMQ's NameServer.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	orders, err := Start(os.Getenv("NAMESRV_ADDR"), func(order string) error {
		log.Print("charged ", order)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8000", orders))
}

func (o *Orders) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	order := strings.TrimPrefix(request.URL.Path, "/")
	status := http.StatusOK
	switch request.Method {
	case http.MethodPut:
		if o.Place(order) != nil {
			status = http.StatusServiceUnavailable
		}
	case http.MethodDelete:
		if !o.Cancel(order) {
			status = http.StatusConflict
		}
	}
	answer.WriteHeader(status)
	fmt.Fprintln(answer, o.State(order))
}
