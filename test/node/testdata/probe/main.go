// Command probe is what the pods of the test run: one side of it serves what it finds in its volumes, the other fetches.
//
//	probe serve     answers on port 8080 with the Secret in /secret/word, by way of a file in /scratch
//	probe fetch URL writes what a URL answers to the termination message, as soon as it does
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if args[0] == "serve" {
		return serve()
	}
	for {
		word, err := fetch(args[1])
		if err == nil {
			return os.WriteFile("/dev/termination-log", word, 0o600)
		}
		_, _ = fmt.Fprintln(os.Stderr, err)
		<-time.After(100 * time.Millisecond)
	}
}

func serve() error {
	word, err := os.ReadFile("/secret/word")
	if err != nil {
		return err
	}
	if err = os.WriteFile("/scratch/word", word, 0o600); err != nil {
		return err
	}
	return http.ListenAndServe(":8080", http.FileServer(http.Dir("/scratch")))
}

func fetch(url string) ([]byte, error) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
