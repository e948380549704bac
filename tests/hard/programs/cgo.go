// Calls C, which runs on the thread's own stack, twice as long in two as in one.
package main

/*
__attribute__((noinline)) static void cLeaf(long turns)
{
    for (volatile long i = 0; i < turns; i++)
        ;
}

__attribute__((noinline)) static void cMiddle(long turns)
{
    cLeaf(turns);
    __asm__ volatile("" ::: "memory");
}
*/
import "C"

import "sync"

//go:noinline
func one() {
	C.cMiddle(10000)
}

//go:noinline
func two() {
	C.cMiddle(20000)
}

func work(group *sync.WaitGroup) {
	defer group.Done()
	for i := 0; i < 120000; i++ {
		one()
		two()
	}
}

func main() {
	var group sync.WaitGroup
	group.Add(2)
	go work(&group)
	go work(&group)
	group.Wait()
}
