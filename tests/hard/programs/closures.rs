// Closures, iterators, a thread, and panics caught.

// What the optimizer cannot see through; std::hint::black_box is younger than Debian's compiler.
fn black_box<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(never)]
fn rust_leaf(turns: u64) -> u64 {
    let mut sum = 0u64;
    for i in 0..turns {
        sum = black_box(sum.wrapping_mul(3).wrapping_add(i));
    }
    sum
}

#[inline(never)]
fn rust_middle(turns: u64) -> u64 {
    let pad = black_box([turns; 40]);
    rust_leaf(pad[7]) + 1
}

#[inline(never)]
fn apply(work: &dyn Fn(u64) -> u64, turns: u64) -> u64 {
    work(turns) + 1
}

#[inline(never)]
fn recurse(depth: u32, turns: u64) -> u64 {
    if depth > 1 {
        black_box(recurse(depth - 1, turns)) + 1
    } else {
        rust_middle(turns)
    }
}

#[inline(never)]
fn panics(turns: u64) -> u64 {
    if turns > 0 {
        std::panic::panic_any(turns);
    }
    0
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut sum = 0u64;
    for i in 0..900u64 {
        let closure = |turns: u64| rust_middle(turns) + i;
        sum = sum.wrapping_add(apply(&closure, 400_000));
        sum = sum.wrapping_add(recurse(60, 400_000));
    }
    for i in 1..150_000u64 {
        sum += std::panic::catch_unwind(|| panics(black_box(i))).unwrap_or(1);
    }
    let threads: Vec<_> = (0..2)
        .map(|_| std::thread::spawn(|| recurse(30, 300_000_000)))
        .collect();
    for thread in threads {
        sum = sum.wrapping_add(thread.join().unwrap());
    }
    eprintln!("{}", sum);
}
