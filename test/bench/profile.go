package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// longestProfile bounds the profile of a long run, in seconds.
const longestProfile = 25

// cpuProfile keeps a profile of a run from its start on. It makes the run slower: profiled runs do not count.
func cpuProfile(ctx context.Context, p *place, b *bridge, m measurement) error {
	seconds := min(math.Ceil(m.expected)+1, longestProfile)
	return saveProfile(ctx, p, b, fmt.Sprintf("profile?seconds=%.0f", seconds), m.profile+".cpu")
}

// saveProfile keeps what the bridge answers, as name.pprof.
func saveProfile(ctx context.Context, p *place, b *bridge, kind, name string) error {
	body, err := get(ctx, "http://"+b.address+"/debug/pprof/"+kind)
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.Create(filepath.Join(p.out, name+".pprof"))
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, body); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
