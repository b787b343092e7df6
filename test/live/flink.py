"""Reads topics as Flink SQL tables, to the end that they have when it starts, and prints one JSON line per change: the table, the kind of
change (+I, -U, +U, -D) and the row, each value as Flink shows it. One job reads all of them; changes of one table keep their order.

usage: flink.py FOLDER BROKERS < tables

FOLDER holds jars/. tables is a JSON list of {"name", "columns", "topic", "options"}: a column list as in CREATE TABLE, and the options of the
format.
"""
import glob
import json
import os
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}


def shown(name):
    value = "TO_BASE64(`%s`)" if name == "raw" else "CAST(`%s` AS STRING)"
    return "KEY '%s' VALUE %s" % (name, value % name)


def create(env, brokers, table):
    """Declares a table and gives the query for its changes."""
    options = {
        "connector": "kafka", "topic": table["topic"], "properties.bootstrap.servers": brokers, "properties.group.id": "flink",
        "properties.isolation.level": "read_committed", "scan.startup.mode": "earliest-offset", "scan.bounded.mode": "latest-offset",
        **table["options"],
    }
    clause = ", ".join("'%s' = '%s'" % (key, value.replace("'", "''")) for key, value in options.items())
    env.execute_sql("CREATE TABLE `%s` (%s) WITH (%s)" % (table["name"], table["columns"], clause))
    names = env.from_path(table["name"]).get_schema().get_field_names()
    return "SELECT '%s', JSON_OBJECT(%s) FROM `%s`" % (table["name"], ", ".join(map(shown, names)), table["name"])


def main(folder, brokers):
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    jars = sorted(glob.glob(os.path.join(folder, "jars", "*.jar")))
    env.get_config().set("pipeline.jars", ";".join("file://" + os.path.abspath(jar) for jar in jars))
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("table.local-time-zone", "UTC")
    query = " UNION ALL ".join(create(env, brokers, table) for table in json.load(sys.stdin))
    with env.execute_sql(query).collect() as rows:
        for row in rows:
            print(json.dumps({"table": row[0], "kind": KINDS[row.get_row_kind().name], "row": json.loads(row[1])}), flush=True)


main(*sys.argv[1:])
