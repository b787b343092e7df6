package bridge

// facts are what the runner knows of its source beside positions.
type facts struct {
	bounded bool  // nothing comes below the horizon: see source.Window
	stalled error // why nothing new comes from a source that answers; it outlives a session
}
