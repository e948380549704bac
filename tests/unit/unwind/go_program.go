// A Go program whose stack tables are compared with its .debug_frame.
package main

import (
	"fmt"
	"sort"
)

//go:noinline
func depth(n int) int {
	var room [20]int
	for i := range room {
		room[i] = n * i
	}
	if n == 0 {
		return room[3]
	}
	return depth(n-1) + room[n%20]
}

func main() {
	results := make(chan int)
	for i := 0; i < 4; i++ {
		go func() { results <- depth(20) }()
	}
	all := []int{}
	for i := 0; i < 4; i++ {
		all = append(all, <-results)
	}
	sort.Ints(all)
	fmt.Println(all)
}
