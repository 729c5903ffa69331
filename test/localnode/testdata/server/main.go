// A server that tells its environment and crashes when it is asked to.
package main

import (
	"encoding/json"
	"net/http"
	"os"
	"time"
)

func main() {
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /env", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Host-Seen", r.Host)
		if err := json.NewEncoder(w).Encode(os.Environ()); err != nil {
			os.Exit(1)
		}
	})
	http.HandleFunc("GET /args", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(os.Args[1:]); err != nil {
			os.Exit(1)
		}
	})
	http.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	server := http.Server{Addr: os.Getenv("TERDUT_LISTEN_ADDR"), ReadHeaderTimeout: 10 * time.Second}
	if server.ListenAndServe() != nil {
		os.Exit(1)
	}
}
