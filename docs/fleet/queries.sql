-- Queries for the tables of clickhouse.sql and clickhouse-18.sql. The service is shop; its versions are 1.3 and 1.4.
-- A path without a service may belong to any service, so queries about one service read these paths, too.
-- Group by key and never by name: a stack that holds two functions of one name would count twice.

-- 1. The functions that cost most with all they call, of all services.
SELECT any(f.module) AS module, any(f.name) AS name, sum(n) AS samples
FROM
(
    SELECT arrayJoin(arrayDistinct(p.functions)) AS function_key, c.n AS n
    FROM (SELECT path_key, sum(samples) AS n FROM sprof.cost GROUP BY path_key) AS c
    ANY LEFT JOIN sprof.path AS p ON p.path_key = c.path_key
) AS x
ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
GROUP BY x.function_key
ORDER BY samples DESC, module, name
LIMIT 20;

-- 2. The functions that cost most by themselves, of a service, in seconds.
SELECT any(f.module) AS module, any(f.name) AS name, sum(n) AS samples, sum(w) / 1e9 AS seconds
FROM
(
    SELECT p.functions[-1] AS function_key, c.n AS n, c.w AS w
    FROM
    (
        SELECT path_key, sum(samples) AS n, sum(weight) AS w
        FROM sprof.cost WHERE service = 'shop' AND event = 'cpu-clock' GROUP BY path_key
    ) AS c
    ANY LEFT JOIN (SELECT path_key, functions FROM sprof.path WHERE service IN ('', 'shop')) AS p ON p.path_key = c.path_key
) AS x
ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
GROUP BY x.function_key
ORDER BY samples DESC, module, name
LIMIT 20;

-- 3. The flame graph of a service: folded stacks, for `sprof import -f folded` and other tools.
SELECT concat(arrayStringConcat(groupArray(name), ';'), ' ', toString(any(n))) AS line
FROM
(
    SELECT x.path_key AS path_key, x.n AS n, x.at AS at, f.name AS name
    FROM
    (
        SELECT path_key, n, function_key, at
        FROM
        (
            SELECT c.path_key AS path_key, c.n AS n, p.functions AS functions
            FROM
            (
                SELECT path_key, sum(samples) AS n FROM sprof.cost WHERE service = 'shop' GROUP BY path_key HAVING n > 0
            ) AS c
            ANY LEFT JOIN (SELECT path_key, functions FROM sprof.path WHERE service IN ('', 'shop')) AS p ON p.path_key = c.path_key
        )
        ARRAY JOIN functions AS function_key, arrayEnumerate(functions) AS at
    ) AS x
    ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
    ORDER BY path_key, at
)
GROUP BY path_key
ORDER BY line;

-- 4. What a new version changed: shares of the samples of each version, largest difference first.
WITH
    (SELECT sum(samples) FROM sprof.cost WHERE service = 'shop' AND version = '1.3') AS before_all,
    (SELECT sum(samples) FROM sprof.cost WHERE service = 'shop' AND version = '1.4') AS after_all
SELECT any(f.name) AS name, round(100 * sum(before) / before_all, 2) AS before_percent,
       round(100 * sum(after) / after_all, 2) AS after_percent
FROM
(
    SELECT arrayJoin(arrayDistinct(p.functions)) AS function_key, c.before AS before, c.after AS after
    FROM
    (
        SELECT path_key, sumIf(samples, version = '1.3') AS before, sumIf(samples, version = '1.4') AS after
        FROM sprof.cost WHERE service = 'shop' GROUP BY path_key
    ) AS c
    ANY LEFT JOIN (SELECT path_key, functions FROM sprof.path WHERE service IN ('', 'shop')) AS p ON p.path_key = c.path_key
) AS x
ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
GROUP BY x.function_key
ORDER BY abs(after_percent - before_percent) DESC, name
LIMIT 20;

-- 5. CPU time by host.
SELECT host, sum(weight) / 1e9 AS seconds, sum(samples) AS samples
FROM sprof.cost WHERE event = 'cpu-clock' GROUP BY host ORDER BY seconds DESC, host;

-- 6. Growth by week, from the sums by hour.
SELECT toMonday(time) AS week, service, sum(weight) / 1e9 AS seconds
FROM sprof.cost_hour WHERE event = 'cpu-clock' GROUP BY week, service ORDER BY week, service;

-- 7. What a function costs in money, with all it calls: 0.04 for an hour of a CPU.
SELECT any(f.name) AS name, sum(w) / 1e9 / 3600 * 0.04 AS money
FROM
(
    SELECT arrayJoin(arrayDistinct(p.functions)) AS function_key, c.w AS w
    FROM (SELECT path_key, sum(weight) AS w FROM sprof.cost WHERE event = 'cpu-clock' GROUP BY path_key) AS c
    ANY LEFT JOIN sprof.path AS p ON p.path_key = c.path_key
) AS x
ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
GROUP BY x.function_key
ORDER BY money DESC, name
LIMIT 20;

-- 8. Callers of a function, in all services. A caller of a recursive function counts once for each stack.
SELECT any(f.name) AS caller, sum(n) AS samples
FROM
(
    SELECT arrayJoin(arrayDistinct(arrayFilter((caller, callee) -> callee IN (SELECT function_key FROM sprof.function WHERE name = 'main'),
                                               arrayPushFront(arrayPopBack(p.functions), toUInt64(0)), p.functions))) AS function_key, c.n AS n
    FROM (SELECT path_key, sum(samples) AS n FROM sprof.cost GROUP BY path_key) AS c
    ANY LEFT JOIN sprof.path AS p ON p.path_key = c.path_key
) AS x
ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
WHERE x.function_key != 0
GROUP BY x.function_key
ORDER BY samples DESC, caller
LIMIT 20;

-- 9. Processes and threads of a service.
SELECT process, thread, sum(samples) AS samples
FROM sprof.cost WHERE service = 'shop' GROUP BY process, thread ORDER BY samples DESC, process, thread LIMIT 20;

-- 10. Modules, by themselves.
SELECT f.module AS module, sum(x.n) AS samples
FROM
(
    SELECT p.functions[-1] AS function_key, c.n AS n
    FROM (SELECT path_key, sum(samples) AS n FROM sprof.cost GROUP BY path_key) AS c
    ANY LEFT JOIN sprof.path AS p ON p.path_key = c.path_key
) AS x
ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
GROUP BY module
ORDER BY samples DESC, module
LIMIT 20;

-- 11. Functions that only the new version has.
SELECT any(f.module) AS module, any(f.name) AS name, sum(after) AS samples
FROM
(
    SELECT arrayJoin(arrayDistinct(p.functions)) AS function_key, c.before AS before, c.after AS after
    FROM
    (
        SELECT path_key, sumIf(samples, version = '1.3') AS before, sumIf(samples, version = '1.4') AS after
        FROM sprof.cost WHERE service = 'shop' GROUP BY path_key
    ) AS c
    ANY LEFT JOIN (SELECT path_key, functions FROM sprof.path WHERE service IN ('', 'shop')) AS p ON p.path_key = c.path_key
) AS x
ANY LEFT JOIN sprof.function AS f ON f.function_key = x.function_key
GROUP BY x.function_key
HAVING sum(before) = 0
ORDER BY samples DESC, module, name
LIMIT 20;

-- 12. Whether all is there: the samples of the runs beside those of their costs, and what was lost when recording.
SELECT service, version, host, event, r.samples AS recorded, c.samples AS stored, r.lost AS lost
FROM
(
    SELECT service, version, host, event, sum(samples) AS samples, sum(lost) AS lost
    FROM sprof.run FINAL GROUP BY service, version, host, event
) AS r
FULL OUTER JOIN
(
    SELECT service, version, host, event, sum(samples) AS samples
    FROM sprof.cost GROUP BY service, version, host, event
) AS c USING (service, version, host, event)
ORDER BY service, version, host, event;
