-- From version 1, whose tables are called v1_* by now, to version 2: words become numbers, keys are
-- made anew from what is stored (version 1 hashed otherwise) or become NULL, and each run gets its one
-- phase. Names and costs stay. What version 1 did not derive, the next `sprof symbolize --again` does.

INSERT INTO run
SELECT id, key, (SELECT number FROM word WHERE list = 'state' AND word = state), sprof_version, host,
       kernel, architecture, cpus, command, targets, working_directory,
       (SELECT number FROM word WHERE list = 'mode' AND word = mode),
       (SELECT number FROM word WHERE list = 'frame' AND word = frame),
       (SELECT number FROM word WHERE list = 'app_interior' AND word = app_interior),
       module_rules, source, kernel_excluded, frequency_hz, stack_bytes, stack_bytes_wanted,
       ring_bytes, start_realtime_ns, start_monotonic_ns, duration_ns, own_cpu_ns, target_cpu_ns,
       recorder_pid, recorder_start, boot_id, wait_status, NULL
FROM v1_run;

INSERT INTO phase
SELECT id, id, 0, CASE WHEN state <> 'recording' THEN nullif(duration_ns, 0) END,
       (SELECT number FROM word WHERE list = 'mode' AND word = mode),
       (SELECT number FROM word WHERE list = 'frame' AND word = frame),
       (SELECT number FROM word WHERE list = 'app_interior' AND word = app_interior),
       frequency_hz, stack_bytes, 0, NULL
FROM v1_run;

INSERT INTO event SELECT id, run_id, name, is_clock, varying, period, 0 FROM v1_event;
INSERT INTO process SELECT * FROM v1_process;
INSERT INTO thread SELECT * FROM v1_thread;

INSERT INTO module
SELECT id, key_hex(build_id), path, name, build_id,
       (SELECT number FROM word WHERE list = 'kind' AND word = kind),
       main_executable, process_id, problem
FROM v1_module;

INSERT INTO mapping SELECT * FROM v1_mapping;

INSERT INTO function
SELECT f.id, f.module_id,
       key_pair(key_pair(key_text(m.name), key_text(coalesce(f.linkage_name, f.name))),
                CASE WHEN f.file IS NULL THEN 0 ELSE key_text(f.file) END),
       f.name, f.linkage_name, f.start, f.size, f.file, f.line, f.named, f.startup
FROM v1_function f LEFT JOIN module m ON m.id = f.module_id;

INSERT INTO frame
SELECT f.id, f.module_id,
       CASE WHEN f.inline_depth THEN key_pair(key_pair(m.key, f.file_offset), f.inline_depth)
            ELSE key_pair(m.key, f.file_offset) END,
       f.file_offset, f.function_id, f.file, f.line, f.inline_depth, f.inline_parent_id
FROM v1_frame f LEFT JOIN module m ON m.id = f.module_id;

INSERT INTO stack_node
SELECT id, coalesce(id - parent_id, 0), frame_id,
       (guessed << 36) | (depth << 4) |
       (SELECT number FROM word WHERE list = 'found_by' AND word = found_by)
FROM v1_stack_node;

INSERT INTO node_path
SELECT id, path_id FROM v1_stack_node
WHERE path_id IS NOT NULL AND id IN (SELECT node_id FROM v1_sample);

INSERT INTO sample
SELECT id, run_id, event_id, thread_id, node_id, time_ns, weight,
       iif(count = 1 AND cpu >= 0, cpu << 6 | bits, ~(count << 6 | bits))
FROM (SELECT *, ((SELECT number FROM word WHERE list = 'end_reason' AND word = end_reason) << 2) |
                (stitched << 1) | user_stack AS bits
      FROM v1_sample)
ORDER BY id;

INSERT INTO call_path SELECT * FROM v1_call_path;
INSERT INTO path_cost SELECT * FROM v1_path_cost;
INSERT INTO function_cost SELECT * FROM v1_function_cost;
INSERT INTO module_cost SELECT * FROM v1_module_cost;
INSERT INTO edge_cost SELECT * FROM v1_edge_cost;
INSERT INTO ledger SELECT * FROM v1_ledger;
INSERT INTO counter SELECT * FROM v1_counter;

INSERT INTO failed_sample
SELECT id, run_id, thread_id, time_ns,
       (SELECT number FROM word WHERE list = 'end_reason' AND word = end_reason), registers, stack
FROM v1_failed_sample;

-- What version 1 added up whenever it was asked. Slots and costs by node are left to the samples.
INSERT INTO thread_cost
SELECT s.run_id, s.event_id, s.thread_id, sum(s.count), sum(s.weight)
FROM sample s JOIN run r ON r.id = s.run_id
WHERE r.state = 2 GROUP BY s.run_id, s.event_id, s.thread_id;

INSERT INTO event_cost
SELECT s.run_id, s.event_id, sum(s.count), sum(s.weight),
       sum(CASE WHEN s.count THEN 1.0 * s.weight * s.weight / s.count ELSE 0.0 END), 0, NULL
FROM sample s JOIN run r ON r.id = s.run_id
WHERE r.state = 2 GROUP BY s.run_id, s.event_id;

INSERT INTO sample_summary
SELECT r.id, coalesce(min(s.id) FILTER (WHERE s.count), 0),
       coalesce(max(s.id) FILTER (WHERE s.count), 0), coalesce(max(s.behind) FILTER (WHERE s.count), 0),
       coalesce(sum(s.count), 0), coalesce(sum(s.count * s.user_stack), 0),
       coalesce(sum(s.count * (s.user_stack AND s.end_reason = 0 AND n.guessed = 0)), 0),
       coalesce(sum(s.count * s.stitched), 0), coalesce(sum(s.count * n.guessed), 0),
       coalesce(sum(s.count * n.depth), 0), coalesce(sum(s.count * o.named), 0)
FROM run r
LEFT JOIN (SELECT *, max(time_ns) OVER (PARTITION BY run_id ORDER BY id) - time_ns AS behind
           FROM sample) s ON s.run_id = r.id
LEFT JOIN stack_node n ON n.id = s.node_id
LEFT JOIN v1_stack_node o ON o.id = s.node_id
WHERE r.state = 2 GROUP BY r.id;

INSERT INTO line_cost (run_id, event_id, frame_id, exclusive_samples, inclusive_samples,
                       exclusive_weight, inclusive_weight)
WITH RECURSIVE
spent (run_id, event_id, node_id, samples, weight) AS MATERIALIZED (
    SELECT run_id, event_id, node_id, sum(count), sum(weight)
    FROM sample GROUP BY run_id, event_id, node_id
),
caller (leaf_id, node_id) AS (
    SELECT DISTINCT node_id, node_id FROM spent
    UNION ALL
    SELECT caller.leaf_id, n.parent_id
    FROM caller JOIN stack_node n ON n.id = caller.node_id
    WHERE n.parent_id < n.id
),
place (frame_id, row_id, file, line, function_id, parent_id, inline_depth) AS (
    SELECT id, id, file, line, function_id, inline_parent_id, 0 FROM frame WHERE inline_depth = 0
    UNION ALL
    SELECT place.frame_id, f.id, f.file, f.line, f.function_id, f.inline_parent_id, f.inline_depth
    FROM place JOIN frame f ON f.id = place.parent_id
    WHERE f.inline_depth > place.inline_depth
),
-- The smallest frame at a place stands for it.
numbered (frame_id, place_id, innermost) AS MATERIALIZED (
    SELECT frame_id, min(row_id) OVER (PARTITION BY file, line, function_id), inline_depth = 0
    FROM place
),
passed (leaf_id, place_id, exclusive) AS MATERIALIZED (
    SELECT caller.leaf_id, p.place_id, max(p.innermost AND caller.leaf_id = caller.node_id)
    FROM caller
    CROSS JOIN stack_node n ON n.id = caller.node_id
    CROSS JOIN numbered p ON p.frame_id = n.frame_id
    GROUP BY caller.leaf_id, p.place_id
),
total (run_id, event_id, place_id, exclusive_samples, inclusive_samples, exclusive_weight,
       inclusive_weight) AS MATERIALIZED (
    SELECT s.run_id, s.event_id, p.place_id, sum(s.samples * p.exclusive), sum(s.samples),
           sum(s.weight * p.exclusive), sum(s.weight)
    FROM passed p CROSS JOIN spent s ON s.node_id = p.leaf_id
    GROUP BY s.run_id, s.event_id, p.place_id
)
SELECT t.run_id, t.event_id, t.place_id, t.exclusive_samples, t.inclusive_samples,
       t.exclusive_weight, t.inclusive_weight
FROM total t JOIN run r ON r.id = t.run_id
WHERE r.state = 2;
