-- The tables of clickhouse.sql for ClickHouse before 24, down to 18.16, Debian's package: without codecs, dictionaries of
-- strings, time limits and tokens of inserts. Whether an insert counts twice after a lost answer `sprof fleet check` says.
CREATE DATABASE IF NOT EXISTS sprof;

CREATE TABLE IF NOT EXISTS sprof.run
(
    run_key UInt64,
    time DateTime('UTC'),
    duration_ns UInt64,
    service String,
    version String,
    host String,
    labels_key UInt64,
    labels String,
    event String,
    unit String,
    is_clock UInt8,
    varying UInt8,
    period UInt64,
    mode String,
    window UInt32,
    samples UInt64,
    weight UInt64,
    squares Float64,
    lost UInt64,
    target_cpu_ns UInt64,
    own_cpu_ns UInt64,
    hz UInt32,
    chance Float64 DEFAULT 1,
    sprof_version String
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (service, time, host, run_key, event);

CREATE TABLE IF NOT EXISTS sprof.function
(
    function_key UInt64,
    module String,
    kind String,
    name String,
    linkage_name String,
    file String,
    line UInt32,
    start UInt64,
    named UInt8
)
ENGINE = ReplacingMergeTree(named)
ORDER BY function_key;

-- Paths of one service lie together. A path without a service came from an earlier sprof: it may belong to any service.
CREATE TABLE IF NOT EXISTS sprof.path
(
    service String,
    path_key UInt64,
    functions Array(UInt64)
)
ENGINE = ReplacingMergeTree
ORDER BY (service, path_key);

-- Where processes belong, and what was given with -l: `cost.labels_key` refers to it.
CREATE TABLE IF NOT EXISTS sprof.labels
(
    labels_key UInt64,
    labels String
)
ENGINE = ReplacingMergeTree
ORDER BY labels_key;

CREATE TABLE IF NOT EXISTS sprof.cost
(
    service String,
    version String,
    host String,
    time DateTime('UTC'),
    event String,
    unit String,
    state String,
    labels_key UInt64,
    process String,
    thread String,
    path_key UInt64,
    samples UInt64,
    weight UInt64,
    total UInt64,
    outermost UInt64,
    counted UInt64,
    in_flight UInt64
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(time)
ORDER BY (service, event, toStartOfHour(time), path_key, version, host, labels_key, time);

CREATE TABLE IF NOT EXISTS sprof.cost_hour
(
    service String,
    version String,
    time DateTime('UTC'),
    event String,
    path_key UInt64,
    samples UInt64,
    weight UInt64
)
ENGINE = SummingMergeTree((samples, weight))
PARTITION BY toYYYYMM(time)
ORDER BY (service, event, time, path_key, version);

CREATE MATERIALIZED VIEW IF NOT EXISTS sprof.cost_hour_mv TO sprof.cost_hour AS
SELECT service, version, toStartOfHour(time) AS time, event, path_key, sum(samples) AS samples, sum(weight) AS weight
FROM sprof.cost
GROUP BY service, version, time, event, path_key;
