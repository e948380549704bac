// Goroutines that work through calls, closures, defer and panic, and switch often.
package main

import (
	"fmt"
	"os"
	"sort"
	"sync"
	"time"
)

//go:noinline
func goLeaf(turns int) (sum uint64) {
	for i := 0; i < turns; i++ {
		sum = sum*3 + uint64(i)
	}
	return sum
}

//go:noinline
func goMiddle(turns int) uint64 {
	var pad [64]uint64
	pad[turns&63] = goLeaf(turns)
	return pad[turns&63] + 1
}

//go:noinline
func goRecurse(depth, turns int) uint64 {
	if depth > 1 {
		return goRecurse(depth-1, turns) + 1
	}
	return goMiddle(turns)
}

//go:noinline
func recovered(turns int) (result uint64) {
	defer func() {
		if problem := recover(); problem != nil {
			result = goMiddle(turns)
		}
	}()
	panic(turns)
}

func worker(work <-chan int, group *sync.WaitGroup, results chan<- uint64) {
	defer group.Done()
	for turns := range work {
		results <- goRecurse(40, turns) + recovered(turns)
	}
}

func main() {
	var group sync.WaitGroup
	work, results := make(chan int), make(chan uint64, 64)
	for i := 0; i < 4; i++ {
		group.Add(1)
		go worker(work, &group, results)
	}
	var sum uint64
	done := make(chan bool)
	go func() {
		for result := range results {
			sum += result
		}
		done <- true
	}()
	for end := time.Now().Add(1200 * time.Millisecond); time.Now().Before(end); {
		work <- 100000
	}
	close(work)
	group.Wait()
	close(results)
	<-done
	values := make([]int, 200000)
	for i := range values {
		values[i] = int(goLeaf(i%100)) & 0xffff
	}
	sort.Slice(values, func(a, b int) bool { return goLeaf(3)+uint64(values[a]) < goLeaf(3)+uint64(values[b]) })
	fmt.Fprintln(os.Stderr, sum, values[0])
}
