package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// profileSeconds is how long a profile of the CPU goes on; it begins with the process.
const profileSeconds = 10

// cpuProfile keeps a profile of the first seconds of a run. It makes the run slower: profiled runs do not count.
func cpuProfile(ctx context.Context, p *place, b *bridge, name string) error {
	return saveProfile(ctx, p, b, fmt.Sprintf("profile?seconds=%d", profileSeconds), name+".cpu")
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
