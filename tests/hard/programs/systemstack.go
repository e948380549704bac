// Asks the runtime for its callers, which it finds on the thread's own stack, twice as often in two as in one.
package main

import (
	"os"
	"runtime"
)

var places [32]uintptr

//go:noinline
func askFor(times int) int {
	found := 0
	for i := 0; i < times; i++ {
		found += runtime.Callers(0, places[:])
	}
	return found
}

//go:noinline
func one() int {
	return askFor(10)
}

//go:noinline
func two() int {
	return askFor(20)
}

func main() {
	found := 0
	for i := 0; i < 40000; i++ {
		found += one() + two()
	}
	if found == 0 {
		os.Exit(1)
	}
}
