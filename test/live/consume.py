"""Reads topics to their end with the Confluent client, read_committed, and prints one JSON line per message.

usage: consume.py BROKERS REGISTRY|- TOPIC...

Values that begin with the Confluent magic byte are decoded through the registry, others are printed as the JSON that they are.
"""
import base64
import datetime
import decimal
import json
import sys

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext


def plain(value):
    if isinstance(value, bytes):
        return "hex:" + value.hex()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time, decimal.Decimal)):
        return str(value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def text(b):
    if b is None:
        return None
    try:
        return b.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(b).decode()


def main(brokers, registry, *topics):
    deserialize = None
    if registry != "-":
        deserialize = AvroDeserializer(SchemaRegistryClient({"url": registry}))
    consumer = Consumer({
        "bootstrap.servers": brokers, "group.id": "reader", "isolation.level": "read_committed",
        "enable.auto.commit": False, "auto.offset.reset": "earliest", "enable.partition.eof": True,
    })
    parts = []
    for topic in topics:
        metadata = consumer.list_topics(topic, timeout=20).topics[topic]
        parts += [TopicPartition(topic, p, 0) for p in metadata.partitions]
    consumer.assign(parts)
    ends = set()
    while len(ends) < len(parts):
        message = consumer.poll(20)
        if message is None:
            sys.exit("no answer from the brokers")
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF:
                ends.add((message.topic(), message.partition()))
                continue
            sys.exit(str(message.error()))
        value = message.value()
        if value is not None and value[:1] == b"\0":
            value = plain(deserialize(value, SerializationContext(message.topic(), MessageField.VALUE)))
        elif value is not None:
            value = json.loads(value)
        print(json.dumps({"topic": message.topic(), "partition": message.partition(), "offset": message.offset(), "key": text(message.key()), "value": value}))


main(*sys.argv[1:])
