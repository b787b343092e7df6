"""Checks Kubernetes manifests as an API server would: validate.py CRDS VERSION... <manifests.yaml

Standard objects are checked strictly by the schemas of each VERSION, those of the Prometheus Operator by its own definitions in the folder
CRDS. An unknown field is an error, as is a kind that nobody knows. Prints how many objects of which kind were checked."""

import collections
import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml


def operator_schemas(folder):
    """The schemas of custom resources, by apiVersion and kind."""
    schemas = {}
    for plural in "servicemonitors", "podmonitors", "prometheusrules":
        file = pathlib.Path(folder, f"monitoring.coreos.com_{plural}.yaml")
        definition = yaml.safe_load(file.read_text())["spec"]
        for version in definition["versions"]:
            key = f"{definition['group']}/{version['name']}", definition["names"]["kind"]
            schema = version["schema"]["openAPIV3Schema"]
            schema["properties"]["metadata"] = {"type": "object"}  # the API server's own
            schemas[key] = closed(schema)
    return schemas


def closed(schema):
    """A schema that refuses fields which it does not name, and knows Kubernetes' own extensions."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: closed(part) for name, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        schema["type"] = ["integer", "string"]
    return schema


def main(folder, versions):
    operator, counts, problems = operator_schemas(folder), collections.Counter(), []
    for manifest in yaml.safe_load_all(sys.stdin):
        if manifest is None:
            continue
        name = f"{manifest['kind']} {manifest['metadata']['name']}"
        counts[manifest["kind"]] += 1
        own = operator.get((manifest["apiVersion"], manifest["kind"]))
        try:
            if own:
                jsonschema.Draft7Validator(own).validate(manifest)
                continue
            for version in versions:
                kubernetes_validate.validate(manifest, version, strict=True)
        except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
            problems.append(f"{name}: {'.'.join(map(str, error.path))}: {error.message}")
        except kubernetes_validate.SchemaNotFoundError as error:
            problems.append(f"{name}: {error}")
    print(" ".join(f"{kind}={n}" for kind, n in sorted(counts.items())))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems or not counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
