# MariaDB for the accounting: private, no network, and free to lose everything at a power cut.
# shellcheck shell=bash

# A folder for temporary tables of its own: a MariaDB that starts deletes those of every other one in /tmp.
database_up() {
  daemon_alive mariadbd && return
  mkdir -pm 700 "$D/state/mysql.tmp"
  [[ -d $D/mysql ]] || database_install
  daemon_start mariadbd mariadbd --no-defaults --user=root --datadir="$D/mysql" --tmpdir="$D/state/mysql.tmp" --skip-networking \
    --socket="$MYSQL_SOCKET" --pid-file="$D/run/mariadbd.own.pid" --skip-grant-tables \
    --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-buffer-pool-size=64M \
    --innodb-log-file-size=16M --performance-schema=OFF
  daemon_wait mariadbd 20 database_answers
}

# Made beside its place and then moved: an interrupted start leaves no half database behind.
database_install() {
  rm -rf "$D/mysql.new"
  mkdir -m 700 "$D/mysql.new"
  mariadb-install-db --no-defaults --datadir="$D/mysql.new" --tmpdir="$D/state/mysql.tmp" --user=root \
    --auth-root-authentication-method=normal --skip-test-db >>"$D/log/mariadbd.out" 2>&1
  mv "$D/mysql.new" "$D/mysql"
}

# Grants are skipped, so whoever reaches the socket is the database's root: only root may reach it.
database_answers() {
  [[ -S $MYSQL_SOCKET ]] && chmod 600 "$MYSQL_SOCKET" &&
    mariadb --no-defaults --socket="$MYSQL_SOCKET" --execute='select 1' >/dev/null 2>&1
}

database_down() { daemon_stop mariadbd; }
