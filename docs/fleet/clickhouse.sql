-- The tables that `sprof export -f rows` fills, for ClickHouse 24 or newer. docs/fleet.md describes the columns.
-- On a cluster: Replicated engines, and Distributed tables over them, with the sharding key path_key for cost and path,
-- function_key for function, labels_key for labels and run_key for run, so that paths lie where their costs do.
CREATE DATABASE IF NOT EXISTS sprof;

CREATE TABLE IF NOT EXISTS sprof.run
(
    run_key UInt64,
    time DateTime('UTC'),
    duration_ns UInt64,
    service LowCardinality(String),
    version LowCardinality(String),
    host LowCardinality(String),
    labels_key UInt64,
    labels Map(LowCardinality(String), String),
    event LowCardinality(String),
    unit LowCardinality(String),
    is_clock UInt8,
    varying UInt8,
    period UInt64,
    mode LowCardinality(String),
    window UInt32,
    samples UInt64,
    weight UInt64,
    squares Float64,
    lost UInt64,
    target_cpu_ns UInt64,
    own_cpu_ns UInt64,
    hz UInt32,
    chance Float64 DEFAULT 1,
    sprof_version LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (service, time, host, run_key, event);

-- Of several rows of one function the one that has a name stays.
CREATE TABLE IF NOT EXISTS sprof.function
(
    function_key UInt64,
    module LowCardinality(String),
    kind LowCardinality(String),
    name String CODEC(ZSTD(3)),
    linkage_name String CODEC(ZSTD(3)),
    file String CODEC(ZSTD(3)),
    line UInt32,
    start UInt64,
    named UInt8
)
ENGINE = ReplacingMergeTree(named)
ORDER BY function_key;

-- Paths of one service lie together. A path without a service came from an earlier sprof: it may belong to any service.
CREATE TABLE IF NOT EXISTS sprof.path
(
    service LowCardinality(String),
    path_key UInt64,
    functions Array(UInt64) CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree
ORDER BY (service, path_key);

-- Where processes belong, and what was given with -l: `cost.labels_key` refers to it.
CREATE TABLE IF NOT EXISTS sprof.labels
(
    labels_key UInt64,
    labels Map(LowCardinality(String), String)
)
ENGINE = ReplacingMergeTree
ORDER BY labels_key;

-- The order makes path_key compress to a fifth of a byte, and a question about one service read little.
CREATE TABLE IF NOT EXISTS sprof.cost
(
    service LowCardinality(String),
    version LowCardinality(String),
    host LowCardinality(String),
    time DateTime('UTC') CODEC(Delta, ZSTD(1)),
    event LowCardinality(String),
    unit LowCardinality(String),
    state LowCardinality(String),
    labels_key UInt64 CODEC(ZSTD(1)),
    process LowCardinality(String),
    thread LowCardinality(String),
    path_key UInt64 CODEC(ZSTD(1)),
    samples UInt64 CODEC(T64, ZSTD(1)),
    weight UInt64 CODEC(T64, ZSTD(1)),
    total UInt64 CODEC(T64, ZSTD(1)),
    outermost UInt64 CODEC(T64, ZSTD(1)),
    counted UInt64 CODEC(T64, ZSTD(1)),
    in_flight UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(time)
ORDER BY (service, event, toStartOfHour(time), path_key, version, host, labels_key, time)
TTL time + INTERVAL 14 DAY
SETTINGS non_replicated_deduplication_window = 10000;

-- Hours are kept for a year. Without a deduplication window of its own a repeated insert would count twice here.
CREATE TABLE IF NOT EXISTS sprof.cost_hour
(
    service LowCardinality(String),
    version LowCardinality(String),
    time DateTime('UTC'),
    event LowCardinality(String),
    path_key UInt64,
    samples UInt64,
    weight UInt64
)
ENGINE = SummingMergeTree((samples, weight))
PARTITION BY toYYYYMM(time)
ORDER BY (service, event, time, path_key, version)
TTL time + INTERVAL 400 DAY
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS sprof.cost_hour_mv TO sprof.cost_hour AS
SELECT service, version, toStartOfHour(time) AS time, event, path_key, sum(samples) AS samples, sum(weight) AS weight
FROM sprof.cost
GROUP BY service, version, time, event, path_key;
