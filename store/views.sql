-- The stable interface for users' own SQL: columns may be added, none goes or changes its meaning.
-- Described in docs/schema.md.

-- The state of threads follows from the event: off-cpu:KIND are waits, but for off-cpu:ready.
CREATE VIEW v_event AS
SELECT run_id, name AS event, is_clock, (SELECT word FROM word WHERE list = 'unit' AND number = unit) AS unit,
       CASE WHEN name = 'off-cpu:ready' THEN 'ready' WHEN name GLOB 'off-cpu:*' THEN 'waiting' WHEN name = 'idle' THEN 'idle'
            WHEN unit = 0 AND name NOT IN ('wall-clock', 'wakeup') THEN 'running' ELSE 'unknown' END AS state,
       CASE WHEN name GLOB 'off-cpu:*' THEN substr(name, 9) WHEN name = 'idle' THEN 'idle'
            WHEN unit = 0 AND name NOT IN ('wall-clock', 'wakeup') THEN 'running' ELSE 'unknown' END AS wait,
       varying, period, id AS event_id
FROM event;

CREATE VIEW v_function AS
SELECT c.run_id, e.name AS event, f.name AS function, m.name AS module,
       (SELECT word FROM word WHERE list = 'kind' AND number = m.kind) AS kind,
       c.exclusive_samples, c.inclusive_samples, c.exclusive_weight, c.inclusive_weight,
       coalesce(f.linkage_name, f.name) AS linkage_name, f.file, f.line, f.named, f.id AS function_id,
       (SELECT state FROM v_event v WHERE v.event_id = e.id) AS state,
       (SELECT wait FROM v_event v WHERE v.event_id = e.id) AS wait
FROM function_cost c
JOIN event e ON e.id = c.event_id
JOIN function f ON f.id = c.function_id
JOIN module m ON m.id = f.module_id;

CREATE VIEW v_module AS
SELECT c.run_id, e.name AS event, m.name AS module, m.build_id,
       (SELECT word FROM word WHERE list = 'kind' AND number = m.kind) AS kind,
       c.exclusive_samples, c.inclusive_samples, c.exclusive_weight, c.inclusive_weight,
       m.path, m.problem, m.id AS module_id,
       (SELECT state FROM v_event v WHERE v.event_id = e.id) AS state,
       (SELECT wait FROM v_event v WHERE v.event_id = e.id) AS wait
FROM module_cost c
JOIN event e ON e.id = c.event_id
JOIN module m ON m.id = c.module_id;

-- `path` names the functions from the root. It stops growing after 512 functions, where a final "…"
-- says so: a recursion 10 000 deep would take a gigabyte otherwise.
CREATE VIEW v_path AS
WITH RECURSIVE named (id, path) AS (
    SELECT p.id, f.name
    FROM call_path p JOIN function f ON f.id = p.function_id
    WHERE p.parent_id IS NULL
    UNION ALL
    SELECT p.id, CASE WHEN p.depth <= 512 THEN named.path || ';' || f.name
                      WHEN p.depth = 513 THEN named.path || ';…'
                      ELSE named.path END
    FROM named
    JOIN call_path p ON p.parent_id = named.id
    JOIN function f ON f.id = p.function_id
)
SELECT id AS path_id, path FROM named;

CREATE VIEW v_call_tree AS
SELECT c.run_id, e.name AS event, c.path_id, p.parent_id, p.depth, f.name AS function,
       m.name AS module, named.path,
       c.exclusive_samples, c.inclusive_samples, c.exclusive_weight, c.inclusive_weight,
       (SELECT word FROM word WHERE list = 'kind' AND number = m.kind) AS kind,
       (SELECT state FROM v_event v WHERE v.event_id = e.id) AS state,
       (SELECT wait FROM v_event v WHERE v.event_id = e.id) AS wait
FROM v_path named
CROSS JOIN call_path p ON p.id = named.path_id
CROSS JOIN function f ON f.id = p.function_id
CROSS JOIN module m ON m.id = f.module_id
CROSS JOIN event e
CROSS JOIN path_cost c ON c.run_id = e.run_id AND c.event_id = e.id AND c.path_id = p.id;

CREATE VIEW v_edge AS
SELECT c.run_id, e.name AS event,
       caller.name AS caller, caller_module.name AS caller_module,
       callee.name AS callee, callee_module.name AS callee_module,
       c.samples, c.weight,
       (SELECT state FROM v_event v WHERE v.event_id = e.id) AS state,
       (SELECT wait FROM v_event v WHERE v.event_id = e.id) AS wait
FROM edge_cost c
JOIN event e ON e.id = c.event_id
JOIN function caller ON caller.id = c.caller_function_id
JOIN module caller_module ON caller_module.id = caller.module_id
JOIN function callee ON callee.id = c.callee_function_id
JOIN module callee_module ON callee_module.id = callee.module_id;

-- A line that occurs on a stack more than once, by recursion or inlining, counts once.
CREATE VIEW v_line AS
SELECT c.run_id, e.name AS event, l.file, l.line, f.name AS function, m.name AS module,
       c.exclusive_samples, c.inclusive_samples, c.exclusive_weight, c.inclusive_weight,
       (SELECT state FROM v_event v WHERE v.event_id = e.id) AS state,
       (SELECT wait FROM v_event v WHERE v.event_id = e.id) AS wait
FROM line_cost c
JOIN event e ON e.id = c.event_id
JOIN frame l ON l.id = c.frame_id
LEFT JOIN function f ON f.id = l.function_id
LEFT JOIN module m ON m.id = f.module_id;

-- Threads that were never sampled are there too, with 0 samples. The samples of runs that are not
-- complete are added up here.
CREATE VIEW v_thread AS
WITH
unfinished (id) AS MATERIALIZED (SELECT id FROM run WHERE id NOT IN (SELECT run_id FROM sample_summary)),
spent (event_id, thread_id, samples, weight) AS MATERIALIZED (
    SELECT event_id, thread_id, samples, weight FROM thread_cost
    UNION ALL
    SELECT s.event_id, s.thread_id, sum(s.count), sum(s.weight)
    FROM (SELECT 1 FROM unfinished LIMIT 1) CROSS JOIN sample s
    WHERE s.run_id IN (SELECT id FROM unfinished)
    GROUP BY s.event_id, s.thread_id
)
SELECT p.run_id, e.name AS event, p.pid, t.tid, p.name AS process, t.name AS thread,
       coalesce(s.samples, 0) AS samples, coalesce(s.weight, 0) AS weight,
       CASE WHEN t.cpu_time_known THEN t.cpu_time_ns END AS cpu_time_ns,
       t.start_ns, t.end_ns,
       (SELECT state FROM v_event v WHERE v.event_id = e.id) AS state,
       (SELECT wait FROM v_event v WHERE v.event_id = e.id) AS wait,
       nullif(o.uid, 4294967295) AS uid, o.user, o.cgroup, o.container
FROM thread t
JOIN process p ON p.id = t.process_id
JOIN event e ON e.run_id = p.run_id
LEFT JOIN process_origin o ON o.process_id = p.id
LEFT JOIN spent s ON s.event_id = e.id AND s.thread_id = t.id;

-- `address` is where the leaf frame was in the process at that time; where no mapping is known, its
-- offset in the module. `path` and its limit are those of v_path.
CREATE VIEW v_sample AS
SELECT s.run_id, e.name AS event, s.time_ns, p.pid, t.tid, s.cpu, s.weight,
       coalesce((SELECT a.start + (f.file_offset - a.file_offset)
                 FROM mapping a
                 WHERE a.module_id = f.module_id
                   AND (a.process_id = p.id OR a.process_id IS NULL)
                   AND f.file_offset >= a.file_offset
                   AND f.file_offset - a.file_offset < a."end" - a.start
                   AND s.time_ns >= a.start_ns
                   AND (a.end_ns IS NULL OR s.time_ns < a.end_ns)
                 ORDER BY a.start_ns DESC LIMIT 1),
                f.file_offset) AS address,
       (SELECT word FROM word WHERE list = 'end_reason' AND number = s.end_reason) AS end_reason,
       s.stitched, n.depth, leaf.name AS leaf, named.path,
       s.count, p.name AS process, t.name AS thread, m.name AS module, s.id AS sample_id,
       (SELECT state FROM v_event v WHERE v.event_id = e.id) AS state,
       (SELECT wait FROM v_event v WHERE v.event_id = e.id) AS wait
FROM sample s
CROSS JOIN event e ON e.id = s.event_id
CROSS JOIN thread t ON t.id = s.thread_id
CROSS JOIN process p ON p.id = t.process_id
CROSS JOIN stack_node n ON n.id = s.node_id
CROSS JOIN frame f ON f.id = n.frame_id
CROSS JOIN module m ON m.id = f.module_id
LEFT JOIN function leaf ON leaf.id = f.function_id
LEFT JOIN node_path q ON q.node_id = s.node_id
LEFT JOIN v_path named ON named.path_id = q.path_id;

-- How far the numbers of a run can be trusted. Frames are physical ones, counted once per sample
-- that holds them. The samples of runs that are not complete are added up here; 0 is `root`.
CREATE VIEW v_quality AS
WITH
unfinished (id) AS MATERIALIZED (SELECT id FROM run WHERE id NOT IN (SELECT run_id FROM sample_summary)),
spent (run_id, node_id, samples, user_stacks, whole_stacks, stitched) AS MATERIALIZED (
    SELECT s.run_id, s.node_id, sum(s.count), sum(s.count * s.user_stack),
           sum(s.count * (s.user_stack AND s.end_reason = 0)), sum(s.count * s.stitched)
    FROM (SELECT 1 FROM unfinished LIMIT 1) CROSS JOIN sample s
    WHERE s.run_id IN (SELECT id FROM unfinished)
    GROUP BY s.run_id, s.node_id
),
total (run_id, samples, user_stacks, whole_stacks, stitched, guessed_frames, frames,
       named_frames) AS MATERIALIZED (
    SELECT run_id, samples, user_stacks, whole_stacks, stitched, guessed_frames, frames, named_frames
    FROM sample_summary
    UNION ALL
    SELECT s.run_id, sum(s.samples), sum(s.user_stacks),
           sum(s.whole_stacks * (n.guessed = 0)), sum(s.stitched),
           sum(s.samples * n.guessed), sum(s.samples * n.depth), 0
    FROM spent s
    CROSS JOIN stack_node n ON n.id = s.node_id
    GROUP BY s.run_id
)
SELECT r.id AS run_id, coalesce(t.samples, 0) AS samples,
       (SELECT coalesce(sum(l.lost), 0) FROM ledger l WHERE l.run_id = r.id) AS lost,
       CASE WHEN m.word <> 'pc' OR r.frame IS NOT NULL THEN coalesce(t.user_stacks, 0) END
           AS user_stacks,
       CASE WHEN m.word <> 'pc' OR r.frame IS NOT NULL THEN coalesce(t.whole_stacks, 0) END
           AS whole_stacks,
       coalesce(t.stitched, 0) AS stitched,
       coalesce(t.guessed_frames, 0) AS guessed_frames,
       coalesce(t.frames, 0) AS frames,
       coalesce(t.named_frames, 0) AS named_frames,
       CAST(r.frequency_hz AS REAL) AS requested_hz,
       CASE WHEN r.target_cpu_ns > 0 THEN t.samples * 1e9 / r.target_cpu_ns END AS reached_hz,
       r.own_cpu_ns, r.target_cpu_ns
FROM run r
JOIN word m ON m.list = 'mode' AND m.number = r.mode
LEFT JOIN total t ON t.run_id = r.id;

-- The rows of `run` and `phase` with their words.
CREATE VIEW v_run AS
SELECT id AS run_id, (SELECT word FROM word WHERE list = 'state' AND number = state) AS state,
       sprof_version, host, kernel, architecture, cpus, command, targets, working_directory,
       (SELECT word FROM word WHERE list = 'mode' AND number = mode) AS mode,
       (SELECT word FROM word WHERE list = 'frame' AND number = frame) AS frame,
       (SELECT word FROM word WHERE list = 'app_interior' AND number = app_interior) AS app_interior,
       module_rules, source, kernel_excluded, frequency_hz, stack_bytes, start_realtime_ns,
       duration_ns, own_cpu_ns, target_cpu_ns, wait_status, no_call_states
FROM run;

CREATE VIEW v_phase AS
SELECT run_id, id AS phase_id, start_ns, end_ns,
       (SELECT word FROM word WHERE list = 'mode' AND number = mode) AS mode,
       (SELECT word FROM word WHERE list = 'frame' AND number = frame) AS frame,
       (SELECT word FROM word WHERE list = 'app_interior' AND number = app_interior) AS app_interior,
       frequency_hz, stack_bytes, paused, mark
FROM phase;

-- CROSS JOIN keeps SQLite from beginning with functions, of which most may have no call.
-- Calls that were traced, by function, over all threads. Times NULL: only calls were counted. self_percent is
-- of the self time of all probed functions, total_percent of the wall time of the threads that called one while
-- calls were measured: of each from when it was seen first to its end, without pauses, and no less than the self
-- and outside time of the functions in it, as a call that is in flight when a pause begins is measured to its end.
CREATE VIEW v_call_stats AS
WITH seen AS MATERIALIZED (
    SELECT c.run_id, c.thread_id, coalesce(t.start_ns, 0) AS start_ns,
           coalesce(t.end_ns, 9223372036854775807) AS end_ns,
           c.self_ns + coalesce((SELECT sum(o.outside_ns) FROM call_outside o
                                 WHERE o.run_id = c.run_id AND o.thread_id = c.thread_id), 0) AS self_ns
    FROM (SELECT run_id, thread_id, coalesce(sum(self_ns) FILTER (WHERE timed AND uncertain = 0), 0) AS self_ns
          FROM call_cost GROUP BY run_id, thread_id) c
    JOIN thread t ON t.id = c.thread_id),
-- A run that was cleared begins with its first phase.
measured AS MATERIALIZED (
    SELECT p.run_id, p.start_ns, max(p.start_ns, min(coalesce(p.end_ns, r.end_ns), r.end_ns)) AS end_ns
    FROM phase p
    JOIN (SELECT run_id, min(start_ns) + duration_ns AS end_ns FROM phase JOIN run r ON r.id = run_id GROUP BY r.id) r
        ON r.run_id = p.run_id
    WHERE NOT p.paused),
-- Measured up to a moment is the moment times the sum of all steps before it, plus that of all ns.
wall AS MATERIALIZED (
    SELECT run_id, sum(max(ns, self_ns)) AS ns
    FROM (SELECT run_id, thread_id, sum(side * measured_ns) AS ns, max(self_ns) AS self_ns
          FROM (SELECT run_id, thread_id, side, self_ns,
                       time_ns * sum(step) OVER before + sum(ns) OVER before AS measured_ns
                FROM (SELECT run_id, NULL AS thread_id, start_ns AS time_ns, 0 AS side, 1 AS step, -start_ns AS ns,
                             0 AS self_ns FROM measured
                      UNION ALL SELECT run_id, NULL, end_ns, 0, -1, end_ns, 0 FROM measured
                      UNION ALL SELECT run_id, thread_id, start_ns, -1, 0, 0, self_ns FROM seen
                      UNION ALL SELECT run_id, thread_id, end_ns, 1, 0, 0, self_ns FROM seen)
                WINDOW before AS (PARTITION BY run_id ORDER BY time_ns))
          WHERE thread_id IS NOT NULL
          GROUP BY run_id, thread_id)
    GROUP BY run_id),
placed AS MATERIALIZED (
    SELECT b.run_id, p.function_id, min(b.mechanism) AS mechanism, min(b.address) AS address
    FROM probe b
    JOIN node_path n ON n.node_id = b.node_id
    JOIN call_path p ON p.id = n.path_id
    GROUP BY b.run_id, p.function_id),
cost AS (
    SELECT *, calls - counted - in_flight AS ended
    FROM call_cost),
untimed AS MATERIALIZED (
    SELECT u.run_id, p.function_id, sum(u.calls) AS calls
    FROM call_untimed u
    JOIN node_path n ON n.node_id = u.node_id
    JOIN call_path p ON p.id = n.path_id
    GROUP BY u.run_id, p.function_id),
cut AS MATERIALIZED (
    SELECT x.run_id, p.function_id, sum(x.calls) AS calls
    FROM call_tail_cut x
    JOIN node_path n ON n.node_id = x.node_id
    JOIN call_path p ON p.id = n.path_id
    GROUP BY x.run_id, p.function_id),
outside AS MATERIALIZED (
    SELECT o.run_id, p.function_id, sum(o.outside_ns) AS ns
    FROM call_outside o
    JOIN node_path n ON n.node_id = o.node_id
    JOIN call_path p ON p.id = n.path_id
    GROUP BY o.run_id, p.function_id),
stack AS MATERIALIZED (
    SELECT s.run_id, p.function_id, max(s.stack_bytes) AS bytes
    FROM call_stack s
    JOIN node_path n ON n.node_id = s.node_id
    JOIN call_path p ON p.id = n.path_id
    GROUP BY s.run_id, p.function_id),
heap AS MATERIALIZED (
    SELECT h.run_id, p.function_id, sum(h.blocks) AS blocks, sum(h.self_bytes) AS self_bytes,
           sum(h.total_bytes) AS total_bytes
    FROM call_heap h
    JOIN node_path n ON n.node_id = h.node_id
    JOIN call_path p ON p.id = n.path_id
    GROUP BY h.run_id, p.function_id)
SELECT c.run_id, f.name AS function, m.name AS module,
       (SELECT word FROM word WHERE list = 'kind' AND number = m.kind) AS kind,
       sum(c.calls) AS calls,
       CASE WHEN max(c.timed) THEN sum(c.total_ns) END AS total_ns,
       CASE WHEN max(c.timed) THEN sum(c.self_ns) END AS self_ns,
       CASE WHEN sum(c.outermost) > 0 AND max(c.timed)
            THEN sum(c.total_ns) / sum(c.outermost) END AS average_ns,
       CASE WHEN sum(c.ended) > 0 AND max(c.timed)
            THEN sum(c.self_ns) / sum(c.ended) END AS self_average_ns,
       min(c.min_ns) AS min_ns, max(c.max_ns) AS max_ns, l.p50_ns, l.p90_ns, l.p99_ns, l.p999_ns,
       sum(c.in_flight) AS in_flight, sum(c.abnormal) AS abnormal, sum(c.tails) AS tails,
       sum(c.recursive) AS recursive, sum(c.child_calls) AS child_calls,
       sum(c.uncertain) AS uncertain, max(c.timed) AS timed, sum(c.counted) AS counted,
       CASE WHEN max(c.timed) THEN sum(c.raw_total_ns) END AS raw_total_ns,
       CASE WHEN max(c.timed) THEN sum(c.raw_self_ns) END AS raw_self_ns, f.start AS address,
       coalesce(f.linkage_name, f.name) AS linkage_name, f.id AS function_id,
       CASE WHEN max(c.timed)
            THEN 100.0 * sum(c.self_ns) / nullif(sum(sum(c.self_ns)) OVER (PARTITION BY c.run_id), 0)
       END AS self_percent,
       CASE WHEN max(c.timed) THEN 100.0 * sum(c.total_ns) / nullif(w.ns, 0) END AS total_percent,
       coalesce(u.calls, 0) AS untimed_calls, coalesce(x.calls, 0) AS tail_cuts,
       (SELECT word FROM word WHERE list = 'mechanism' AND number = b.mechanism) AS mechanism,
       b.address AS probe_address, w.ns AS wall_ns,
       CASE WHEN max(c.timed) THEN coalesce(o.ns, 0) END AS outside_ns, s.bytes AS stack_bytes,
       h.blocks AS allocations, h.self_bytes AS heap_self_bytes, h.total_bytes AS heap_total_bytes
FROM cost c
CROSS JOIN node_path n ON n.node_id = c.node_id
CROSS JOIN call_path p ON p.id = n.path_id
CROSS JOIN function f ON f.id = p.function_id
CROSS JOIN module m ON m.id = f.module_id
LEFT JOIN call_latency l ON l.run_id = c.run_id AND l.event_id = c.event_id AND l.function_id = f.id
LEFT JOIN wall w ON w.run_id = c.run_id
LEFT JOIN placed b ON b.run_id = c.run_id AND b.function_id = f.id
LEFT JOIN untimed u ON u.run_id = c.run_id AND u.function_id = f.id
LEFT JOIN cut x ON x.run_id = c.run_id AND x.function_id = f.id
LEFT JOIN outside o ON o.run_id = c.run_id AND o.function_id = f.id
LEFT JOIN stack s ON s.run_id = c.run_id AND s.function_id = f.id
LEFT JOIN heap h ON h.run_id = c.run_id AND h.function_id = f.id
GROUP BY c.run_id, f.id;

-- Functions outside of the traced modules that probed functions called, and what they took.
CREATE VIEW v_outside AS
SELECT c.run_id, f.name AS function, m.name AS module, sum(c.calls) AS calls,
       sum(c.self_ns) AS self_ns, sum(c.total_ns) AS total_ns,
       sum(c.self_ns) / nullif(sum(c.calls), 0) AS self_average_ns, max(c.max_ns) AS max_ns,
       f.start AS address, coalesce(f.linkage_name, f.name) AS linkage_name, f.id AS function_id
FROM outside_cost c
CROSS JOIN node_path n ON n.node_id = c.node_id
CROSS JOIN call_path p ON p.id = n.path_id
CROSS JOIN function f ON f.id = p.function_id
CROSS JOIN module m ON m.id = f.module_id
GROUP BY c.run_id, f.id;

-- The same by process. One that has executed another program is two.
CREATE VIEW v_process_call AS
SELECT c.run_id, r.pid, r.name AS process, f.name AS function, m.name AS module,
       sum(c.calls) AS calls, CASE WHEN max(c.timed) THEN sum(c.total_ns) END AS total_ns,
       CASE WHEN max(c.timed) THEN sum(c.self_ns) END AS self_ns, min(c.min_ns) AS min_ns,
       max(c.max_ns) AS max_ns, sum(c.in_flight) AS in_flight, r.id AS process_id,
       f.id AS function_id
FROM call_cost c
CROSS JOIN thread t ON t.id = c.thread_id
CROSS JOIN process r ON r.id = t.process_id
CROSS JOIN node_path n ON n.node_id = c.node_id
CROSS JOIN call_path p ON p.id = n.path_id
CROSS JOIN function f ON f.id = p.function_id
CROSS JOIN module m ON m.id = f.module_id
GROUP BY c.run_id, r.id, f.id;

-- Functions that a trace looked for, of each run that did: which were called, and when first.
CREATE VIEW v_coverage AS
SELECT c.run_id, f.name AS function, m.name AS module,
       (SELECT word FROM word WHERE list = 'kind' AND number = m.kind) AS kind,
       c.first_ns IS NOT NULL AS executed, c.first_ns, t.tid, t.name AS thread, f.file, f.line,
       f.start AS address, coalesce(f.linkage_name, f.name) AS linkage_name, m.path AS module_path,
       f.id AS function_id
FROM coverage c
JOIN function f ON f.id = c.function_id
JOIN module m ON m.id = f.module_id
LEFT JOIN thread t ON t.id = c.thread_id;

-- What became of probes: from then on it is so. Without a function it is of all.
CREATE VIEW v_probe_event AS
SELECT e.run_id, e.time_ns, f.name AS function, m.name AS module,
       (SELECT word FROM word WHERE list = 'probe_event' AND number = e.what) AS what,
       (SELECT word FROM word WHERE list = 'cause' AND number = e.cause) AS cause, e.share,
       e.in_flight, f.id AS function_id
FROM probe_event e
LEFT JOIN node_path n ON n.node_id = e.node_id
LEFT JOIN call_path p ON p.id = n.path_id
LEFT JOIN function f ON f.id = p.function_id
LEFT JOIN module m ON m.id = f.module_id;

-- Functions with a probe, called or not. `state`: what became of the probe last. inline_wanted: one that is
-- called often, by functions of its own file, and is so small that its probe takes longer than it does.
CREATE VIEW v_probe AS
WITH costs AS MATERIALIZED (
    SELECT p.function_id, c.run_id, sum(c.calls) AS calls, max(c.timed) AS timed, sum(c.self_ns) AS self_ns,
           sum(c.raw_self_ns) AS raw_self_ns, sum(c.child_calls + c.recursive + c.tails + c.counted) AS others
    FROM call_cost c
    JOIN node_path n ON n.node_id = c.node_id
    JOIN call_path p ON p.id = n.path_id
    GROUP BY c.run_id, p.function_id),
all_calls AS MATERIALIZED (SELECT run_id, sum(calls) AS calls FROM call_cost GROUP BY run_id),
-- A bare column comes from the row of the maximum.
newest AS MATERIALIZED (
    SELECT run_id, node_id, what, max(number) FROM probe_event WHERE node_id IS NOT NULL GROUP BY run_id, node_id)
SELECT b.run_id, f.name AS function, m.name AS module,
       (SELECT word FROM word WHERE list = 'mechanism' AND number = b.mechanism) AS mechanism,
       (SELECT word FROM word WHERE list = 'probe_event' AND number = e.what) AS state,
       b.address AS probe_address, b.callers, coalesce(c.calls, 0) AS calls,
       coalesce(c.calls, 0) = 0 AND NOT EXISTS (
           SELECT 1 FROM coverage v WHERE v.run_id = b.run_id AND v.function_id = f.id AND v.first_ns IS NOT NULL)
           AS uncalled,
       coalesce(c.timed AND c.calls >= 1000 AND c.others = 0 AND c.calls >= t.calls / 100 AND b.callers > 0 AND
                f.size BETWEEN 1 AND 64 AND 2 * c.self_ns <= c.raw_self_ns, 0) AS inline_wanted,
       f.size, f.start AS address, coalesce(f.linkage_name, f.name) AS linkage_name, f.id AS function_id
FROM probe b
CROSS JOIN node_path n ON n.node_id = b.node_id
CROSS JOIN call_path p ON p.id = n.path_id
CROSS JOIN function f ON f.id = p.function_id
CROSS JOIN module m ON m.id = f.module_id
LEFT JOIN costs c ON c.run_id = b.run_id AND c.function_id = f.id
LEFT JOIN all_calls t ON t.run_id = b.run_id
LEFT JOIN newest e ON e.run_id = b.run_id AND e.node_id = b.node_id
GROUP BY b.run_id, f.id;

-- Which functions were chosen, or left out: by which range, from when to when.
CREATE VIEW v_selection AS
SELECT run_id, number, start_ns, end_ns, text, functions,
       (SELECT word FROM word WHERE list = 'cause' AND number = cause) AS cause
FROM selection;

-- The history of a trace in the order of time: its phases with their options, ranges of functions, and what
-- became of probes, those of one moment together.
CREATE VIEW v_history AS
SELECT run_id, start_ns AS time_ns, 'phase' AS what, NULL AS cause, NULL AS functions,
       coalesce('"' || mark || '", ', '') || iif(paused, 'not timed, ', '') ||
       (SELECT group_concat(iif(value = '', name, name || ' ' || value), ', ')
        FROM (SELECT name, value FROM phase_option o WHERE o.run_id = phase.run_id AND o.phase_id = phase.id
              ORDER BY name <> 'mode', name)) AS detail
FROM phase WHERE EXISTS (SELECT 1 FROM phase_option o WHERE o.run_id = phase.run_id)
UNION ALL
SELECT run_id, start_ns, iif(text GLOB '-*', 'excluded', 'chosen'), cause, functions, text FROM v_selection
UNION ALL
SELECT run_id, end_ns, iif(text GLOB '-*', 'no longer excluded', 'no longer chosen'), 'command', functions, text
FROM v_selection WHERE end_ns IS NOT NULL
UNION ALL
SELECT run_id, time_ns, what, cause, nullif(count(function), 0),
       CASE WHEN count(function) = 0 THEN
           CASE WHEN what = 'timed' THEN 'without percentiles'
                WHEN max(in_flight) > 0 THEN max(in_flight) || iif(max(in_flight) = 1, ' call', ' calls') || ' in flight' END
       ELSE group_concat(function, ', ') FILTER (WHERE place <= 3) || iif(count(function) > 3, ', …', '') END
FROM (SELECT *, row_number() OVER (PARTITION BY run_id, time_ns, what, cause ORDER BY function) AS place
      FROM v_probe_event)
GROUP BY run_id, time_ns, what, cause;

-- Calls that took too long, or too much of the stack.
CREATE VIEW v_warning AS
SELECT w.run_id, w.time_ns, (SELECT word FROM word WHERE list = 'warning' AND number = w.kind) AS kind,
       f.name AS function, m.name AS module, w.value, w.bound, p.pid, t.tid, t.name AS thread,
       f.id AS function_id, w.thread_id
FROM warning w
JOIN thread t ON t.id = w.thread_id
JOIN process p ON p.id = t.process_id
LEFT JOIN node_path n ON n.node_id = w.node_id
LEFT JOIN call_path q ON q.id = n.path_id
LEFT JOIN function f ON f.id = q.function_id
LEFT JOIN module m ON m.id = f.module_id;

-- What ended waits. The samples of both threads, where they are recorded, have these times.
CREATE VIEW v_wake AS
SELECT w.run_id, w.time_ns, p.pid, t.tid, t.name AS thread, w.woken_ns, q.pid AS waker_pid, w.waker_tid,
       u.name AS waker_thread, w.thread_id, w.waker_thread_id
FROM wake w
JOIN thread t ON t.id = w.thread_id
JOIN process p ON p.id = t.process_id
LEFT JOIN thread u ON u.id = w.waker_thread_id
LEFT JOIN process q ON q.id = u.process_id;

-- Calls that were logged one by one, which sprof reads out of blocks. A function whose call is not over has
-- no duration; word1 and so on are what was in the registers of arguments when it began.
CREATE VIEW v_call AS
SELECT c.run_id, c.id AS call_id, c.depth, p.pid, t.tid, t.name AS thread, f.name AS function,
       m.name AS module, c.start_ns, c.duration_ns, c.self_ns,
       (SELECT word FROM word WHERE list = 'exit' AND number = c.exit) AS exit,
       printf('0x%x', c.word1) AS word1, printf('0x%x', c.word2) AS word2,
       printf('0x%x', c.word3) AS word3, printf('0x%x', c.word4) AS word4,
       printf('0x%x', c.word5) AS word5, printf('0x%x', c.word6) AS word6,
       f.id AS function_id, c.thread_id, c.running_ns, c.waiting_ns, c.ready_ns
FROM call c
CROSS JOIN thread t ON t.id = c.thread_id
CROSS JOIN process p ON p.id = t.process_id
CROSS JOIN node_path n ON n.node_id = c.node_id
CROSS JOIN call_path q ON q.id = n.path_id
CROSS JOIN function f ON f.id = q.function_id
CROSS JOIN module m ON m.id = f.module_id;

-- Calls that rules have kept, and their callers.
CREATE VIEW v_kept_call AS
SELECT c.run_id, c.number AS call_id, c.caller AS caller_id, p.pid, t.tid, t.name AS thread,
       f.name AS function, m.name AS module, c.start_ns, c.duration_ns,
       CASE WHEN c.duration_ns THEN c.self_ns END AS self_ns,
       (SELECT word FROM word WHERE list = 'exit' AND number = c.exit) AS exit,
       (SELECT group_concat(r.text, ', ') FROM keep_rule r
        WHERE r.run_id = c.run_id AND (c.rules >> (r.number - 1)) & 1) AS rules,
       c.is_apart, f.id AS function_id, c.thread_id, c.request, c.asked_id, c.running_ns,
       CASE WHEN c.running_ns THEN ifnull(c.waiting_ns, 0) END AS waiting_ns,
       CASE WHEN c.running_ns THEN ifnull(c.ready_ns, 0) END AS ready_ns
FROM kept_call c
CROSS JOIN thread t ON t.id = c.thread_id
CROSS JOIN process p ON p.id = t.process_id
CROSS JOIN node_path n ON n.node_id = c.node_id
CROSS JOIN call_path q ON q.id = n.path_id
CROSS JOIN function f ON f.id = q.function_id
CROSS JOIN module m ON m.id = f.module_id;

-- Requests that the program named: from where the first thread began with it to where it was said to have ended,
-- and how long threads worked for it.
CREATE VIEW v_request AS
SELECT p.run_id, p.request, max(p.label) AS label, min(p.start_ns) AS start_ns,
       max(CASE WHEN p.is_end THEN p.start_ns + p.duration_ns END) - min(p.start_ns) AS duration_ns,
       sum(p.duration_ns) AS busy_ns, count(*) AS parts, count(DISTINCT p.thread_id) AS threads,
       coalesce(max(k.n), 0) AS kept_calls
FROM request_part p
LEFT JOIN (SELECT run_id, request, count(*) AS n FROM kept_call WHERE request IS NOT NULL GROUP BY run_id, request) k
       ON k.run_id = p.run_id AND k.request = p.request
GROUP BY p.run_id, p.request;

-- Arguments and results of kept calls; position 0 is the result.
CREATE VIEW v_call_value AS
SELECT v.run_id, v.call_number AS call_id, k.function, v.position, v.name, v.type, v.value
FROM call_value v
JOIN v_kept_call k ON k.run_id = v.run_id AND k.call_id = v.call_number;

-- Calls that were to be logged and found no room, by function and second.
CREATE VIEW v_not_logged AS
SELECT l.run_id, l.second, f.name AS function, m.name AS module, l.not_logged, f.id AS function_id
FROM probe_ledger l
JOIN node_path n ON n.node_id = l.node_id
JOIN call_path q ON q.id = n.path_id
JOIN function f ON f.id = q.function_id
JOIN module m ON m.id = f.module_id;
