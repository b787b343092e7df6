package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// Every way to print a whole task, with a secret in every field that can hold one.
func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	task := load(t, "registry.yaml")
	planted := plantSecrets(reflect.ValueOf(task).Elem())
	if planted < 7 {
		t.Fatalf("only %d secrets planted", planted)
	}
	hiding := struct{ inside Task }{*task} // fmt cannot call methods of what it reaches through an unexported field
	var shown []string
	for _, value := range []any{task, *task, hiding, &hiding, task.Kafka.SASL.Password, &task.Kafka.SASL.Password, []Secret{task.Source.DSN}, map[string]any{"a": task.SchemaRegistry}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%T", "%e", "%o"} {
			shown = append(shown, fmt.Sprintf(verb, value))
		}
		var text, js bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Info("task", "value", value)
		slog.New(slog.NewJSONHandler(&js, nil)).Info("task", "value", value)
		asYAML, _ := yaml.Marshal(value)
		shown = append(shown, text.String(), js.String(), string(asYAML), fmt.Sprint(value), fmt.Errorf("task %v", value).Error())
	}
	asJSON, err := json.Marshal(task.Kafka.SASL)
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, string(asJSON), task.Summary())
	for _, s := range shown {
		if lower := strings.ToLower(s); strings.Contains(lower, "hunter") || strings.Contains(lower, "68756e746572") { // and as hex
			t.Errorf("a secret shows: %.300s", s)
		}
	}
	if task.Source.DSN.Reveal() != "hunter-1" {
		t.Error("Reveal gives", task.Source.DSN.Reveal())
	}
}

func plantSecrets(v reflect.Value) int {
	planted := 0
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if v.Type() == secretType {
			planted++
			v.Set(reflect.ValueOf(NewSecret(fmt.Sprintf("hunter-%d", planted))))
			return
		}
		for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i))
			}
		}
	}
	walk(v)
	return planted
}

func TestEmptySecret(t *testing.T) {
	t.Parallel()
	var s Secret
	if s.IsSet() || s.Reveal() != "" || s.String() != hidden || !NewSecret("x").IsSet() || NewSecret("").IsSet() {
		t.Error("the zero secret is not empty")
	}
}
