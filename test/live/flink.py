"""Reads topics as Flink SQL tables, to the end that they have when it starts, and prints one JSON line per change: the table, the kind of
change (+I, -U, +U, -D) and the row, each value as Flink shows it.

usage: flink.py FOLDER BROKERS < tables

FOLDER holds jars/. tables is a JSON list of {"name", "columns", "topic", "options"}: a column list as in CREATE TABLE, and the options of the
format.
"""
import glob
import json
import os
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(folder, brokers):
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    jars = sorted(glob.glob(os.path.join(folder, "jars", "*.jar")))
    env.get_config().set("pipeline.jars", ";".join("file://" + os.path.abspath(jar) for jar in jars))
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("table.local-time-zone", "UTC")
    for table in json.load(sys.stdin):
        options = {
            "connector": "kafka", "topic": table["topic"], "properties.bootstrap.servers": brokers, "properties.group.id": "flink",
            "properties.isolation.level": "read_committed", "scan.startup.mode": "earliest-offset", "scan.bounded.mode": "latest-offset",
            **table["options"],
        }
        clause = ", ".join("'%s' = '%s'" % (key, value.replace("'", "''")) for key, value in options.items())
        env.execute_sql("CREATE TABLE `%s` (%s) WITH (%s)" % (table["name"], table["columns"], clause))
        names = env.from_path(table["name"]).get_schema().get_field_names()
        texts = ", ".join("CAST(`%s` AS STRING)" % name for name in names)
        with env.execute_sql("SELECT %s FROM `%s`" % (texts, table["name"])).collect() as rows:
            for row in rows:
                kind = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}[row.get_row_kind().name]
                print(json.dumps({"table": table["name"], "kind": kind, "row": dict(zip(names, row))}), flush=True)


main(*sys.argv[1:])
