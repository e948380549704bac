-- The tables of a recording, version 1. Users read them through the views (views.sql); both are
-- described in docs/schema.md.
--
-- Conventions: ids are small local row numbers; `key` is the identity of the content and is equal in
-- every recording that holds the same thing. Times are nanoseconds since the start of the run.
-- Keys and addresses are 64-bit patterns in SQLite's signed integers: show them with
-- printf('%x', …). Where a value is unknown or does not apply it is NULL.
--
-- Foreign keys are declared for readers and for PRAGMA foreign_key_check; the recorder does not
-- have them checked at each insert, which would cost four look-ups per sample. CHECKs of words name
-- the frequent ones first: SQLite builds the list behind IN anew for each row, which takes longer than
-- all the rest of the insert.

PRAGMA application_id = 0x73707266; -- "sprf"

-- One recording: where, what, with which settings, at what cost.
CREATE TABLE run (
    id                 INTEGER PRIMARY KEY,
    key                INTEGER NOT NULL UNIQUE,
    state              TEXT    NOT NULL CHECK (state IN ('recording', 'recorded', 'complete')),
    sprof_version      TEXT    NOT NULL,
    host               TEXT,
    kernel             TEXT,
    architecture       TEXT,
    cpus               INTEGER NOT NULL,
    command            TEXT,             -- NULL when attached
    targets            TEXT,             -- NULL when launched
    working_directory  TEXT,
    mode               TEXT    NOT NULL CHECK (mode IN ('full', 'app', 'pc')),
    frame              TEXT    CHECK (frame = 'app'),
    app_interior       TEXT    NOT NULL CHECK (app_interior IN ('keep', 'drop')),
    module_rules       TEXT,             -- one "app GLOB" or "system GLOB" a line
    source             TEXT    NOT NULL,
    kernel_excluded    TEXT,             -- why the kernel was not sampled; NULL: it was
    frequency_hz       INTEGER,          -- NULL: a period was asked for, or an import
    stack_bytes        INTEGER NOT NULL,
    stack_bytes_wanted INTEGER NOT NULL,
    ring_bytes         INTEGER NOT NULL,
    start_realtime_ns  INTEGER NOT NULL, -- since 1970
    start_monotonic_ns INTEGER,          -- CLOCK_MONOTONIC at the run's time 0
    duration_ns        INTEGER NOT NULL,
    own_cpu_ns         INTEGER NOT NULL, -- what sprof itself used
    target_cpu_ns      INTEGER NOT NULL,
    recorder_pid       INTEGER NOT NULL, -- these three tell a live recorder from a killed one
    recorder_start     INTEGER NOT NULL,
    boot_id            TEXT,
    wait_status        INTEGER NOT NULL  -- as from waitpid(2); -1 unknown
) STRICT;

-- What was counted: each sample stands for `weight` of it.
CREATE TABLE event (
    id        INTEGER PRIMARY KEY,
    run_id    INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name      TEXT    NOT NULL,
    is_clock  INTEGER NOT NULL CHECK (is_clock IN (0, 1)), -- weights are nanoseconds of CPU time
    varying   INTEGER NOT NULL CHECK (varying IN (0, 1)),  -- percentages use weights
    period    INTEGER                                      -- NULL when it varies
) STRICT;

CREATE TABLE process (
    id        INTEGER PRIMARY KEY,
    run_id    INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    parent_id INTEGER REFERENCES process DEFERRABLE INITIALLY DEFERRED,
    pid       INTEGER NOT NULL,
    start_ns  INTEGER NOT NULL,
    end_ns    INTEGER,                   -- NULL: alive at the end of the run
    name      TEXT,
    command   TEXT                       -- as a shell would read it; NULL: gone before it was read
) STRICT;

CREATE TABLE thread (
    id             INTEGER PRIMARY KEY,
    process_id     INTEGER NOT NULL REFERENCES process DEFERRABLE INITIALLY DEFERRED,
    tid            INTEGER NOT NULL,
    start_ns       INTEGER NOT NULL,
    end_ns         INTEGER,
    name           TEXT,
    cpu_time_ns    INTEGER NOT NULL,     -- as the kernel told at the thread's exit
    samples        INTEGER NOT NULL,     -- delivered while recording
    cpu_time_known INTEGER NOT NULL CHECK (cpu_time_known IN (0, 1))
) STRICT;
CREATE INDEX thread_process ON thread (process_id);

-- An image: a file with code, the kernel, or code made at run time.
CREATE TABLE module (
    id              INTEGER PRIMARY KEY,
    key             INTEGER,             -- NULL until symbolized
    path            TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    build_id        TEXT    CHECK (build_id NOT GLOB '*[^0-9a-f]*'),
    kind            TEXT    NOT NULL CHECK (kind IN ('none', 'app', 'system', 'kernel', 'jit')),
    main_executable INTEGER NOT NULL CHECK (main_executable IN (0, 1)),
    process_id      INTEGER REFERENCES process DEFERRABLE INITIALLY DEFERRED,
    problem         TEXT                 -- why its file could not be read
) STRICT;

-- Where a module sat in a process, and from when to when.
CREATE TABLE mapping (
    id          INTEGER PRIMARY KEY,
    process_id  INTEGER REFERENCES process DEFERRABLE INITIALLY DEFERRED, -- NULL: the kernel
    module_id   INTEGER NOT NULL REFERENCES module DEFERRABLE INITIALLY DEFERRED,
    start       INTEGER NOT NULL,
    "end"       INTEGER NOT NULL,        -- exclusive
    file_offset INTEGER NOT NULL,        -- of `start`
    start_ns    INTEGER NOT NULL,
    end_ns      INTEGER                  -- NULL: still there at the end of the run
) STRICT;
CREATE INDEX mapping_process ON mapping (process_id);
CREATE INDEX mapping_module ON mapping (module_id, process_id);

CREATE TABLE function (
    id           INTEGER PRIMARY KEY,
    module_id    INTEGER NOT NULL REFERENCES module DEFERRABLE INITIALLY DEFERRED,
    key          INTEGER NOT NULL,
    name         TEXT    NOT NULL,       -- demangled
    linkage_name TEXT,
    start        INTEGER NOT NULL,       -- address as the ELF file numbers it; 0 for inlined ones
    size         INTEGER NOT NULL,
    file         TEXT,
    line         INTEGER,
    named        INTEGER NOT NULL CHECK (named IN (0, 1)),   -- by a symbol or debug information
    startup      INTEGER NOT NULL CHECK (startup IN (0, 1))  -- only starts the program
) STRICT;
CREATE INDEX function_name ON function (name);
CREATE INDEX function_module ON function (module_id);

-- An address in a module. Where functions are inlined at the address, the row at inline_depth 0 is
-- the innermost of them and inline_parent_id leads outwards, to the physical function.
CREATE TABLE frame (
    id               INTEGER PRIMARY KEY,
    module_id        INTEGER NOT NULL REFERENCES module DEFERRABLE INITIALLY DEFERRED,
    key              INTEGER NOT NULL,
    file_offset      INTEGER NOT NULL,
    function_id      INTEGER REFERENCES function DEFERRABLE INITIALLY DEFERRED,
    file             TEXT,
    line             INTEGER,
    inline_depth     INTEGER NOT NULL,
    inline_parent_id INTEGER REFERENCES frame DEFERRABLE INITIALLY DEFERRED,
    CHECK (inline_parent_id <> id)
) STRICT;
CREATE INDEX frame_function ON frame (function_id);
CREATE INDEX frame_module ON frame (module_id);
CREATE INDEX frame_inline_parent ON frame (inline_parent_id) WHERE inline_parent_id IS NOT NULL;

-- A node of the calling-context tree of addresses; callers are parents and have smaller ids.
CREATE TABLE stack_node (
    id        INTEGER PRIMARY KEY,
    parent_id INTEGER REFERENCES stack_node DEFERRABLE INITIALLY DEFERRED,
    frame_id  INTEGER NOT NULL REFERENCES frame DEFERRABLE INITIALLY DEFERRED,
    depth     INTEGER NOT NULL CHECK (depth > 0),
    key       INTEGER,                   -- NULL until symbolized
    found_by  TEXT    NOT NULL
              CHECK (found_by = 'cfi' OR found_by = 'kernel' OR
                     found_by IN ('plt', 'signal', 'fp', 'scan', 'inline', 'leaf')),
    guessed   INTEGER NOT NULL CHECK (guessed >= 0), -- how many frames were found by scanning,
    named     INTEGER NOT NULL CHECK (named >= 0),   -- and have a name, from this one outwards
    path_id   INTEGER REFERENCES call_path DEFERRABLE INITIALLY DEFERRED,
    CHECK (parent_id < id)
) STRICT;
CREATE INDEX stack_node_parent ON stack_node (parent_id);
CREATE INDEX stack_node_frame ON stack_node (frame_id);
CREATE INDEX stack_node_path ON stack_node (path_id);

CREATE TABLE sample (
    id         INTEGER PRIMARY KEY,
    run_id     INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    event_id   INTEGER NOT NULL REFERENCES event DEFERRABLE INITIALLY DEFERRED,
    thread_id  INTEGER NOT NULL REFERENCES thread DEFERRABLE INITIALLY DEFERRED,
    node_id    INTEGER NOT NULL REFERENCES stack_node DEFERRABLE INITIALLY DEFERRED,
    time_ns    INTEGER NOT NULL,
    weight     INTEGER NOT NULL CHECK (weight >= 0),
    count      INTEGER NOT NULL CHECK (count >= 0), -- samples this row stands for
    cpu        INTEGER NOT NULL,         -- -1 unknown
    end_reason TEXT    NOT NULL
               CHECK (end_reason = 'root' OR end_reason IN ('truncated', 'no-cfi', 'bad-memory',
                                                            'depth-limit', 'pending', 'no-stack')),
    stitched   INTEGER NOT NULL CHECK (stitched IN (0, 1)),
    user_stack INTEGER NOT NULL CHECK (user_stack IN (0, 1))
) STRICT;
CREATE INDEX sample_time ON sample (run_id, time_ns);

-- A node of the calling-context tree of functions.
CREATE TABLE call_path (
    id          INTEGER PRIMARY KEY,
    parent_id   INTEGER REFERENCES call_path DEFERRABLE INITIALLY DEFERRED,
    function_id INTEGER NOT NULL REFERENCES function DEFERRABLE INITIALLY DEFERRED,
    depth       INTEGER NOT NULL CHECK (depth > 0),
    CHECK (parent_id < id)
) STRICT;
CREATE INDEX call_path_parent ON call_path (parent_id);
CREATE INDEX call_path_function ON call_path (function_id);

-- Costs. Exclusive: the samples that end here. Inclusive: the samples that pass through, each once.
CREATE TABLE path_cost (
    run_id            INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    event_id          INTEGER NOT NULL REFERENCES event DEFERRABLE INITIALLY DEFERRED,
    path_id           INTEGER NOT NULL REFERENCES call_path DEFERRABLE INITIALLY DEFERRED,
    exclusive_samples INTEGER NOT NULL CHECK (exclusive_samples BETWEEN 0 AND inclusive_samples),
    exclusive_weight  INTEGER NOT NULL CHECK (exclusive_weight BETWEEN 0 AND inclusive_weight),
    inclusive_samples INTEGER NOT NULL,
    inclusive_weight  INTEGER NOT NULL,
    PRIMARY KEY (run_id, event_id, path_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE function_cost (
    run_id            INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    event_id          INTEGER NOT NULL REFERENCES event DEFERRABLE INITIALLY DEFERRED,
    function_id       INTEGER NOT NULL REFERENCES function DEFERRABLE INITIALLY DEFERRED,
    exclusive_samples INTEGER NOT NULL CHECK (exclusive_samples BETWEEN 0 AND inclusive_samples),
    exclusive_weight  INTEGER NOT NULL CHECK (exclusive_weight BETWEEN 0 AND inclusive_weight),
    inclusive_samples INTEGER NOT NULL,
    inclusive_weight  INTEGER NOT NULL,
    PRIMARY KEY (run_id, event_id, function_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE module_cost (
    run_id            INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    event_id          INTEGER NOT NULL REFERENCES event DEFERRABLE INITIALLY DEFERRED,
    module_id         INTEGER NOT NULL REFERENCES module DEFERRABLE INITIALLY DEFERRED,
    exclusive_samples INTEGER NOT NULL CHECK (exclusive_samples BETWEEN 0 AND inclusive_samples),
    exclusive_weight  INTEGER NOT NULL CHECK (exclusive_weight BETWEEN 0 AND inclusive_weight),
    inclusive_samples INTEGER NOT NULL,
    inclusive_weight  INTEGER NOT NULL,
    PRIMARY KEY (run_id, event_id, module_id)
) STRICT, WITHOUT ROWID;

-- Samples that hold a call from one function to another, each once.
CREATE TABLE edge_cost (
    run_id             INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    event_id           INTEGER NOT NULL REFERENCES event DEFERRABLE INITIALLY DEFERRED,
    caller_function_id INTEGER NOT NULL REFERENCES function DEFERRABLE INITIALLY DEFERRED,
    callee_function_id INTEGER NOT NULL REFERENCES function DEFERRABLE INITIALLY DEFERRED,
    samples            INTEGER NOT NULL CHECK (samples >= 0),
    weight             INTEGER NOT NULL CHECK (weight >= 0),
    PRIMARY KEY (run_id, event_id, caller_function_id, callee_function_id)
) STRICT, WITHOUT ROWID;

-- One second of a run: where every expected sample went.
CREATE TABLE ledger (
    run_id          INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    event_id        INTEGER NOT NULL REFERENCES event DEFERRABLE INITIALLY DEFERRED,
    second          INTEGER NOT NULL,
    expected_cpu_ns INTEGER NOT NULL,    -- CPU time the target used; the rest counts samples
    delivered       INTEGER NOT NULL,
    lost            INTEGER NOT NULL,
    throttled       INTEGER NOT NULL,
    excluded        INTEGER NOT NULL,
    timer_overrun   INTEGER NOT NULL,
    unexplained     INTEGER NOT NULL,    -- expected minus all of the above; may be negative
    PRIMARY KEY (run_id, event_id, second)
) STRICT, WITHOUT ROWID;

-- What the parts of sprof counted: 'unwind.cache_hits', …
CREATE TABLE counter (
    run_id INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name   TEXT    NOT NULL,
    value  INTEGER NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

-- Samples kept for replay (record --keep-failed).
CREATE TABLE failed_sample (
    id         INTEGER PRIMARY KEY,
    run_id     INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    thread_id  INTEGER NOT NULL REFERENCES thread DEFERRABLE INITIALLY DEFERRED,
    time_ns    INTEGER NOT NULL,
    end_reason TEXT    NOT NULL
               CHECK (end_reason IN ('root', 'truncated', 'no-cfi', 'bad-memory', 'depth-limit',
                                     'pending', 'no-stack')),
    registers  BLOB    NOT NULL,         -- 17 × 8 bytes, by DWARF number
    stack      BLOB    NOT NULL
) STRICT;
