-- The worked example, as version 1 stored it: a program with a build id, a library without.
INSERT INTO run VALUES (1, 77, 'complete', '0.1.0', 'host', '6.1', 'x86_64', 2, 'prog', NULL, '/',
    'full', NULL, 'keep', NULL, 'perf per CPU', NULL, 997, 65528, 65528, 1048576, 1790000000000000000,
    12345, 2000000000, 20000000, 6018054, 4, 5, 'boot', 0);
INSERT INTO event VALUES (1, 1, 'cpu-clock', 1, 0, 1003009);
INSERT INTO process VALUES (1, 1, NULL, 100, 0, NULL, 'prog', 'prog');
INSERT INTO thread VALUES (1, 1, 100, 0, NULL, 'prog', 5015045, 5, 1), (2, 1, 101, 9, 80, 'w', 0, 1, 0);
INSERT INTO module VALUES
    (1, 11, '/home/me/prog', 'prog', '0abcdef0', 'app', 1, NULL, NULL),
    (2, 12, '/usr/lib/libs.so', 'libs.so', NULL, 'system', 0, NULL, 'deleted'),
    (3, NULL, '[none]', '[none]', NULL, 'none', 0, NULL, NULL);
INSERT INTO mapping VALUES (1, 1, 1, 4194304, 4202496, 4096, 0, NULL), (2, 1, 2, 8388608, 8392704, 0, 0, NULL);
INSERT INTO function VALUES
    (1, 1, 101, 'A1', 'A1', 4096, 256, 'main.c', 9, 1, 0), (2, 1, 102, 'A2', NULL, 4352, 256, 'main.c', 19, 1, 0),
    (3, 2, 103, 'S1', 'S1', 1280, 128, NULL, NULL, 1, 0), (4, 3, 104, '[not sampled]', '[not sampled]', 0, 0, NULL, NULL, 1, 0),
    (5, 1, 105, 'in', 'in', 0, 0, 'main.c', 30, 1, 0);
INSERT INTO frame VALUES
    (1, 1, 21, 4096, 1, 'main.c', 10, 0, NULL), (2, 1, 22, 4352, 5, 'main.c', 31, 0, 5),
    (3, 2, 23, 1280, 3, NULL, NULL, 0, NULL), (4, 3, 24, 2, 4, NULL, NULL, 0, NULL),
    (5, 1, 25, 4352, 2, 'main.c', 20, 1, NULL);
INSERT INTO call_path VALUES (1, NULL, 1, 1), (2, 1, 2, 2), (3, 2, 5, 3), (4, 3, 3, 4), (5, NULL, 4, 1),
    (6, 3, 2, 4), (7, 6, 5, 5);
INSERT INTO stack_node VALUES
    (1, NULL, 1, 1, 31, 'cfi', 0, 1, 1), (2, 1, 2, 2, 32, 'plt', 0, 2, 3),
    (3, 2, 3, 3, 33, 'scan', 1, 3, 4), (4, NULL, 4, 1, 34, 'cfi', 0, 1, 5),
    (5, 2, 2, 3, 35, 'leaf', 0, 3, 7), (6, 4, 3, 2, 36, 'kernel', 0, 2, 4);
INSERT INTO sample VALUES
    (1, 1, 1, 1, 1, 10, 1003009, 1, 0, 'root', 0, 1), (2, 1, 1, 1, 2, 30, 1003009, 1, 1, 'root', 1, 1),
    (3, 1, 1, 2, 3, 20, 1003009, 1, 0, 'truncated', 0, 1), (4, 1, 1, 1, 5, 40, 1003009, 1, 0, 'root', 0, 1),
    (5, 1, 1, 1, 5, 50, 1003009, 1, 0, 'no-stack', 0, 0), (6, 1, 1, 2, 3, 60, 1003009, 1, -1, 'root', 0, 1),
    (7, 1, 1, 2, 4, 70, 2000000, 0, -1, 'no-stack', 0, 0);
INSERT INTO path_cost VALUES (1, 1, 1, 1, 1003009, 6, 6018054), (1, 1, 2, 0, 0, 5, 5015045),
    (1, 1, 3, 1, 1003009, 5, 5015045), (1, 1, 4, 2, 2006018, 2, 2006018), (1, 1, 5, 0, 2000000, 0, 2000000),
    (1, 1, 6, 0, 0, 2, 2006018), (1, 1, 7, 2, 2006018, 2, 2006018);
INSERT INTO function_cost VALUES (1, 1, 1, 1, 1003009, 6, 6018054), (1, 1, 2, 0, 0, 5, 5015045),
    (1, 1, 3, 2, 2006018, 2, 2006018), (1, 1, 4, 0, 2000000, 0, 2000000), (1, 1, 5, 3, 3009027, 5, 5015045);
INSERT INTO module_cost VALUES (1, 1, 1, 4, 4012036, 6, 6018054), (1, 1, 2, 2, 2006018, 2, 2006018),
    (1, 1, 3, 0, 2000000, 0, 2000000);
INSERT INTO edge_cost VALUES (1, 1, 1, 2, 5, 5015045), (1, 1, 2, 5, 5, 5015045), (1, 1, 5, 2, 2, 2006018),
    (1, 1, 5, 3, 2, 2006018);
INSERT INTO ledger VALUES (1, 1, 0, 6018054, 6, 3, 0, 0, 0, -3);
INSERT INTO counter VALUES (1, 'unwind.walks', 6);
INSERT INTO failed_sample VALUES (1, 1, 2, 20, 'truncated', zeroblob(136), x'0001');
