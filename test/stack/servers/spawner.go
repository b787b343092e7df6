package servers

import (
	"os/exec"
	"runtime"
)

// spawner starts processes from one OS thread that lives as long as we do. The parent-death signal follows the thread
// that started a process and not our process, and Go ends threads as it likes, except those of locked goroutines.
type spawner struct{ jobs chan job }

type job struct {
	cmd    *exec.Cmd
	result chan error
}

// newSpawner starts the goroutine; it is never stopped, because its thread must outlive every child.
func newSpawner() *spawner {
	s := &spawner{jobs: make(chan job)}
	go func() {
		runtime.LockOSThread()
		for job := range s.jobs {
			job.result <- job.cmd.Start()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	result := make(chan error)
	s.jobs <- job{cmd, result}
	return <-result
}
