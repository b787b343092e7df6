package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports come from below the range that systems hand to outgoing connections (32768 and up on Linux): while a server
// is down, no client can take its port by chance.
const (
	firstPort = 18000
	lastPort  = 31999
)

const loopback = "127.0.0.1"

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// freePorts picks count different ports of 127.0.0.1 that nobody listens on and that are not in taken.
func freePorts(count int, taken map[int]bool) ([]int, error) {
	var ports []int
	for _, offset := range rand.Perm(lastPort - firstPort + 1) {
		if len(ports) == count {
			return ports, nil
		}
		if port := firstPort + offset; !taken[port] && free(port) {
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d on %s", count, firstPort, lastPort, loopback)
}

func free(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}
