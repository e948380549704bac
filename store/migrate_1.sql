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
       recorder_pid, recorder_start, boot_id, wait_status
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
SELECT id, parent_id, frame_id, depth, NULL,
       (SELECT number FROM word WHERE list = 'found_by' AND word = found_by), guessed, named, path_id
FROM v1_stack_node;

CREATE INDEX migrating ON stack_node (parent_id);
WITH RECURSIVE made (id, key) AS (
    SELECT n.id, key_pair(0, f.key)
    FROM stack_node n JOIN frame f ON f.id = n.frame_id
    WHERE n.parent_id IS NULL AND n.path_id IS NOT NULL
    UNION ALL
    SELECT n.id, key_pair(made.key, f.key)
    FROM made
    CROSS JOIN stack_node n ON n.parent_id = made.id
    CROSS JOIN frame f ON f.id = n.frame_id
    WHERE made.key IS NOT NULL
)
UPDATE stack_node SET key = made.key FROM made WHERE made.id = stack_node.id;
DROP INDEX migrating;

INSERT INTO sample
SELECT id, run_id, event_id, thread_id, node_id, time_ns, weight, count, cpu,
       (SELECT number FROM word WHERE list = 'end_reason' AND word = end_reason), stitched, user_stack
FROM v1_sample ORDER BY id;

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
