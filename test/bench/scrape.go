package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// series are the values of a metrics endpoint by name, summed up over their labels.
type series map[string]float64

// parseSeries reads the Prometheus text format, version 0.0.4, without timestamps, which the bridge does not write.
func parseSeries(r io.Reader) (series, error) {
	out := series{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		head, value, found := cutLast(line, " ")
		n, err := strconv.ParseFloat(value, 64)
		if !found || err != nil {
			return nil, fmt.Errorf("metrics: %.80q", line)
		}
		name, _, _ := strings.Cut(head, "{")
		out[name] += n
	}
	return out, lines.Err()
}

// scrape asks a bridge for its metrics.
func scrape(ctx context.Context, address string) (series, error) {
	body, err := get(ctx, "http://"+address+"/metrics")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return parseSeries(body)
}

// get asks for a page and gives its body, which is not compressed: the bridge's CPU time is what is measured.
func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		response.Body.Close()
		return nil, fmt.Errorf("%s: %s: %s", url, response.Status, text)
	}
	return response.Body, nil
}
