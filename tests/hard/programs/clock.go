// Reads the clock twice as often in two as in one. The vdso is called on the thread's own stack.
package main

import (
	"fmt"
	"os"
	"time"
)

//go:noinline
func stamp() int64 {
	return time.Now().UnixNano()
}

//go:noinline
func one() int64 {
	return stamp()
}

//go:noinline
func two() int64 {
	return stamp() ^ stamp()
}

func main() {
	var sum int64
	for i := 0; i < 12000000; i++ {
		sum ^= one() + two()
	}
	fmt.Fprintln(os.Stderr, sum)
}
