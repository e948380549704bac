# What the tests of `sprof push` and `sprof fleet` share, besides lib.sh. ClickHouse of Debian and receivers of this
# directory (receiver.py), each on a port that the system chooses.
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
unset SPROF_FLEET_USER SPROF_FLEET_PASSWORD SPROF_FLEET_TOKEN SPROF_FLEET_TENANT SPROF_FLEET_CA SPROF_FLEET_CREDENTIALS
here=$(dirname "$0")
command -v python3 >/dev/null || skip "no python3"

# receiver PLAN [OPTION…]: starts one; its port is in $port, its log in log.
receiver() {
    rm -f port log
    [ -s columns ] || columns
    start python3 "$here/receiver.py" log "$1" --port-file port --columns columns "${@:2}"
    receiver=$child
    wait_until 20 test -s port
    port=$(cat port)
    to=clickhouse+http://127.0.0.1:$port
}

end() { # PID
    kill "$1"
    wait "$1" 2>/dev/null || true
}

# The columns that a database has after `sprof fleet init`.
columns() {
    awk '/^CREATE TABLE/ { sub(/.*sprof\./, ""); table = $0 } /^    [a-z]/ { print table "\t" $1 }' \
        "$here/../../docs/fleet/clickhouse.sql" >columns
}

# Starts ClickHouse in this directory; $to is its URL, $server its process. A port may be taken before it has it.
engine() {
    local attempt
    for attempt in 1 2 3 4; do
        try_engine
        for ((i = 0; i < 600; i++)); do
            query 'SELECT 1' >answer 2>/dev/null && return
            kill -0 "$server" 2>/dev/null || break
            sleep 0.05
        done
    done
    fail "the server does not start: $(tail -n 5 engine/out engine/err 2>/dev/null)"
}

try_engine() {
    local free
    [ -x "$(command -v clickhouse-server)" ] || skip "no clickhouse-server"
    free=$(python3 - <<'END'
import socket
held = [socket.socket() for _ in range(2)]
for one in held:
    one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in held])
END
    )
    read -r port other <<<"$free"
    mkdir -p engine
    cat >engine/config.xml <<END
<?xml version="1.0"?>
<yandex>
<logger><level>warning</level><log>$PWD/engine/log</log><errorlog>$PWD/engine/err</errorlog></logger>
<http_port>$port</http_port><tcp_port>$other</tcp_port><listen_host>127.0.0.1</listen_host>
<path>$PWD/engine/data/</path><tmp_path>$PWD/engine/tmp/</tmp_path>
<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>5368709</mark_cache_size>
</yandex>
END
    cat >engine/users.xml <<'END'
<?xml version="1.0"?>
<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
<users>
<default><password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default>
<writer><password>se'cret</password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></writer>
</users><quotas><default></default></quotas></yandex>
END
    start clickhouse-server --config-file="$PWD/engine/config.xml" >engine/out 2>&1
    server=$child
    to=clickhouse+http://127.0.0.1:$port
}

query() { # STATEMENT
    python3 -c '
import sys, urllib.request
print(urllib.request.urlopen("http://127.0.0.1:%s/" % sys.argv[1], sys.argv[2].encode()).read().decode(), end="")' "$port" "$1"
}

# Recordings of two hosts.
recordings() {
    local host
    for host in a b; do
        "$SPROF" record -F 1997 -o $host.db -- sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done' 2>record.err ||
            fail "record: $(cat record.err)"
    done
}

waiting() { # DIRECTORY: how many batches wait
    find "$1" -name '*-?.*' ! -name '*.refused' ! -name '*.damaged' | wc -l
}
